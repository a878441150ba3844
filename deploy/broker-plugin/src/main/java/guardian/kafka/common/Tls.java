package guardian.kafka.common;

import io.grpc.ChannelCredentials;
import io.grpc.ServerCredentials;
import io.grpc.okhttp.SslSocketFactoryChannelCredentials;
import io.grpc.okhttp.SslSocketFactoryServerCredentials;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.PublicKey;
import java.security.Signature;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.security.spec.InvalidKeySpecException;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.SSLSocketFactory;
import javax.net.ssl.TrustManagerFactory;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Mutual TLS from three files in PEM, which may be replaced while the broker runs.
 *
 * <p>New files count from the next connection on, with a context of their own, so that nobody resumes a session that
 * the old ones had allowed. Files that do not fit together, as between the writing of two of them, change nothing.
 */
public final class Tls {
    private static final Logger LOG = LoggerFactory.getLogger(Tls.class);
    private static final char[] NO_PASSWORD = new char[0];
    private static final Pattern PKCS_8 =
            Pattern.compile("-----BEGIN PRIVATE KEY-----([A-Za-z0-9+/=\\s]+)-----END PRIVATE KEY-----");
    private static final byte[] PROOF = {1, 2, 3, 4};

    private final TlsFiles files;
    private volatile Loaded loaded;
    private List<FileTime> seen;

    private record Loaded(SSLContext context) {}

    /** @throws IllegalArgumentException naming the setting, its value and the fix */
    public Tls(TlsFiles files) {
        this.files = files;
        this.seen = times();
        this.loaded = load();
    }

    /** Cheap while nothing has changed: call it every few seconds. */
    public synchronized void reload() {
        List<FileTime> now = times();
        if (now.equals(seen)) {
            return;
        }
        seen = now;
        try {
            loaded = load();
            LOG.info("The reporter's certificates were read again");
        } catch (IllegalArgumentException e) {
            LOG.warn("The reporter keeps its certificates as they were: {}", e.getMessage());
        }
    }

    public ServerCredentials forServer() {
        return SslSocketFactoryServerCredentials.create(serverSockets());
    }

    /** Each connection of the channel, also one that it makes anew, is by the files as they are then. */
    public ChannelCredentials forChannel() {
        return SslSocketFactoryChannelCredentials.create(new Outgoing());
    }

    /** Wraps accepted connections, each by the files as they are then; without a client's certificate there is none. */
    public SSLSocketFactory serverSockets() {
        return new Current();
    }

    SSLContext context() {
        return loaded.context();
    }

    private List<FileTime> times() {
        return List.of(time(files.certificate()), time(files.key()), time(files.ca()));
    }

    private static FileTime time(Path file) {
        try {
            return Files.getLastModifiedTime(file);
        } catch (IOException e) {
            return FileTime.fromMillis(0);
        }
    }

    private Loaded load() {
        X509Certificate[] chain = certificates(TlsFiles.CERTIFICATE, files.certificate());
        PrivateKey key = key();
        X509Certificate[] authorities = certificates(TlsFiles.CA, files.ca());
        try {
            if (!fits(key, chain[0].getPublicKey())) {
                throw new IllegalArgumentException(
                        TlsFiles.KEY + " is " + files.key() + ", whose key is not that of " + files.certificate());
            }
            KeyStore identity = emptyStore();
            identity.setKeyEntry("reporter", key, NO_PASSWORD, chain);
            KeyManagerFactory keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
            keys.init(identity, NO_PASSWORD);
            KeyStore trust = emptyStore();
            for (int i = 0; i < authorities.length; i++) {
                trust.setCertificateEntry("ca-" + i, authorities[i]);
            }
            TrustManagerFactory trusted = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
            trusted.init(trust);
            SSLContext context = SSLContext.getInstance("TLS");
            context.init(keys.getKeyManagers(), trusted.getTrustManagers(), null);
            return new Loaded(context);
        } catch (IOException | GeneralSecurityException e) {
            throw new IllegalArgumentException(TlsFiles.CERTIFICATE + " is " + files.certificate()
                    + ", which makes no TLS with its key and CA: " + e.getMessage(), e);
        }
    }

    private static KeyStore emptyStore() throws IOException, GeneralSecurityException {
        KeyStore store = KeyStore.getInstance("PKCS12");
        store.load(null, NO_PASSWORD);
        return store;
    }

    private static X509Certificate[] certificates(String setting, Path file) {
        try (InputStream pem = Files.newInputStream(file)) {
            X509Certificate[] certificates = CertificateFactory.getInstance("X.509").generateCertificates(pem).stream()
                    .map(X509Certificate.class::cast)
                    .toArray(X509Certificate[]::new);
            if (certificates.length > 0) {
                return certificates;
            }
            throw new IllegalArgumentException(setting + " is " + file + ", which has no certificate: use PEM");
        } catch (IOException | GeneralSecurityException e) {
            throw new IllegalArgumentException(
                    setting + " is " + file + ", which can't be read: use certificates in PEM", e);
        }
    }

    private PrivateKey key() {
        try {
            Matcher pem = PKCS_8.matcher(Files.readString(files.key()));
            if (pem.find()) {
                PKCS8EncodedKeySpec key = new PKCS8EncodedKeySpec(Base64.getMimeDecoder().decode(pem.group(1)));
                for (String algorithm : List.of("EC", "RSA")) {
                    try {
                        return KeyFactory.getInstance(algorithm).generatePrivate(key);
                    } catch (InvalidKeySpecException e) {
                        LOG.debug("{} is no {} key", files.key(), algorithm);
                    }
                }
            }
            throw new IOException("it has no such key");
        } catch (IOException | GeneralSecurityException | RuntimeException e) {
            throw new IllegalArgumentException(TlsFiles.KEY + " is " + files.key()
                    + ", which can't be read: use an unencrypted PKCS#8 key of RSA or EC in PEM", e);
        }
    }

    private static boolean fits(PrivateKey key, PublicKey certified) throws GeneralSecurityException {
        if (!key.getAlgorithm().equals(certified.getAlgorithm())) {
            return false;
        }
        boolean isEc = key.getAlgorithm().equals("EC");
        Signature signature = Signature.getInstance(isEc ? "SHA256withECDSA" : "SHA256withRSA");
        signature.initSign(key);
        signature.update(PROOF);
        byte[] signed = signature.sign();
        signature.initVerify(certified);
        signature.update(PROOF);
        return signature.verify(signed);
    }

    /** Connections of the context that is loaded when they are made; new files are looked for first. */
    private final class Outgoing extends SSLSocketFactory {
        private SSLSocketFactory delegate() {
            reload();
            return context().getSocketFactory();
        }

        @Override
        public Socket createSocket(Socket connected, String host, int port, boolean closesIt) throws IOException {
            return delegate().createSocket(connected, host, port, closesIt);
        }

        @Override
        public String[] getDefaultCipherSuites() {
            return context().getSocketFactory().getDefaultCipherSuites();
        }

        @Override
        public String[] getSupportedCipherSuites() {
            return context().getSocketFactory().getSupportedCipherSuites();
        }

        @Override
        public Socket createSocket(String host, int port) throws IOException {
            return delegate().createSocket(host, port);
        }

        @Override
        public Socket createSocket(String host, int port, InetAddress from, int fromPort) throws IOException {
            return delegate().createSocket(host, port, from, fromPort);
        }

        @Override
        public Socket createSocket(InetAddress host, int port) throws IOException {
            return delegate().createSocket(host, port);
        }

        @Override
        public Socket createSocket(InetAddress host, int port, InetAddress from, int fromPort) throws IOException {
            return delegate().createSocket(host, port, from, fromPort);
        }
    }

    /** Connections of the context that is loaded when they come. */
    private final class Current extends SSLSocketFactory {
        private SSLSocketFactory delegate() {
            return context().getSocketFactory();
        }

        private static Socket serving(Socket socket) {
            SSLSocket tls = (SSLSocket) socket;
            tls.setUseClientMode(false);
            tls.setNeedClientAuth(true);
            return tls;
        }

        @Override
        public Socket createSocket(Socket accepted, String host, int port, boolean closesIt) throws IOException {
            return serving(delegate().createSocket(accepted, host, port, closesIt));
        }

        @Override
        public String[] getDefaultCipherSuites() {
            return delegate().getDefaultCipherSuites();
        }

        @Override
        public String[] getSupportedCipherSuites() {
            return delegate().getSupportedCipherSuites();
        }

        @Override
        public Socket createSocket(String host, int port) throws IOException {
            throw outgoing();
        }

        @Override
        public Socket createSocket(String host, int port, InetAddress from, int fromPort) throws IOException {
            throw outgoing();
        }

        @Override
        public Socket createSocket(InetAddress host, int port) throws IOException {
            throw outgoing();
        }

        @Override
        public Socket createSocket(InetAddress host, int port, InetAddress from, int fromPort) throws IOException {
            throw outgoing();
        }

        private static IOException outgoing() {
            return new IOException("these sockets are for connections that were accepted");
        }
    }
}

package guardian.kafka.common;

import static org.junit.jupiter.api.Assertions.assertEquals;

import guardian.v1.BrokerReporterGrpc;
import guardian.v1.CollectRequest;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.TlsChannelCredentials;
import io.grpc.okhttp.OkHttpChannelBuilder;
import java.io.IOException;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileTime;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLSocketFactory;

/**
 * Certificates in a folder, where a test replaces them.
 *
 * <p>Those in the resources are signed by "ca" or "other-ca" and are good for a hundred years.
 */
public final class TestCertificates {
    private final Path dir;
    private int changes;

    public TestCertificates(Path dir) {
        this.dir = dir;
    }

    public static Path resource(String name) throws URISyntaxException {
        return Path.of(TestCertificates.class.getResource("tls/" + name).toURI());
    }

    public static TlsFiles resources(String identity, String ca) throws URISyntaxException {
        return new TlsFiles(resource(identity + ".pem"), resource(identity + ".key"), resource(ca + ".pem"));
    }

    public static SSLSocketFactory clientSockets(TlsFiles files) {
        return new Tls(files).context().getSocketFactory();
    }

    /**
     * Return whether the TLS server at a local port takes a call.
     *
     * @param client whose certificate is shown; empty: none is
     */
    public static boolean isCalled(int port, String client, String ca) throws Exception {
        TlsChannelCredentials.Builder credentials =
                TlsChannelCredentials.newBuilder().trustManager(resource(ca + ".pem").toFile());
        if (!client.isEmpty()) {
            credentials.keyManager(resource(client + ".pem").toFile(), resource(client + ".key").toFile());
        }
        ManagedChannel channel = OkHttpChannelBuilder.forAddress("127.0.0.1", port, credentials.build()).build();
        try {
            collect(BrokerReporterGrpc.newBlockingStub(channel));
            return true;
        } catch (StatusRuntimeException e) {
            assertEquals(Status.Code.UNAVAILABLE, e.getStatus().getCode());
            return false;
        } finally {
            channel.shutdownNow();
        }
    }

    public static void collect(BrokerReporterGrpc.BrokerReporterBlockingStub reporter) {
        reporter.withDeadlineAfter(60, TimeUnit.SECONDS).collect(CollectRequest.getDefaultInstance());
    }

    public TlsFiles files() {
        return new TlsFiles(dir.resolve("certificate.pem"), dir.resolve("key.pem"), dir.resolve("ca.pem"));
    }

    public void install(String identity, String ca) throws Exception {
        replace("certificate.pem", resource(identity + ".pem"));
        replace("key.pem", resource(identity + ".key"));
        replace("ca.pem", resource(ca + ".pem"));
    }

    /** With a time of its own: file systems may not tell two changes within a tick apart. */
    public void replace(String file, Path by) throws IOException {
        Files.copy(by, dir.resolve(file), StandardCopyOption.REPLACE_EXISTING);
        Files.setLastModifiedTime(dir.resolve(file), FileTime.fromMillis(1_000_000L * ++changes));
    }
}

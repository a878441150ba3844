package guardian.kafka.reporter;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import guardian.v1.BrokerReporterGrpc;
import guardian.v1.CollectRequest;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.TlsChannelCredentials;
import io.grpc.okhttp.OkHttpChannelBuilder;
import java.io.File;
import java.io.IOException;
import java.net.Socket;
import java.net.URISyntaxException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileTime;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.SSLSocketFactory;
import javax.net.ssl.TrustManager;
import javax.net.ssl.X509TrustManager;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The certificates in the resources are signed by "ca" or "other-ca" and are good for a hundred years. */
class TlsTest {
    private static final Duration LONG = Duration.ofMinutes(5);

    @TempDir
    Path dir;

    private final ScheduledThreadPoolExecutor timer = TestMetrics.timer();
    private final Connections connections = new Connections(8, LONG, LONG);
    private final Connections scraped = new Connections(8, LONG, LONG);
    private Tls tls;
    private ReporterServer server;
    private ScrapeServer scrapes;
    private int changes;

    @BeforeEach
    void serve() throws Exception {
        install("server", "ca");
        tls = new Tls(files());
        BatchCollector collector = TestMetrics.collector(TestMetrics.gauges(1));
        HostAndPort anyPort = new HostAndPort("127.0.0.1", 0);
        server = ReporterServer.start(
                anyPort,
                Optional.of(tls),
                new ReporterServer.Limits(2, LONG, LONG),
                connections,
                new BrokerReporterService(collector, 2, LONG),
                timer);
        scrapes = ScrapeServer.start(
                anyPort,
                Optional.of(tls),
                new ScrapeServer.Limits(LONG, LONG),
                scraped,
                new ScrapeHandler(new Scraper(collector, NameFilter.ALL, Duration.ZERO, LONG), 2),
                timer);
    }

    @AfterEach
    void stop() {
        server.close();
        scrapes.close();
        timer.shutdownNow();
    }

    private TlsFiles files() {
        return new TlsFiles(dir.resolve("certificate.pem"), dir.resolve("key.pem"), dir.resolve("ca.pem"));
    }

    private static Path resource(String name) throws URISyntaxException {
        return Path.of(TlsTest.class.getResource("tls/" + name).toURI());
    }

    private void install(String identity, String ca) throws Exception {
        replace("certificate.pem", resource(identity + ".pem"));
        replace("key.pem", resource(identity + ".key"));
        replace("ca.pem", resource(ca + ".pem"));
    }

    /** With a time of its own: file systems may not tell two changes within a tick apart. */
    private void replace(String file, Path by) throws IOException {
        Files.copy(by, dir.resolve(file), StandardCopyOption.REPLACE_EXISTING);
        Files.setLastModifiedTime(dir.resolve(file), FileTime.fromMillis(1_000_000L * ++changes));
    }

    private boolean isCalled(String client, String ca) throws Exception {
        TlsChannelCredentials.Builder credentials =
                TlsChannelCredentials.newBuilder().trustManager(resource(ca + ".pem").toFile());
        if (!client.isEmpty()) {
            File certificate = resource(client + ".pem").toFile();
            credentials.keyManager(certificate, resource(client + ".key").toFile());
        }
        ManagedChannel channel = OkHttpChannelBuilder.forAddress("127.0.0.1", server.port(), credentials.build())
                .build();
        try {
            BrokerReporterGrpc.newBlockingStub(channel)
                    .withDeadlineAfter(60, TimeUnit.SECONDS)
                    .collect(CollectRequest.getDefaultInstance());
            return true;
        } catch (StatusRuntimeException e) {
            assertEquals(Status.Code.UNAVAILABLE, e.getStatus().getCode());
            return false;
        } finally {
            channel.shutdownNow();
        }
    }

    /** Whether a client is served that trusts whatever certificate the server has. */
    private boolean isScraped(Optional<TlsFiles> client) throws Exception {
        SSLSocketFactory sockets = client.isPresent()
                ? new Tls(client.get()).context().getSocketFactory()
                : trustingContext().getSocketFactory();
        try (SSLSocket socket = (SSLSocket) sockets.createSocket(
                new Socket("127.0.0.1", scrapes.port()), "localhost", scrapes.port(), true)) {
            socket.setSoTimeout(60_000);
            socket.getOutputStream().write("GET /metrics HTTP/1.0\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
            String answer = new String(socket.getInputStream().readAllBytes(), StandardCharsets.US_ASCII);
            return answer.startsWith("HTTP/1.1 200 OK");
        } catch (IOException e) {
            return false;
        }
    }

    private static SSLContext trustingContext() throws Exception {
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(null, new TrustManager[] {
            new X509TrustManager() {
                @Override
                public void checkClientTrusted(X509Certificate[] chain, String type) {}

                @Override
                public void checkServerTrusted(X509Certificate[] chain, String type) {}

                @Override
                public X509Certificate[] getAcceptedIssuers() {
                    return new X509Certificate[0];
                }
            }
        }, null);
        return context;
    }

    private static TlsFiles of(String client, String ca) throws Exception {
        return new TlsFiles(resource(client + ".pem"), resource(client + ".key"), resource(ca + ".pem"));
    }

    @Test
    void onlyWhoHasACertificateOfTheCaIsServed() throws Exception {
        assertTrue(isCalled("client", "ca"));
        assertEquals(false, isCalled("", "ca"));
        assertEquals(false, isCalled("other-client", "ca"));
        assertEquals(false, isCalled("client", "other-ca"));
        assertTrue(isScraped(Optional.of(of("client", "ca"))));
        assertEquals(false, isScraped(Optional.empty()));
        assertEquals(false, isScraped(Optional.of(of("other-client", "ca"))));
    }

    @Test
    void newFilesCountWithoutARestartAndOldClientsNoMore() throws Exception {
        install("other-server", "other-ca");
        tls.reload();
        assertTrue(isCalled("other-client", "other-ca"));
        assertEquals(false, isCalled("client", "other-ca"));
        assertTrue(isScraped(Optional.of(of("other-client", "other-ca"))));
        assertEquals(false, isScraped(Optional.of(of("client", "other-ca"))));
    }

    @Test
    void aChannelShowsWhatLiesThereWhenItConnects() throws Exception {
        Path ours = Files.createDirectory(dir.resolve("caller"));
        TlsFiles own = new TlsFiles(ours.resolve("certificate.pem"), ours.resolve("key.pem"), ours.resolve("ca.pem"));
        installAsCaller("other-client");
        ManagedChannel channel = OkHttpChannelBuilder.forAddress(
                        "127.0.0.1", server.port(), new Tls(own).forChannel())
                .build();
        try {
            assertThrows(StatusRuntimeException.class, () -> collect(BrokerReporterGrpc.newBlockingStub(channel)));
            installAsCaller("client");
            channel.resetConnectBackoff();
            collect(BrokerReporterGrpc.newBlockingStub(channel).withWaitForReady());
        } finally {
            channel.shutdownNow();
        }
    }

    private void installAsCaller(String identity) throws Exception {
        replace("caller/certificate.pem", resource(identity + ".pem"));
        replace("caller/key.pem", resource(identity + ".key"));
        replace("caller/ca.pem", resource("ca.pem"));
    }

    private static void collect(BrokerReporterGrpc.BrokerReporterBlockingStub reporter) {
        reporter.withDeadlineAfter(60, TimeUnit.SECONDS).collect(CollectRequest.getDefaultInstance());
    }

    @Test
    void filesThatDoNotFitTogetherChangeNothing() throws Exception {
        replace("certificate.pem", resource("other-server.pem"));
        tls.reload();
        Files.writeString(dir.resolve("key.pem"), "half a fi");
        tls.reload();
        assertTrue(isCalled("client", "ca"));
        install("other-server", "other-ca");
        tls.reload();
        assertTrue(isCalled("other-client", "other-ca"));
    }

    @Test
    void aBadFileIsNamedWithItsSetting() throws Exception {
        replace("key.pem", resource("client.key"));
        assertNames(TlsFiles.KEY);
        Files.writeString(dir.resolve("key.pem"), "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n");
        assertNames(TlsFiles.KEY);
        install("server", "ca");
        Files.writeString(dir.resolve("ca.pem"), "");
        assertNames(TlsFiles.CA);
        Files.delete(dir.resolve("certificate.pem"));
        assertNames(TlsFiles.CERTIFICATE);
    }

    private void assertNames(String setting) {
        String message = assertThrows(IllegalArgumentException.class, () -> new Tls(files())).getMessage();
        assertTrue(message.startsWith(setting + " is " + dir), message);
    }
}

package guardian.kafka.reporter;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import guardian.kafka.common.HostAndPort;
import guardian.kafka.common.TestCertificates;
import guardian.kafka.common.Tls;
import guardian.kafka.common.TlsFiles;
import guardian.kafka.reporter.listener.Connections;
import guardian.kafka.reporter.metrics.BatchCollector;
import guardian.kafka.reporter.metrics.TestMetrics;
import guardian.kafka.reporter.scrape.NameFilter;
import guardian.kafka.reporter.scrape.ScrapeHandler;
import guardian.kafka.reporter.scrape.ScrapeServer;
import guardian.kafka.reporter.scrape.Scraper;
import java.io.IOException;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.SSLSocketFactory;
import javax.net.ssl.TrustManager;
import javax.net.ssl.X509TrustManager;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The listeners of gRPC and HTTP. */
class ReporterTlsTest {
    private static final Duration LONG = Duration.ofMinutes(5);

    @TempDir
    Path dir;

    private final ScheduledThreadPoolExecutor timer = TestMetrics.timer();
    private final Connections connections = new Connections(8, 8, LONG, LONG);
    private final Connections scraped = new Connections(8, 8, LONG, LONG);
    private Tls tls;
    private ReporterServer server;
    private ScrapeServer scrapes;
    private TestCertificates certificates;

    @BeforeEach
    void serve() throws Exception {
        certificates = new TestCertificates(dir);
        certificates.install("server", "ca");
        tls = new Tls(certificates.files());
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

    private boolean isCalled(String client, String ca) throws Exception {
        return TestCertificates.isCalled(server.port(), client, ca);
    }

    /** Whether a client is served that trusts whatever certificate the server has. */
    private boolean isScraped(Optional<TlsFiles> client) throws Exception {
        SSLSocketFactory sockets = client.isPresent()
                ? TestCertificates.clientSockets(client.get())
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

    @Test
    void onlyWhoHasACertificateOfTheCaIsServed() throws Exception {
        assertTrue(isCalled("client", "ca"));
        assertEquals(false, isCalled("", "ca"));
        assertEquals(false, isCalled("other-client", "ca"));
        assertEquals(false, isCalled("client", "other-ca"));
        assertTrue(isScraped(Optional.of(TestCertificates.resources("client", "ca"))));
        assertEquals(false, isScraped(Optional.empty()));
        assertEquals(false, isScraped(Optional.of(TestCertificates.resources("other-client", "ca"))));
    }

    @Test
    void newFilesCountWithoutARestartAndOldClientsNoMore() throws Exception {
        certificates.install("other-server", "other-ca");
        tls.reload();
        assertTrue(isCalled("other-client", "other-ca"));
        assertEquals(false, isCalled("client", "other-ca"));
        assertTrue(isScraped(Optional.of(TestCertificates.resources("other-client", "other-ca"))));
        assertEquals(false, isScraped(Optional.of(TestCertificates.resources("client", "other-ca"))));
    }
}

package guardian.kafka.reporter.scrape;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import guardian.kafka.common.DaemonThreads;
import guardian.kafka.common.HostAndPort;
import guardian.kafka.reporter.listener.Connections;
import guardian.kafka.reporter.listener.Eventually;
import guardian.kafka.reporter.metrics.Listing;
import guardian.kafka.reporter.metrics.MetricReader;
import guardian.kafka.reporter.metrics.MetricSource;
import guardian.kafka.reporter.metrics.TestMetrics;
import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.zip.GZIPInputStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class ScrapeServerTest {
    private static final Duration NO_LIMIT = Duration.ofHours(1);
    private static final ScrapeServer.Limits NONE = new ScrapeServer.Limits(NO_LIMIT, NO_LIMIT);
    private static final int CALLS = 2;
    private static final int CONNECTIONS = 8;
    private static final String GET = "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n";

    private final ScheduledThreadPoolExecutor timer = TestMetrics.timer();
    private final Connections connections = new Connections(CONNECTIONS, CONNECTIONS, NO_LIMIT, NO_LIMIT);
    private final HttpClient client =
            HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    private final CountDownLatch mayGoOn = new CountDownLatch(1);
    private ScrapeServer server;

    private void serve(MetricSource source, ScrapeServer.Limits limits) throws IOException {
        serve(source, limits, CALLS);
    }

    private void serve(MetricSource source, ScrapeServer.Limits limits, int calls) throws IOException {
        Scraper scraper =
                new Scraper(TestMetrics.collector(source), NameFilter.ALL, Duration.ZERO, Duration.ofMinutes(5));
        server = ScrapeServer.start(
                new HostAndPort("127.0.0.1", 0),
                Optional.empty(),
                limits,
                connections,
                new ScrapeHandler(scraper, calls),
                timer);
    }

    @AfterEach
    void stop() {
        mayGoOn.countDown();
        server.close();
        timer.shutdownNow();
    }

    private <T> HttpResponse<T> get(String path, HttpResponse.BodyHandler<T> body, String... headers) throws Exception {
        var request = java.net.http.HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + server.port() + path))
                .timeout(Duration.ofSeconds(60));
        if (headers.length > 0) {
            request.headers(headers);
        }
        return client.send(request.build(), body);
    }

    private void assertAnswers() throws InterruptedException {
        Eventually.holds("an answer", () -> get("/metrics", BodyHandlers.ofString()).statusCode() == 200);
    }

    private Socket connect() throws IOException {
        Socket socket = new Socket();
        socket.setReceiveBufferSize(4096);
        socket.connect(new InetSocketAddress("127.0.0.1", server.port()));
        socket.setSoTimeout(60_000);
        return socket;
    }

    @Test
    void aScrapeIsAnsweredInTheTextThatItAsksFor() throws Exception {
        serve(TestMetrics.gauges(3), NONE);
        HttpResponse<String> text = get("/metrics", BodyHandlers.ofString());
        assertEquals(200, text.statusCode());
        assertEquals(Optional.of(TextFormat.PROMETHEUS.contentType()), text.headers().firstValue("content-type"));
        assertTrue(text.body().contains("test_t_n{i=\"2\""), text.body());
        HttpResponse<String> open = get("/metrics", BodyHandlers.ofString(), "Accept", "application/openmetrics-text");
        assertEquals(Optional.of(TextFormat.OPEN_METRICS.contentType()), open.headers().firstValue("content-type"));
        assertTrue(open.body().endsWith("# EOF\n"), open.body());
        assertEquals(1, connections.count());
    }

    @Test
    void aLargeAnswerArrivesWholeAlsoCompressed() throws Exception {
        serve(TestMetrics.gauges(5000), NONE);
        String plain = get("/metrics", BodyHandlers.ofString()).body();
        assertEquals(5000, plain.lines().filter(line -> line.startsWith("test_t_n{")).count());
        HttpResponse<byte[]> packed = get("/metrics", BodyHandlers.ofByteArray(), "Accept-Encoding", "gzip");
        assertEquals(Optional.of("gzip"), packed.headers().firstValue("content-encoding"));
        assertTrue(packed.body().length < plain.length() / 5, "bytes: " + packed.body().length);
        try (InputStream in = new GZIPInputStream(new ByteArrayInputStream(packed.body()))) {
            assertEquals(plain, new String(in.readAllBytes(), StandardCharsets.UTF_8));
        }
    }

    @Test
    void namesThatAreAskedForAreAnsweredAlone() throws Exception {
        serve(TestMetrics.gauges(1), NONE);
        String body = get("/metrics?name%5B%5D=guardian_&name[]=nothing".replace("[]", "%5B%5D"),
                BodyHandlers.ofString()).body();
        assertTrue(body.contains("guardian_broker_info") && !body.contains("test_t_n"), body);
    }

    @Test
    void oldAndOddRequestsGetTheirAnswer() throws Exception {
        serve(TestMetrics.gauges(3), NONE);
        assertEquals(404, get("/", BodyHandlers.ofString()).statusCode());
        assertTrue(conversation("POST /metrics HTTP/1.1\r\nContent-Length: 1\r\n\r\nx").startsWith("HTTP/1.1 405 "));
        assertTrue(conversation("GET /metrics HTTP/1.0\r\n\r\n").contains("\ntest_t_n{"));
        String head = conversation("HEAD /metrics HTTP/1.1\r\nConnection: close\r\n\r\n");
        assertTrue(head.startsWith("HTTP/1.1 200 OK\r\n") && head.endsWith("\r\n\r\n"), head);
        assertTrue(conversation("GET\r\n\r\n").startsWith("HTTP/1.1 400 "));
        assertTrue(conversation("GET /?name%zz=1 HTTP/1.1\r\n\r\n").startsWith("HTTP/1.1 400 "));
        assertTrue(conversation("GET /" + "x".repeat(10_000)).startsWith("HTTP/1.1 431 "));
    }

    /** All that the server says until it closes the connection; a reset ends it too. */
    private String conversation(String request) throws IOException {
        StringBuilder answer = new StringBuilder();
        try (Socket socket = connect()) {
            socket.getOutputStream().write(request.getBytes(StandardCharsets.US_ASCII));
            socket.shutdownOutput();
            int each = socket.getInputStream().read();
            while (each >= 0) {
                answer.append((char) each);
                each = socket.getInputStream().read();
            }
        } catch (SocketException e) {
            assertTrue(answer.length() > 0, e.toString());
        }
        return answer.toString();
    }

    @Test
    void scrapesOverTheLimitAreRefusedAtOnce() throws Exception {
        Semaphore walking = new Semaphore(0);
        MetricReader waits = values -> {
            walking.release();
            try {
                mayGoOn.await();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
            return false;
        };
        serve(TestMetrics.source(waits), NONE, 1);
        FutureTask<Integer> held = new FutureTask<>(() -> get("/metrics", BodyHandlers.ofString()).statusCode());
        new DaemonThreads("test-scrape").newThread(held).start();
        assertTrue(walking.tryAcquire(30, TimeUnit.SECONDS));
        assertTrue(conversation("GET /metrics HTTP/1.0\r\n\r\n").startsWith("HTTP/1.1 503 "));
        mayGoOn.countDown();
        assertEquals(200, held.get(30, TimeUnit.SECONDS));
    }

    @Test
    void aCollectionThatFailsIsAnErrorAndTheNextOneIsTried() throws Exception {
        Semaphore failures = new Semaphore(1);
        serve(new MetricSource() {
            @Override
            public long revision() {
                return 0;
            }

            @Override
            public void list(Listing listing) {
                if (failures.tryAcquire()) {
                    throw new IllegalStateException("broken");
                }
            }
        }, NONE);
        assertEquals(500, get("/metrics", BodyHandlers.ofString()).statusCode());
        assertEquals(200, get("/metrics", BodyHandlers.ofString()).statusCode());
    }

    @Test
    void aReaderThatNeverReadsIsCutAndItsPlaceIsFree() throws Exception {
        serve(TestMetrics.plenty(), new ScrapeServer.Limits(Duration.ofSeconds(2), NO_LIMIT));
        List<Socket> stuck = new ArrayList<>();
        for (int i = 0; i < CALLS; i++) {
            Socket socket = connect();
            socket.getOutputStream().write(GET.getBytes(StandardCharsets.US_ASCII));
            stuck.add(socket);
        }
        Eventually.holds("the stuck ones are cut", () -> connections.count() == 0);
        Eventually.holds("few names are answered in time", () -> get(
                        "/metrics?name%5B%5D=guardian_", BodyHandlers.ofString()).statusCode() == 200);
        for (Socket socket : stuck) {
            socket.close();
        }
    }

    @Test
    void whoBlocksAWriteIsCutByTheWatchEvenWithoutADeadline() throws Exception {
        Connections watched = new Connections(CONNECTIONS, CONNECTIONS, Duration.ofMillis(1), Duration.ofMillis(1));
        try (var listener = watched.createServerSocket()) {
            listener.bind(new InetSocketAddress("127.0.0.1", 0));
            Socket peer = new Socket();
            peer.setReceiveBufferSize(4096);
            peer.connect(listener.getLocalSocketAddress());
            Socket accepted = listener.accept();
            CountDownLatch ended = new CountDownLatch(1);
            new DaemonThreads("test-writer").newThread(() -> {
                try {
                    while (true) {
                        accepted.getOutputStream().write(new byte[1 << 20]);
                    }
                } catch (IOException e) {
                    ended.countDown();
                }
            }).start();
            Eventually.holds("the write blocks", () -> watched.isStalled(peer.getLocalSocketAddress()));
            Eventually.holds("the write ends", () -> {
                watched.cutStuck();
                return ended.await(1, TimeUnit.MILLISECONDS);
            });
            assertEquals(0, watched.count());
            peer.close();
        }
        serve(TestMetrics.source(), NONE);
    }

    @Test
    void aRequestThatNeverEndsAndOneThatNeverBeginsAreCut() throws Exception {
        serve(TestMetrics.gauges(1), new ScrapeServer.Limits(Duration.ofMillis(300), NO_LIMIT));
        try (Socket half = connect();
                Socket silent = connect()) {
            half.getOutputStream().write("GET /metrics HTT".getBytes(StandardCharsets.US_ASCII));
            assertEquals(-1, half.getInputStream().read());
            assertEquals(-1, silent.getInputStream().read());
        }
        Eventually.holds("no connection is left", () -> connections.count() == 0);
    }

    @Test
    void hundredsOfConnectionsAreNoMoreThanItsShare() throws Exception {
        serve(TestMetrics.gauges(1), NONE);
        List<Socket> crowd = new ArrayList<>();
        for (int i = 0; i < 200; i++) {
            crowd.add(connect());
            assertTrue(connections.count() <= CONNECTIONS);
        }
        Eventually.holds("its share is taken", () -> connections.count() == CONNECTIONS);
        for (Socket socket : crowd) {
            socket.close();
        }
        assertAnswers();
    }

    @Test
    void garbageEndsItsConnectionAndNothingElse() throws Exception {
        serve(TestMetrics.gauges(1), NONE);
        Random random = new Random(7);
        for (int i = 0; i < 50; i++) {
            byte[] garbage = new byte[1 + random.nextInt(20_000)];
            random.nextBytes(garbage);
            try (Socket socket = connect()) {
                socket.getOutputStream().write(garbage);
            } catch (SocketException e) {
                // The server has had enough of it, which is its right.
            }
        }
        Eventually.holds("no connection is left", () -> connections.count() == 0);
        assertAnswers();
    }

    @Test
    void aConnectionServesOneRequestAfterAnother() throws Exception {
        serve(TestMetrics.gauges(1), NONE);
        try (Socket socket = connect()) {
            BufferedReader in = new BufferedReader(
                    new InputStreamReader(socket.getInputStream(), StandardCharsets.US_ASCII));
            for (int i = 0; i < 3; i++) {
                socket.getOutputStream().write(GET.getBytes(StandardCharsets.US_ASCII));
                assertEquals("HTTP/1.1 200 OK", in.readLine());
                String line = in.readLine();
                while (!line.equals("0")) {
                    line = in.readLine();
                }
                assertEquals("", in.readLine());
            }
        }
    }
}

package guardian.kafka.reporter;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import guardian.kafka.common.HostAndPort;
import guardian.kafka.reporter.listener.Connections;
import guardian.kafka.reporter.listener.Eventually;
import guardian.kafka.reporter.metrics.Listing;
import guardian.kafka.reporter.metrics.MetricSource;
import guardian.kafka.reporter.metrics.TestMetrics;
import guardian.v1.BrokerReporterGrpc;
import guardian.v1.BrokerReporterGrpc.BrokerReporterFutureStub;
import guardian.v1.CollectRequest;
import guardian.v1.MetricBatch;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.okhttp.OkHttpChannelBuilder;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class BrokerReporterServiceTest {
    private static final Duration NO_LIMIT = Duration.ofHours(1);
    private static final CollectRequest ALL = CollectRequest.getDefaultInstance();
    private static final int CALLS = 2;
    private static final int CONNECTIONS = 8;

    private int perAddress = CONNECTIONS;
    private final Semaphore walking = new Semaphore(0);
    private final CountDownLatch mayGoOn = new CountDownLatch(1);
    private final ScheduledThreadPoolExecutor timer = TestMetrics.timer();
    private final List<ManagedChannel> channels = new ArrayList<>();
    private Connections connections;
    private ReporterServer server;

    private BrokerReporterFutureStub serve(MetricSource source, Duration walkLimit) throws Exception {
        return serve(source, walkLimit, new ReporterServer.Limits(CALLS, NO_LIMIT, NO_LIMIT));
    }

    /** A server whose metrics are this source. */
    private BrokerReporterFutureStub serve(MetricSource source, Duration walkLimit, ReporterServer.Limits limits)
            throws Exception {
        connections = new Connections(CONNECTIONS, perAddress, NO_LIMIT, NO_LIMIT);
        server = ReporterServer.start(
                new HostAndPort("127.0.0.1", 0),
                Optional.empty(),
                limits,
                connections,
                new BrokerReporterService(TestMetrics.collector(source), CALLS, walkLimit),
                timer);
        return BrokerReporterGrpc.newFutureStub(channel());
    }

    private ManagedChannel channel() {
        ManagedChannel channel = OkHttpChannelBuilder.forAddress("127.0.0.1", server.port())
                .usePlaintext()
                .maxInboundMessageSize(64 << 20)
                .build();
        channels.add(channel);
        return channel;
    }

    private boolean walkUntilTold(double[] values) {
        walking.release();
        try {
            mayGoOn.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
        return false;
    }

    @AfterEach
    void stop() {
        mayGoOn.countDown();
        channels.forEach(ManagedChannel::shutdownNow);
        server.close();
        timer.shutdownNow();
    }

    private static Status.Code codeOf(Future<MetricBatch> call) {
        ExecutionException failure = assertThrows(ExecutionException.class, () -> call.get(30, TimeUnit.SECONDS));
        return ((StatusRuntimeException) failure.getCause()).getStatus().getCode();
    }

    /** By a new connection: after trouble on others. */
    private void assertAnswers() throws InterruptedException {
        Eventually.holds("an answer", () -> {
            ManagedChannel channel = channel();
            try {
                return BrokerReporterGrpc.newFutureStub(channel).collect(ALL).get(30, TimeUnit.SECONDS) != null;
            } finally {
                channel.shutdownNow();
            }
        });
    }

    @Test
    void callsOverTheLimitAreRefusedAtOnceAndTheOthersAnswered() throws Exception {
        BrokerReporterFutureStub stub = serve(TestMetrics.source(this::walkUntilTold), NO_LIMIT);
        Future<MetricBatch> first = stub.collect(ALL);
        Future<MetricBatch> second = stub.collect(ALL);
        assertTrue(walking.tryAcquire(2, 30, TimeUnit.SECONDS));
        assertEquals(Status.Code.RESOURCE_EXHAUSTED, codeOf(stub.collect(ALL)));
        mayGoOn.countDown();
        first.get(30, TimeUnit.SECONDS);
        second.get(30, TimeUnit.SECONDS);
    }

    @Test
    void aFailedCollectionIsAnErrorAndFreesItsPlace() throws Exception {
        BrokerReporterFutureStub stub = serve(new MetricSource() {
            @Override
            public long revision() {
                return 0;
            }

            @Override
            public void list(Listing listing) {
                throw new IllegalStateException("broken");
            }
        }, NO_LIMIT);
        for (int i = 0; i < 2 * CALLS; i++) {
            Eventually.holds("a place", () -> codeOf(stub.collect(ALL)) == Status.Code.INTERNAL);
        }
    }

    @Test
    void aCallerThatGivesUpEndsTheWalk() throws Exception {
        BrokerReporterFutureStub stub = serve(TestMetrics.endless(walking::release), NO_LIMIT);
        List<Future<MetricBatch>> calls = List.of(stub.collect(ALL), stub.collect(ALL));
        assertTrue(walking.tryAcquire(30, TimeUnit.SECONDS));
        calls.forEach(call -> call.cancel(true));
        CollectRequest none = CollectRequest.newBuilder().addNamePrefixes("nothing").build();
        Eventually.holds("a place is free", () -> stub.collect(none).get(30, TimeUnit.SECONDS) != null);
    }

    @Test
    void aWalkThatTakesTooLongEndsByItself() throws Exception {
        BrokerReporterFutureStub stub = serve(TestMetrics.endless(() -> { }), Duration.ofMillis(1));
        assertEquals(Status.Code.DEADLINE_EXCEEDED, codeOf(stub.collect(ALL)));
    }

    @Test
    void aCallerThatNeverReadsHoldsItsPlaceUntilItsConnectionIsCut() throws Exception {
        serve(TestMetrics.plenty(), NO_LIMIT, new ReporterServer.Limits(CALLS, Duration.ofSeconds(2), NO_LIMIT));
        for (int i = 0; i < CALLS; i++) {
            ClientCall<CollectRequest, MetricBatch> stuck =
                    channel().newCall(BrokerReporterGrpc.getCollectMethod(), CallOptions.DEFAULT);
            stuck.start(new ClientCall.Listener<>() {}, new Metadata());
            stuck.sendMessage(ALL);
            stuck.halfClose();
        }
        Eventually.holds("their calls run", () -> connections.count() == CALLS);
        Eventually.holds("they are cut", () -> connections.count() == 0);
        assertAnswers();
    }

    @Test
    void connectionsThatSayNothingAreCut() throws Exception {
        serve(TestMetrics.source(), NO_LIMIT, new ReporterServer.Limits(CALLS, NO_LIMIT, Duration.ofMillis(50)));
        try (Socket silent = new Socket("127.0.0.1", server.port())) {
            assertEnded(silent);
        }
        Eventually.holds("no connection is left", () -> connections.count() == 0);
    }

    @Test
    void hundredsOfConnectionsAreNoMoreThanItsShare() throws Exception {
        serve(TestMetrics.source(), NO_LIMIT);
        List<Socket> crowd = new ArrayList<>();
        try {
            for (int i = 0; i < 200; i++) {
                crowd.add(new Socket("127.0.0.1", server.port()));
                assertTrue(connections.count() <= CONNECTIONS);
            }
            for (Socket late : crowd.subList(CONNECTIONS, crowd.size())) {
                assertEnded(late);
            }
            assertEquals(CONNECTIONS, connections.count());
        } finally {
            for (Socket socket : crowd) {
                socket.close();
            }
        }
        assertAnswers();
    }

    @Test
    void anAddressThatHasItsShareKeepsNoOtherOneOut() throws Exception {
        perAddress = 3;
        serve(TestMetrics.source(), NO_LIMIT);
        List<Socket> crowd = new ArrayList<>();
        try {
            for (int i = 0; i < CONNECTIONS + perAddress; i++) {
                crowd.add(connectFrom("127.0.0.2"));
            }
            for (Socket late : crowd.subList(perAddress, crowd.size())) {
                assertEnded(late);
            }
            assertEquals(perAddress, connections.count());
            assertAnswers(); // to 127.0.0.1
        } finally {
            for (Socket socket : crowd) {
                socket.close();
            }
        }
    }

    private Socket connectFrom(String address) throws IOException {
        return new Socket(
                InetAddress.getByName("127.0.0.1"), server.port(), InetAddress.getByName(address), 0);
    }

    @Test
    void garbageEndsItsConnectionAndNothingElse() throws Exception {
        serve(TestMetrics.source(), NO_LIMIT, new ReporterServer.Limits(CALLS, NO_LIMIT, Duration.ofSeconds(1)));
        Random random = new Random(7);
        for (int i = 0; i < 50; i++) {
            byte[] garbage = new byte[1 + random.nextInt(3000)];
            random.nextBytes(garbage);
            send(garbage);
            send(("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + new String(garbage, StandardCharsets.ISO_8859_1))
                    .getBytes(StandardCharsets.ISO_8859_1));
        }
        Eventually.holds("no connection is left", () -> connections.count() == 0);
        assertAnswers();
    }

    private void send(byte[] bytes) throws IOException {
        try (Socket socket = new Socket("127.0.0.1", server.port());
                OutputStream out = socket.getOutputStream()) {
            out.write(bytes);
        } catch (SocketException e) {
            // The server has had enough of it, which is its right.
        }
    }

    /** A reset is an end too. */
    private static void assertEnded(Socket socket) throws IOException {
        socket.setSoTimeout(60_000);
        try {
            while (socket.getInputStream().read() >= 0) {
                continue;
            }
        } catch (SocketTimeoutException e) {
            throw e;
        } catch (IOException e) {
            return;
        }
    }
}

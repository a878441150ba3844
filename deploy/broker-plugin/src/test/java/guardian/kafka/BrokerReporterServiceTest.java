package guardian.kafka;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import guardian.v1.BrokerReporterGrpc.BrokerReporterFutureStub;
import guardian.v1.BrokerReporterGrpc;
import guardian.v1.CollectRequest;
import guardian.v1.HostFacts;
import guardian.v1.MetricBatch;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.okhttp.OkHttpChannelBuilder;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class BrokerReporterServiceTest {
    private static final Duration NO_LIMIT = Duration.ofHours(1);
    private static final CollectRequest ALL = CollectRequest.getDefaultInstance();

    private final Semaphore walking = new Semaphore(0);
    private final CountDownLatch mayGoOn = new CountDownLatch(1);
    private ReporterServer server;
    private ManagedChannel channel;

    /** A server whose metrics are this source. */
    private BrokerReporterFutureStub serve(MetricSource source, Duration callLimit) throws Exception {
        BatchCollector collector =
                new BatchCollector(List.of(source), HostFacts::getDefaultInstance, MetricBatch::newBuilder);
        ReporterSettings settings = new ReporterSettings("127.0.0.1", 0, Path.of("/proc"), 2, 1, "", List.of());
        server = ReporterServer.start(settings, new BrokerReporterService(collector, settings.maxCalls(), callLimit));
        channel = OkHttpChannelBuilder.forAddress("127.0.0.1", server.port())
                .usePlaintext()
                .build();
        return BrokerReporterGrpc.newFutureStub(channel);
    }

    private void walkUntilTold(ValueSink sink) {
        walking.release();
        try {
            mayGoOn.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    @AfterEach
    void stop() {
        mayGoOn.countDown();
        channel.shutdownNow();
        server.close();
    }

    private static Status.Code codeOf(Future<MetricBatch> call) {
        ExecutionException failure = assertThrows(ExecutionException.class, () -> call.get(30, TimeUnit.SECONDS));
        return ((StatusRuntimeException) failure.getCause()).getStatus().getCode();
    }

    @Test
    void callsOverTheLimitAreRefusedAtOnceAndTheOthersAnswered() throws Exception {
        BrokerReporterFutureStub stub = serve(this::walkUntilTold, NO_LIMIT);
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
        BrokerReporterFutureStub stub = serve(sink -> {
            throw new IllegalStateException("broken");
        }, NO_LIMIT);
        for (int i = 0; i < 5; i++) {
            assertEquals(Status.Code.INTERNAL, codeOf(stub.collect(ALL)));
        }
    }

    @Test
    void aCallerThatGivesUpEndsTheWalk() throws Exception {
        CountDownLatch ended = new CountDownLatch(1);
        BrokerReporterFutureStub stub = serve(sink -> {
            walking.release();
            try {
                while (true) {
                    sink.wanted("metric", List.of("Value"), () -> "mbean");
                    Thread.onSpinWait();
                }
            } catch (ValueSink.Expired e) {
                ended.countDown();
                throw e;
            }
        }, NO_LIMIT);
        Future<MetricBatch> call = stub.collect(ALL);
        assertTrue(walking.tryAcquire(30, TimeUnit.SECONDS));
        call.cancel(true);
        assertTrue(ended.await(30, TimeUnit.SECONDS));
    }

    @Test
    void aWalkThatTakesTooLongEndsByItself() throws Exception {
        BrokerReporterFutureStub stub = serve(sink -> {
            while (true) {
                sink.wanted("metric", List.of("Value"), () -> "mbean");
            }
        }, Duration.ofMillis(1));
        assertEquals(Status.Code.DEADLINE_EXCEEDED, codeOf(stub.collect(ALL)));
    }
}

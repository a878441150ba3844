package guardian.kafka.metadata.store;

import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import guardian.kafka.metadata.segments.SegmentEvents;
import guardian.v1.FenceMode;
import guardian.v1.RemoteLogSegmentState;
import guardian.v1.SegmentEvent;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.BooleanSupplier;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.junit.jupiter.api.AfterEach;

/** A store against a fake group, and words to tell stories about it. */
abstract class StoreTestBase {
    static final String CLUSTER = "cluster";
    static final int BROKER = 7;
    static final Uuid TOPIC = new Uuid(1, 2);
    static final TopicIdPartition P0 = partition(0);
    static final TopicIdPartition P1 = partition(1);
    static final PartitionNames NAMES = new PartitionNames(CLUSTER);
    static final StoreSettings.Limits LIMITS = StoreSettings.Limits.DEFAULT
            .withWriteLimit(Duration.ofSeconds(20))
            .withRetries(Duration.ofMillis(10), Duration.ofMillis(100));

    private static final Duration DEADLINE = Duration.ofSeconds(30);

    final RecordingListener listener = new RecordingListener();
    private final List<AutoCloseable> opened = new ArrayList<>();

    static TopicIdPartition partition(int number) {
        return new TopicIdPartition(TOPIC, new TopicPartition("orders", number));
    }

    /** The first event of a segment that is known by this number. */
    static SegmentEvent started(int segment) {
        return event(segment, RemoteLogSegmentState.COPY_SEGMENT_STARTED);
    }

    static SegmentEvent finished(int segment) {
        return event(segment, RemoteLogSegmentState.COPY_SEGMENT_FINISHED);
    }

    private static SegmentEvent event(int segment, RemoteLogSegmentState state) {
        return SegmentEvent.newBuilder()
                .setSegmentId(SegmentEvents.bytes(new Uuid(9, segment)))
                .setStartOffset(segment)
                .setState(state)
                .build();
    }

    FakeGroup guardian(int members) throws IOException {
        FakeGroup guardian = new FakeGroup(members);
        opened.add(0, guardian);
        return guardian;
    }

    GrpcSegmentEventStore store(FakeGroup guardian) {
        return store(guardian.endpoints(), LIMITS);
    }

    GrpcSegmentEventStore store(FakeGroup guardian, StoreSettings.Limits limits) {
        return store(guardian.endpoints(), limits);
    }

    GrpcSegmentEventStore store(List<String> endpoints, StoreSettings.Limits limits) {
        return store(endpoints, limits, FenceMode.VERIFIED);
    }

    GrpcSegmentEventStore store(List<String> endpoints, StoreSettings.Limits limits, FenceMode fence) {
        StoreSettings settings = StoreSettings.of(endpoints, CLUSTER, BROKER, "writer", fence).withLimits(limits);
        GrpcSegmentEventStore store = new GrpcSegmentEventStore(settings, listener);
        opened.add(0, store);
        return store;
    }

    @AfterEach
    void closeAll() throws Exception {
        for (AutoCloseable each : opened) {
            each.close();
        }
    }

    static void waitUntil(String what, BooleanSupplier isSo) throws InterruptedException {
        long deadline = System.nanoTime() + DEADLINE.toNanos();
        while (!isSo.getAsBoolean()) {
            assertTrue(System.nanoTime() < deadline, () -> "not within " + DEADLINE + ": " + what);
            Thread.sleep(5);
        }
    }

    static <T> T answer(CompletableFuture<T> future) throws Exception {
        return future.get(DEADLINE.toSeconds(), TimeUnit.SECONDS);
    }

    static <E extends Throwable> E failure(Class<E> kind, CompletableFuture<?> future) throws Exception {
        try {
            return fail("it was answered with " + future.get(DEADLINE.toSeconds(), TimeUnit.SECONDS));
        } catch (ExecutionException | CompletionException e) {
            assertTrue(kind.isInstance(e.getCause()), () -> "not a " + kind.getSimpleName() + ": " + e.getCause());
            return kind.cast(e.getCause());
        } catch (TimeoutException e) {
            return fail("no answer within " + DEADLINE);
        }
    }
}

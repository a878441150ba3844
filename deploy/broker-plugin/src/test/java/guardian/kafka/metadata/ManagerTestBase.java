package guardian.kafka.metadata;

import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.fail;

import com.yammer.metrics.core.MetricsRegistry;
import guardian.kafka.metadata.segments.SegmentEvents;
import guardian.v1.FenceMode;
import guardian.v1.SegmentEvent;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentId;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadataUpdate;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentState;
import org.apache.kafka.server.log.remote.storage.RemoteStorageException;
import org.junit.jupiter.api.AfterEach;

/** Managers of several brokers against a fake group, and words to tell stories about them. */
abstract class ManagerTestBase {
    static final TopicIdPartition ORDERS = new TopicIdPartition(Uuid.randomUuid(), new TopicPartition("orders", 0));
    static final TopicIdPartition OTHERS = new TopicIdPartition(Uuid.randomUuid(), new TopicPartition("others", 0));
    private static final Duration SHORT = Duration.ofMillis(50);
    private static final Duration LONG = Duration.ofSeconds(20);

    final FakeGuardian shared = new FakeGuardian();
    private final List<Broker> brokers = new ArrayList<>();

    /** A manager and its connection. */
    final class Broker {
        final MetricsRegistry registry = new MetricsRegistry();
        final MetadataManager manager;
        FakeGuardian.Store store;

        private Broker(int id, Duration waitLimit) {
            ManagerSettings settings = new ManagerSettings(List.of("guardian:9400"), Optional.empty(), "cluster", id,
                    FenceMode.CLAIM_ORDER, waitLimit, LONG, 1_000, SHORT, SHORT, Set.of());
            manager = new MetadataManager(settings, listener -> store = shared.store(listener), registry);
            brokers.add(this);
        }

        void lead(TopicIdPartition... partitions) {
            manager.onLeadershipChanges(Set.of(partitions), Set.of());
        }

        void follow(TopicIdPartition... partitions) {
            manager.onLeadershipChanges(Set.of(), Set.of(partitions));
        }

        CompletableFuture<Void> add(RemoteLogSegmentMetadata segment) throws RemoteStorageException {
            return manager.add(segment);
        }

        CompletableFuture<Void> update(RemoteLogSegmentMetadata segment, RemoteLogSegmentState state)
                throws RemoteStorageException {
            return manager.update(
                    new RemoteLogSegmentMetadataUpdate(segment.remoteLogSegmentId(), 2, Optional.empty(), state, 1));
        }

        CompletableFuture<Void> finish(RemoteLogSegmentMetadata segment) throws RemoteStorageException {
            return update(segment, RemoteLogSegmentState.COPY_SEGMENT_FINISHED);
        }

        void copy(RemoteLogSegmentMetadata segment) throws Exception {
            add(segment).get();
            finish(segment).get();
        }

        Object metric(String name) {
            return registry.allMetrics().entrySet().stream()
                    .filter(each -> each.getKey().getName().equals(name))
                    .map(each -> ((com.yammer.metrics.core.Gauge<?>) each.getValue()).value())
                    .findFirst()
                    .orElseThrow();
        }
    }

    Broker broker(int id) {
        return new Broker(id, LONG);
    }

    Broker impatientBroker(int id) {
        return new Broker(id, SHORT);
    }

    @AfterEach
    void closeAll() {
        brokers.forEach(each -> {
            each.manager.close();
            each.registry.shutdown();
        });
    }

    static RemoteLogSegmentMetadata segment(long startOffset, long endOffset) {
        return segment(ORDERS, startOffset, endOffset);
    }

    static RemoteLogSegmentMetadata segment(TopicIdPartition partition, long startOffset, long endOffset) {
        return new RemoteLogSegmentMetadata(new RemoteLogSegmentId(partition, Uuid.randomUuid()), startOffset, endOffset, 1, 1,
                1, 100, Map.of(0, startOffset));
    }

    static SegmentEvent event(RemoteLogSegmentMetadata segment, guardian.v1.RemoteLogSegmentState state) {
        return SegmentEvents.of(segment).toBuilder().setState(state).build();
    }

    static <T extends Throwable> T failure(Class<T> kind, CompletableFuture<?> future) {
        return assertInstanceOf(kind, assertThrows(ExecutionException.class, () -> future.get(10, TimeUnit.SECONDS)).getCause());
    }

    /** How a write was refused: by the call, or, when it was under way, by its future. */
    static RemoteStorageException refusal(Callable<CompletableFuture<Void>> write) {
        Exception thrown = assertThrows(Exception.class, () -> write.call().get(10, TimeUnit.SECONDS));
        return assertInstanceOf(
                RemoteStorageException.class, thrown instanceof ExecutionException ? thrown.getCause() : thrown);
    }

    static void eventually(BooleanSupplier condition) throws InterruptedException {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() > deadline) {
                fail("it has not come true in 20 s");
            }
            Thread.sleep(5);
        }
    }

    List<RemoteLogSegmentState> states(Broker broker) throws RemoteStorageException {
        List<RemoteLogSegmentState> states = new ArrayList<>();
        Iterator<RemoteLogSegmentMetadata> all = broker.manager.segments(ORDERS);
        all.forEachRemaining(each -> states.add(each.state()));
        return states;
    }

    List<guardian.v1.RemoteLogSegmentState> storedStates() {
        return shared.events(ORDERS).stream().map(SegmentEvent::getState).toList();
    }
}

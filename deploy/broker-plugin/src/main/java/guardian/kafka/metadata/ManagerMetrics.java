package guardian.kafka.metadata;

import com.yammer.metrics.core.MetricsRegistry;
import com.yammer.metrics.core.Timer;
import guardian.kafka.common.OwnMetrics;
import guardian.kafka.metadata.segments.PartitionCache;
import guardian.kafka.metadata.store.SegmentEventStore;
import java.util.Collection;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import java.util.function.ToLongFunction;

/**
 * What the manager does, as mbeans {@code guardian.kafka:type=GuardianRemoteLogMetadataManager,name=...} among the
 * broker's own: for JMX and for Guardian's reporter. A second manager in one process leaves the names to the first.
 */
final class ManagerMetrics implements AutoCloseable {
    private static final String TYPE = "GuardianRemoteLogMetadataManager";
    private static final double NANOS_A_SECOND = 1e9;

    private final OwnMetrics own;
    private final Collection<ManagedPartition> partitions;
    private final long openedAtNanos = System.nanoTime();

    ManagerMetrics(
            MetricsRegistry registry,
            Collection<ManagedPartition> partitions,
            SegmentEventStore store,
            ManagerCounters counters) {
        this.own = new OwnMetrics(registry, TYPE);
        this.partitions = partitions;
        count("PartitionsLed", each -> each.role() == ManagedPartition.Role.LEADER);
        count("PartitionsFollowed", each -> each.role() == ManagedPartition.Role.FOLLOWER);
        count("PartitionsFenced", each -> each.role() == ManagedPartition.Role.FENCED);
        count("PartitionsLoaded", each -> each.readableOrNull() != null);
        count("PartitionsNotLoaded", each -> isAssigned(each) && each.readableOrNull() == null);
        count("PartitionsWithoutToken", each -> each.role() == ManagedPartition.Role.LEADER && !each.hasToken());
        sum("Segments", PartitionCache::count);
        sum("CacheBytes", PartitionCache::heapBytes);
        sum("IgnoredEvents", PartitionCache::ignoredEvents);
        gauge("WritesFailed", counters::failedWrites);
        gauge("WritesFenced", counters::fencedWrites);
        gauge("WritesPostponed", counters::postponedWrites);
        gauge("WritesPending", () -> store.status().pending());
        gauge("OrphansFound", counters::orphansFoundTotal);
        gauge("OrphanBytesFound", counters::orphanBytesFoundTotal);
        gauge("OrphansSwept", counters::orphansSweptTotal);
        gauge("OrphanBytesSwept", counters::orphanBytesSweptTotal);
        gauge("CopiesUnderWay", () -> partitions.stream().mapToLong(ManagedPartition::copiesUnderWay).sum());
        seconds("OldestCopySeconds", this::oldestCopyNanos);
        gauge("Reachable", () -> store.status().isReachable() ? 1 : 0);
        gauge("Reconnects", () -> store.status().reconnects());
        gauge("Retries", () -> store.status().retries());
        gauge("Loads", () -> store.status().loads());
        seconds("StalenessSeconds", () -> stalenessNanos(store.status()));
        Timer writes = own.timer("WriteTimeMs");
        counters.setWriteTimer(nanos -> writes.update(nanos, TimeUnit.NANOSECONDS));
    }

    @Override
    public void close() {
        own.close();
    }

    private static boolean isAssigned(ManagedPartition partition) {
        return partition.role() != ManagedPartition.Role.NONE;
    }

    private long oldestCopyNanos() {
        long now = System.nanoTime();
        return partitions.stream()
                .flatMap(each -> each.oldestCopyNanos().stream())
                .mapToLong(startedAt -> now - startedAt)
                .max()
                .orElse(0);
    }

    private long stalenessNanos(SegmentEventStore.Status status) {
        return System.nanoTime() - (status.currentAtNanos() == 0 ? openedAtNanos : status.currentAtNanos());
    }

    private void count(String name, Predicate<ManagedPartition> which) {
        gauge(name, () -> partitions.stream().filter(which).count());
    }

    private void sum(String name, ToLongFunction<PartitionCache> of) {
        gauge(name, () -> partitions.stream()
                .map(ManagedPartition::readableOrNull)
                .filter(Objects::nonNull)
                .mapToLong(of)
                .sum());
    }

    private void seconds(String name, LongSupplier nanos) {
        own.gauge(name, () -> nanos.getAsLong() / NANOS_A_SECOND);
    }

    private void gauge(String name, LongSupplier value) {
        own.gauge(name, value::getAsLong);
    }
}

package guardian.kafka.metadata;

import com.yammer.metrics.core.MetricsRegistry;
import guardian.kafka.metadata.segments.PartitionCache;
import guardian.kafka.metadata.store.GrpcSegmentEventStore;
import guardian.kafka.metadata.store.SegmentEventStore;
import guardian.kafka.metadata.store.StoreSettings;
import guardian.v1.SegmentEvent;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadataUpdate;
import org.apache.kafka.server.log.remote.storage.RemotePartitionDeleteMetadata;
import org.apache.kafka.server.log.remote.storage.RemotePartitionDeleteState;
import org.apache.kafka.server.log.remote.storage.RemoteStorageException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The remote-log metadata of this broker's partitions: look-ups from local caches, writes through Guardian.
 *
 * <pre>
 *   Kafka's threads ── look-ups ──► PartitionCache ◄── events in order ── SegmentEventStore (one thread)
 *                   └─ writes ────► SegmentWriter ──── append, token ──►        │
 *   leadership ─────► claims ─────────────────────────────────────────►         │
 *                     sweeps of orphans ◄── token there and cache current ◄─────┘
 * </pre>
 *
 * <p>Nothing here ends the broker, and only writes wait, for as long as the settings allow. What Guardian does not answer
 * is asked again in the background; look-ups go on from the caches meanwhile.
 */
public final class MetadataManager implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(MetadataManager.class);
    private static final Duration STOPPED_KEPT = Duration.ofMinutes(10);
    private static final long TICK_MS = 1_000;
    private static final long SWEEP_RETRY_MS = 5_000;

    private final Map<TopicIdPartition, ManagedPartition> partitions = new ConcurrentHashMap<>();
    private final ThreadLocal<TopicIdPartition> listedWhole = new ThreadLocal<>();
    private final Background background;
    private final ManagerCounters counters;
    private final long waitNanos;
    private final SegmentEventStore store;
    private final SegmentWriter writer;
    private final PartitionClaims claims;
    private final ManagerMetrics metrics;
    private volatile boolean isClosed;

    MetadataManager(
            ManagerSettings settings,
            Function<SegmentEventStore.Listener, SegmentEventStore> openStore,
            MetricsRegistry registry) {
        background = new Background("guardian-metadata-" + settings.brokerId());
        counters = new ManagerCounters(settings.brokerId());
        waitNanos = settings.waitLimit().toNanos();
        store = openStore.apply(new Events());
        writer = new SegmentWriter(store, settings.waitLimit(), settings.writeLimit(), counters);
        claims = new PartitionClaims(store, background, this::considerSweep);
        metrics = new ManagerMetrics(registry, partitions.values(), store, counters);
        background.repeat(TICK_MS, TimeUnit.MILLISECONDS, this::tick);
    }

    /**
     * Reads the settings and begins; returns at once, whether Guardian answers or not.
     *
     * @throws org.apache.kafka.common.config.ConfigException naming the setting, its value and the fix
     */
    public static MetadataManager open(Map<String, ?> configs, Properties system, MetricsRegistry registry) {
        ManagerSettings settings = ManagerSettings.read(configs, system);
        settings.unknown().forEach(name -> LOG.warn("{} is no setting of Guardian's metadata manager: it is ignored", name));
        StoreSettings storeSettings = settings.store(Writers.next());
        MetadataManager manager = new MetadataManager(
                settings, listener -> new GrpcSegmentEventStore(storeSettings, listener), registry);
        LOG.info("broker {} of cluster {} keeps its remote-log metadata in Guardian at {}, guardian.fence={}",
                settings.brokerId(), settings.clusterId(), String.join(",", settings.endpoints()), settings.fence());
        return manager;
    }

    // Look-ups ------------------------------------------------------------------------------------------------------

    public Optional<RemoteLogSegmentMetadata> segment(TopicIdPartition partition, int epoch, long offset)
            throws RemoteStorageException {
        return cache(partition).segment(epoch, offset);
    }

    public Optional<RemoteLogSegmentMetadata> nextSegmentWithTxnIndex(TopicIdPartition partition, int epoch, long offset)
            throws RemoteStorageException {
        return cache(partition).nextSegmentWithTxnIndex(epoch, offset);
    }

    public Optional<Long> highestOffset(TopicIdPartition partition, int epoch) throws RemoteStorageException {
        return cache(partition).highestOffset(epoch);
    }

    /** Waits for the load, with a limit: Kafka asks for all segments to delete a topic, and does not ask again. */
    public Iterator<RemoteLogSegmentMetadata> segments(TopicIdPartition partition) throws RemoteStorageException {
        managed(partition).awaitLoaded(waitNanos, store);
        Iterator<RemoteLogSegmentMetadata> all = cache(partition).segments();
        listedWhole.set(partition);
        return all;
    }

    /**
     * By start offset; for Kafka's clean-up those first that only wait for their deletion, since it stops at the first
     * segment that it keeps. The clean-up lists the whole partition before, on the same thread; no other caller does
     * (RemoteLogManager of 3.9 to 4.3), and one of them, findLogStartOffset, takes the first one's offset as the log's start.
     */
    public Iterator<RemoteLogSegmentMetadata> segments(TopicIdPartition partition, int epoch)
            throws RemoteStorageException {
        PartitionCache cache = cache(partition);
        return partition.equals(listedWhole.get()) ? cache.segmentsForExpiry(epoch) : cache.segments(epoch);
    }

    public long size(TopicIdPartition partition, int epoch) throws RemoteStorageException {
        return cache(partition).size(epoch);
    }

    public boolean isReady(TopicIdPartition partition) {
        ManagedPartition managed = partitions.get(partition);
        return managed != null && managed.isReady();
    }

    private PartitionCache cache(TopicIdPartition partition) throws RemoteStorageException {
        return managed(partition).readable();
    }

    private ManagedPartition managed(TopicIdPartition partition) throws RemoteStorageException {
        ManagedPartition managed = partitions.get(partition);
        if (managed == null) {
            throw Failures.notAssigned(partition);
        }
        return managed;
    }

    // Writes --------------------------------------------------------------------------------------------------------

    public CompletableFuture<Void> add(RemoteLogSegmentMetadata segment) throws RemoteStorageException {
        ManagedPartition managed = managed(segment.topicIdPartition());
        return counters.counting(() -> writer.add(managed, segment));
    }

    public CompletableFuture<Void> update(RemoteLogSegmentMetadataUpdate update) throws RemoteStorageException {
        ManagedPartition managed = managed(update.topicIdPartition());
        return counters.counting(() -> writer.update(managed, update));
    }

    /** The first steps are kept here only; the last one is Guardian's, and ends reads and writes of the partition. */
    public CompletableFuture<Void> delete(RemotePartitionDeleteMetadata deletion) throws RemoteStorageException {
        ManagedPartition managed = managed(deletion.topicIdPartition());
        managed.requireDeletionStep(deletion.state());
        if (deletion.state() != RemotePartitionDeleteState.DELETE_PARTITION_FINISHED) {
            managed.deletion(deletion.state());
            return CompletableFuture.completedFuture(null);
        }
        SegmentEventStore.Status status = store.status();
        if (!status.isReachable()) {
            throw Failures.raise(Failures.retriable(managed.id() + ": Guardian can't be reached: " + status.lastError()));
        }
        CompletableFuture<Void> deleted = new CompletableFuture<>();
        store.delete(List.of(managed.id())).whenComplete((done, failure) -> {
            if (failure == null) {
                complete(managed.deleted());
                deleted.complete(null);
            } else {
                deleted.completeExceptionally(Failures.ofWrite(managed.id(), failure));
            }
        });
        return deleted;
    }

    // Roles ---------------------------------------------------------------------------------------------------------

    /** Loads what is new here and claims what this broker leads; waits for neither. */
    public synchronized void onLeadershipChanges(Set<TopicIdPartition> leaders, Set<TopicIdPartition> followers) {
        if (isClosed) {
            return;
        }
        List<TopicIdPartition> arrived = new ArrayList<>();
        Map<ManagedPartition, Leadership> wanted = new LinkedHashMap<>();
        for (TopicIdPartition partition : leaders) {
            ManagedPartition managed = assigned(partition, arrived);
            managed.lead().ifPresent(leadership -> wanted.put(managed, leadership));
        }
        for (TopicIdPartition partition : followers) {
            assigned(partition, arrived).followOnly();
        }
        if (!arrived.isEmpty()) {
            store.follow(arrived);
        }
        claims.claim(wanted);
    }

    public synchronized void onStop(Set<TopicIdPartition> stopped) {
        List<TopicIdPartition> known = stopped.stream().filter(partitions::containsKey).toList();
        store.unfollow(known);
        for (TopicIdPartition partition : known) {
            complete(partitions.get(partition).stop(System.nanoTime()));
        }
    }

    private ManagedPartition assigned(TopicIdPartition partition, List<TopicIdPartition> arrived) {
        ManagedPartition managed = partitions.computeIfAbsent(partition, ManagedPartition::new);
        if (managed.role() == ManagedPartition.Role.NONE) {
            arrived.add(partition);
        }
        return managed;
    }

    // Orphans -------------------------------------------------------------------------------------------------------

    private void considerSweep(ManagedPartition managed) {
        managed.sweepable()
                .ifPresent(leadership ->
                        background.schedule(0, TimeUnit.MILLISECONDS, () -> sweep(managed, leadership)));
    }

    private void sweep(ManagedPartition managed, Leadership leadership) {
        List<Copies.Orphan> orphans = managed.takeSweep(leadership);
        writer.giveUp(managed, managed.permitOf(leadership), orphans).whenComplete((done, failure) -> {
            if (failure != null && managed.sweepAgain(leadership)) {
                background.schedule(SWEEP_RETRY_MS, TimeUnit.MILLISECONDS, () -> sweep(managed, leadership));
            }
        });
    }

    // In the background -----------------------------------------------------------------------------------------------

    private void tick() {
        long now = System.nanoTime();
        for (ManagedPartition managed : partitions.values()) {
            managed.takeOverdue(now).forEach(write -> write.completeExceptionally(Failures.retriable(managed.id()
                    + ": Guardian has stored the event, but it has not come back in time: the broker's view may be old")));
        }
        forget(now - STOPPED_KEPT.toNanos());
    }

    private synchronized void forget(long stoppedBeforeNanos) {
        partitions.values().removeIf(managed -> managed.isForgettable(stoppedBeforeNanos));
    }

    private static void complete(List<CompletableFuture<Void>> writes) {
        writes.forEach(write -> write.complete(null));
    }

    /** Ends all threads; what is pending fails. */
    @Override
    public void close() {
        if (isClosed) {
            return;
        }
        isClosed = true;
        metrics.close();
        partitions.values().forEach(ManagedPartition::close);
        store.close();
        background.close();
        for (ManagedPartition managed : partitions.values()) {
            complete(managed.stop(System.nanoTime()));
        }
    }

    /** What Guardian has stored, into the caches. On the store's thread. */
    private final class Events implements SegmentEventStore.Listener {
        @Override
        public void onLoaded(
                TopicIdPartition partition,
                List<SegmentEvent> live,
                Map<Integer, Long> goneHighestOffsets,
                long nextEventId) {
            ManagedPartition managed = partitions.get(partition);
            if (managed != null) {
                List<Copies.Orphan> swept = new ArrayList<>();
                complete(managed.loaded(live, goneHighestOffsets, nextEventId, swept));
                seen(managed, swept);
            }
        }

        @Override
        public void onEvents(TopicIdPartition partition, long firstEventId, List<SegmentEvent> events) {
            ManagedPartition managed = partitions.get(partition);
            if (managed != null) {
                List<Copies.Orphan> swept = new ArrayList<>();
                complete(managed.apply(firstEventId, events, swept));
                seen(managed, swept);
            }
        }

        @Override
        public void onDeleted(TopicIdPartition partition) {
            ManagedPartition managed = partitions.get(partition);
            if (managed != null) {
                complete(managed.deleted());
            }
        }

        private void seen(ManagedPartition managed, List<Copies.Orphan> swept) {
            swept.forEach(orphan -> counters.orphanSwept(orphan.bytes()));
            considerSweep(managed);
        }
    }
}

package org.apache.kafka.server.log.remote.metadata.storage;

import guardian.kafka.suites.ManagerUnderTest;
import java.io.IOException;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.server.log.remote.storage.RemoteLogMetadataManager;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentId;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadataUpdate;
import org.apache.kafka.server.log.remote.storage.RemotePartitionDeleteMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteStorageException;
import org.apache.kafka.test.TestUtils;

/**
 * Kafka's tests ask for the class TopicBasedRemoteLogMetadataManager: this is one, and every call goes to the manager
 * under test. Every answer is that manager's; no look-up is ever answered from the store that the test brings along.
 *
 * <p>Two things of the tests have no call of their own, and are played here:
 * <ul>
 *   <li>They watch the topic-based manager's store, which is told of every event that the manager has taken in. So it is
 *       told when the manager's future says so, and, for what was there before, when the manager lists it.
 *   <li>They add segments to partitions that this broker does not host yet: with one topic for all anybody may. Here
 *       another broker does it, which leads the partition: a second manager, that is replaced when the first takes over.
 * </ul>
 */
final class ManagerBridge extends TopicBasedRemoteLogMetadataManager {
    private static final int OTHER_BROKER = 1;
    private static final long LOAD_DEADLINE_MS = 30_000L;

    private final RemotePartitionMetadataStore watched;
    private final RemoteLogMetadataManager manager = ManagerUnderTest.create();
    private final Set<TopicIdPartition> hosted = ConcurrentHashMap.newKeySet();
    private final Map<RemoteLogSegmentId, RemoteLogSegmentMetadata> addedByOther = new ConcurrentHashMap<>();
    private final Set<TopicIdPartition> ledByOther = new HashSet<>();
    private final ExecutorService waiting = Executors.newSingleThreadExecutor(task -> new Thread(task, "bridge-waits"));
    private Map<String, Object> configs;
    private RemoteLogMetadataManager other;

    ManagerBridge(RemotePartitionMetadataStore watched) {
        this.watched = watched;
    }

    /** As with the topic-based manager, only the first call counts: one of the tests repeats it with nothing. */
    @Override
    public synchronized void configure(Map<String, ?> configs) {
        if (this.configs == null) {
            this.configs = new HashMap<>(configs);
            manager.configure(configs);
        }
    }

    @Override
    public void onBrokerReady() {
        // Nothing waits for the broker: Guardian is elsewhere.
    }

    @Override
    boolean isInitialized() {
        return true;
    }

    @Override
    public CompletableFuture<Void> addRemoteLogSegmentMetadata(RemoteLogSegmentMetadata segment)
            throws RemoteStorageException {
        if (!hosted.contains(segment.topicIdPartition())) {
            return addByOther(segment);
        }
        return manager.addRemoteLogSegmentMetadata(segment)
            .thenRun(() -> watched.handleRemoteLogSegmentMetadata(segment));
    }

    @Override
    public CompletableFuture<Void> updateRemoteLogSegmentMetadata(RemoteLogSegmentMetadataUpdate update)
            throws RemoteStorageException {
        return manager.updateRemoteLogSegmentMetadata(update)
            .thenRun(() -> watched.handleRemoteLogSegmentMetadataUpdate(update));
    }

    @Override
    public CompletableFuture<Void> putRemotePartitionDeleteMetadata(RemotePartitionDeleteMetadata metadata)
            throws RemoteStorageException {
        return manager.putRemotePartitionDeleteMetadata(metadata)
            .thenRun(() -> watched.handleRemotePartitionDeleteMetadata(metadata));
    }

    @Override
    public Optional<RemoteLogSegmentMetadata> remoteLogSegmentMetadata(TopicIdPartition partition, int epoch, long offset)
            throws RemoteStorageException {
        return manager.remoteLogSegmentMetadata(partition, epoch, offset);
    }

    @Override
    public Optional<Long> highestOffsetForEpoch(TopicIdPartition partition, int epoch) throws RemoteStorageException {
        return manager.highestOffsetForEpoch(partition, epoch);
    }

    @Override
    public Iterator<RemoteLogSegmentMetadata> listRemoteLogSegments(TopicIdPartition partition)
            throws RemoteStorageException {
        return manager.listRemoteLogSegments(partition);
    }

    @Override
    public Iterator<RemoteLogSegmentMetadata> listRemoteLogSegments(TopicIdPartition partition, int epoch)
            throws RemoteStorageException {
        return manager.listRemoteLogSegments(partition, epoch);
    }

    @Override
    public Optional<RemoteLogSegmentMetadata> nextSegmentWithTxnIndex(TopicIdPartition partition, int epoch, long offset)
            throws RemoteStorageException {
        return manager.nextSegmentWithTxnIndex(partition, epoch, offset);
    }

    @Override
    public long remoteLogSize(TopicIdPartition partition, int epoch) throws RemoteStorageException {
        return manager.remoteLogSize(partition, epoch);
    }

    @Override
    public boolean isReady(TopicIdPartition partition) {
        return manager.isReady(partition);
    }

    @Override
    public void onPartitionLeadershipChanges(Set<TopicIdPartition> leaders, Set<TopicIdPartition> followers) {
        Set<TopicIdPartition> partitions = new HashSet<>(leaders);
        partitions.addAll(followers);
        partitions.forEach(watched::maybeLoadPartition);
        hosted.addAll(partitions);
        manager.onPartitionLeadershipChanges(leaders, followers);
        partitions.forEach(partition -> waiting.submit(() -> tellWhenLoaded(partition)));
    }

    @Override
    public void onStopPartitions(Set<TopicIdPartition> partitions) {
        manager.onStopPartitions(partitions);
        hosted.removeAll(partitions);
        partitions.forEach(watched::clearTopicPartition);
    }

    @Override
    public void close() throws IOException {
        waiting.shutdownNow();
        try {
            waiting.awaitTermination(LOAD_DEADLINE_MS, TimeUnit.MILLISECONDS);
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
        }
        manager.close();
        synchronized (this) {
            if (other != null) {
                other.close();
            }
        }
    }

    private Void tellWhenLoaded(TopicIdPartition partition) throws InterruptedException, RemoteStorageException {
        TestUtils.waitForCondition(() -> manager.isReady(partition), LOAD_DEADLINE_MS, partition + " is not ready");
        manager.listRemoteLogSegments(partition).forEachRemaining(segment -> {
            RemoteLogSegmentMetadata added = addedByOther.remove(segment.remoteLogSegmentId());
            if (added != null) {
                watched.handleRemoteLogSegmentMetadata(added);
            }
        });
        watched.markInitialized(partition);
        return null;
    }

    /** It is stored, but the answer is an error, as the topic-based manager's: this broker does not see it. */
    private synchronized CompletableFuture<Void> addByOther(RemoteLogSegmentMetadata segment)
            throws RemoteStorageException {
        TopicIdPartition partition = segment.topicIdPartition();
        if (other == null) {
            Map<String, Object> otherConfigs = new HashMap<>(configs);
            otherConfigs.put("broker.id", OTHER_BROKER);
            other = ManagerUnderTest.create();
            other.configure(otherConfigs);
        }
        if (ledByOther.add(partition)) {
            other.onPartitionLeadershipChanges(Set.of(partition), Set.of());
        }
        other.addRemoteLogSegmentMetadata(segment).join();
        addedByOther.put(segment.remoteLogSegmentId(), segment);
        return CompletableFuture.failedFuture(
            new IllegalStateException(partition + " is not hosted by this broker yet: another one has added " + segment));
    }
}

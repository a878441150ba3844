package guardian.kafka;

import guardian.kafka.metadata.MetadataManager;
import java.util.Iterator;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.server.log.remote.storage.RemoteLogMetadataManager;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadataUpdate;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentState;
import org.apache.kafka.server.log.remote.storage.RemotePartitionDeleteMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteStorageException;
import org.apache.kafka.server.metrics.KafkaYammerMetrics;

/**
 * Keeps a broker's remote-log metadata in Guardian instead of a topic.
 *
 * <p>Set {@code remote.log.metadata.manager.class.name} to this class and {@code rlmm.config.guardian.endpoints} to
 * Guardian's members. All look-ups are local; before a partition is loaded they throw what Kafka retries, and never say
 * that there is nothing. deploy/broker-plugin/README.md has the settings, the metrics, and what happens in an outage.
 */
public final class GuardianRemoteLogMetadataManager implements RemoteLogMetadataManager {
    private volatile MetadataManager manager;

    /** The first configuration counts. */
    @Override
    public synchronized void configure(Map<String, ?> configs) {
        Objects.requireNonNull(configs, "configs can not be null");
        if (manager == null) {
            manager = MetadataManager.open(configs, System.getProperties(), KafkaYammerMetrics.defaultRegistry());
        }
    }

    @Override
    public CompletableFuture<Void> addRemoteLogSegmentMetadata(RemoteLogSegmentMetadata segment)
            throws RemoteStorageException {
        Objects.requireNonNull(segment, "remoteLogSegmentMetadata can not be null");
        if (segment.state() != RemoteLogSegmentState.COPY_SEGMENT_STARTED) {
            throw new IllegalArgumentException("remoteLogSegmentMetadata has the state " + segment.state()
                    + ": a segment is added in state " + RemoteLogSegmentState.COPY_SEGMENT_STARTED);
        }
        return manager().add(segment);
    }

    @Override
    public CompletableFuture<Void> updateRemoteLogSegmentMetadata(RemoteLogSegmentMetadataUpdate update)
            throws RemoteStorageException {
        Objects.requireNonNull(update, "remoteLogSegmentMetadataUpdate can not be null");
        if (update.state() == RemoteLogSegmentState.COPY_SEGMENT_STARTED) {
            throw new IllegalArgumentException("remoteLogSegmentMetadataUpdate has the state " + update.state()
                    + ": use addRemoteLogSegmentMetadata for it");
        }
        return manager().update(update);
    }

    @Override
    public Optional<RemoteLogSegmentMetadata> remoteLogSegmentMetadata(
            TopicIdPartition topicIdPartition, int epochForOffset, long offset) throws RemoteStorageException {
        return manager().segment(named(topicIdPartition), epochForOffset, offset);
    }

    /** Not in 3.9. */
    @Override
    public Optional<RemoteLogSegmentMetadata> nextSegmentWithTxnIndex(
            TopicIdPartition topicIdPartition, int epoch, long offset) throws RemoteStorageException {
        return manager().nextSegmentWithTxnIndex(named(topicIdPartition), epoch, offset);
    }

    @Override
    public Optional<Long> highestOffsetForEpoch(TopicIdPartition topicIdPartition, int leaderEpoch)
            throws RemoteStorageException {
        return manager().highestOffset(named(topicIdPartition), leaderEpoch);
    }

    @Override
    public CompletableFuture<Void> putRemotePartitionDeleteMetadata(RemotePartitionDeleteMetadata deletion)
            throws RemoteStorageException {
        Objects.requireNonNull(deletion, "remotePartitionDeleteMetadata can not be null");
        return manager().delete(deletion);
    }

    @Override
    public Iterator<RemoteLogSegmentMetadata> listRemoteLogSegments(TopicIdPartition topicIdPartition)
            throws RemoteStorageException {
        return manager().segments(named(topicIdPartition));
    }

    @Override
    public Iterator<RemoteLogSegmentMetadata> listRemoteLogSegments(TopicIdPartition topicIdPartition, int leaderEpoch)
            throws RemoteStorageException {
        return manager().segments(named(topicIdPartition), leaderEpoch);
    }

    @Override
    public void onPartitionLeadershipChanges(
            Set<TopicIdPartition> leaderPartitions, Set<TopicIdPartition> followerPartitions) {
        Objects.requireNonNull(leaderPartitions, "leaderPartitions can not be null");
        Objects.requireNonNull(followerPartitions, "followerPartitions can not be null");
        manager().onLeadershipChanges(leaderPartitions, followerPartitions);
    }

    @Override
    public void onStopPartitions(Set<TopicIdPartition> partitions) {
        Objects.requireNonNull(partitions, "partitions can not be null");
        manager().onStop(partitions);
    }

    @Override
    public long remoteLogSize(TopicIdPartition topicIdPartition, int leaderEpoch) throws RemoteStorageException {
        return manager().size(named(topicIdPartition), leaderEpoch);
    }

    /** A 3.9 broker does not ask: it learns the same from the exceptions of look-ups. */
    @Override
    public boolean isReady(TopicIdPartition topicIdPartition) {
        return manager().isReady(named(topicIdPartition));
    }

    @Override
    public synchronized void close() {
        if (manager != null) {
            manager.close();
        }
    }

    private static TopicIdPartition named(TopicIdPartition topicIdPartition) {
        return Objects.requireNonNull(topicIdPartition, "topicIdPartition can not be null");
    }

    private MetadataManager manager() {
        MetadataManager configured = manager;
        if (configured == null) {
            throw new IllegalStateException("Guardian's metadata manager is not configured: call configure() first");
        }
        return configured;
    }
}

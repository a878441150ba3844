package guardian.kafka.metadata.store;

import guardian.kafka.metadata.segments.SegmentEvents;
import guardian.v1.TopicIdPartition;
import org.apache.kafka.common.Uuid;

/** Partitions on the wire, and back: there they have their cluster's name besides, and not their topic's. */
final class PartitionNames {
    private static final int UUID_BYTES = 16;

    private final String clusterId;

    /** What tells a partition from all others of its cluster. */
    record Key(Uuid topicId, int partition) {
        static Key of(org.apache.kafka.common.TopicIdPartition partition) {
            return new Key(partition.topicId(), partition.partition());
        }

        /** The zero topic id, which no partition has, for a name that is none. */
        static Key of(TopicIdPartition name) {
            boolean isName = name.getTopicId().size() == UUID_BYTES;
            return new Key(isName ? SegmentEvents.uuid(name.getTopicId()) : Uuid.ZERO_UUID, name.getPartition());
        }
    }

    PartitionNames(String clusterId) {
        this.clusterId = clusterId;
    }

    TopicIdPartition name(org.apache.kafka.common.TopicIdPartition partition) {
        return name(Key.of(partition));
    }

    TopicIdPartition name(Key key) {
        return TopicIdPartition.newBuilder()
                .setClusterId(clusterId)
                .setTopicId(SegmentEvents.bytes(key.topicId()))
                .setPartition(key.partition())
                .build();
    }
}

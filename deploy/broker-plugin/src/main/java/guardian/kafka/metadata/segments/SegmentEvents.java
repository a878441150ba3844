package guardian.kafka.metadata.segments;

import com.google.protobuf.ByteString;
import guardian.v1.SegmentEvent;
import java.nio.ByteBuffer;
import java.util.Optional;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentId;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata.CustomMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadataUpdate;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentState;

/**
 * Kafka's words for a segment and Guardian's, each from the other. Nothing gets lost but two things that Guardian has
 * no word for: custom metadata of no bytes is none, and a segment is never larger than an int.
 */
public final class SegmentEvents {
    private static final int UUID_BYTES = 16;

    private SegmentEvents() {}

    /** All that is known of a segment: its first event when its state is COPY_SEGMENT_STARTED. */
    public static SegmentEvent of(RemoteLogSegmentMetadata metadata) {
        return SegmentEvent.newBuilder()
                .setSegmentId(bytes(metadata.remoteLogSegmentId().id()))
                .setState(state(metadata.state()))
                .setBrokerId(metadata.brokerId())
                .setEventTimestampMs(metadata.eventTimestampMs())
                .setStartOffset(metadata.startOffset())
                .setEndOffset(metadata.endOffset())
                .setMaxTimestampMs(metadata.maxTimestampMs())
                .setSegmentSizeBytes(metadata.segmentSizeInBytes())
                .putAllSegmentLeaderEpochs(metadata.segmentLeaderEpochs())
                .setCustomMetadata(bytes(metadata.customMetadata()))
                .setTxnIndexEmpty(KafkaSegmentApi.isTxnIndexEmpty(metadata))
                .build();
    }

    public static SegmentEvent of(RemoteLogSegmentMetadataUpdate update) {
        return SegmentEvent.newBuilder()
                .setSegmentId(bytes(update.remoteLogSegmentId().id()))
                .setState(state(update.state()))
                .setBrokerId(update.brokerId())
                .setEventTimestampMs(update.eventTimestampMs())
                .setCustomMetadata(bytes(update.customMetadata()))
                .build();
    }

    /** Of an event that tells everything. Throws IllegalArgumentException when no segment can be as it says. */
    static RemoteLogSegmentMetadata metadata(TopicIdPartition partition, SegmentEvent event) {
        return KafkaSegmentApi.metadata(
                segmentId(partition, event),
                event.getStartOffset(),
                event.getEndOffset(),
                event.getMaxTimestampMs(),
                event.getBrokerId(),
                event.getEventTimestampMs(),
                size(event),
                customMetadata(event),
                state(event.getState()),
                event.getSegmentLeaderEpochsMap(),
                event.getTxnIndexEmpty());
    }

    /** Throws IllegalArgumentException when the segment id or the state is none. */
    static RemoteLogSegmentMetadataUpdate update(TopicIdPartition partition, SegmentEvent event) {
        return new RemoteLogSegmentMetadataUpdate(
                segmentId(partition, event),
                event.getEventTimestampMs(),
                customMetadata(event),
                state(event.getState()),
                event.getBrokerId());
    }

    public static ByteString bytes(Uuid id) {
        ByteBuffer buffer = ByteBuffer.allocate(UUID_BYTES)
                .putLong(id.getMostSignificantBits())
                .putLong(id.getLeastSignificantBits());
        return ByteString.copyFrom(buffer.flip());
    }

    /** Throws IllegalArgumentException unless there are 16 bytes. */
    public static Uuid uuid(ByteString bytes) {
        if (bytes.size() != UUID_BYTES) {
            throw new IllegalArgumentException(
                    "a uuid has " + bytes.size() + " bytes: use the " + UUID_BYTES + " of Kafka's Uuid");
        }
        ByteBuffer buffer = bytes.asReadOnlyByteBuffer();
        return new Uuid(buffer.getLong(), buffer.getLong());
    }

    /** Throws IllegalArgumentException when Kafka has no such state. */
    static RemoteLogSegmentState state(guardian.v1.RemoteLogSegmentState state) {
        return switch (state) {
            case COPY_SEGMENT_STARTED -> RemoteLogSegmentState.COPY_SEGMENT_STARTED;
            case COPY_SEGMENT_FINISHED -> RemoteLogSegmentState.COPY_SEGMENT_FINISHED;
            case DELETE_SEGMENT_STARTED -> RemoteLogSegmentState.DELETE_SEGMENT_STARTED;
            case DELETE_SEGMENT_FINISHED -> RemoteLogSegmentState.DELETE_SEGMENT_FINISHED;
            case REMOTE_LOG_SEGMENT_STATE_UNSPECIFIED, UNRECOGNIZED -> throw new IllegalArgumentException(
                    "state is " + state + ": use one that Kafka knows");
        };
    }

    static guardian.v1.RemoteLogSegmentState state(RemoteLogSegmentState state) {
        return switch (state) {
            case COPY_SEGMENT_STARTED -> guardian.v1.RemoteLogSegmentState.COPY_SEGMENT_STARTED;
            case COPY_SEGMENT_FINISHED -> guardian.v1.RemoteLogSegmentState.COPY_SEGMENT_FINISHED;
            case DELETE_SEGMENT_STARTED -> guardian.v1.RemoteLogSegmentState.DELETE_SEGMENT_STARTED;
            case DELETE_SEGMENT_FINISHED -> guardian.v1.RemoteLogSegmentState.DELETE_SEGMENT_FINISHED;
        };
    }

    private static RemoteLogSegmentId segmentId(TopicIdPartition partition, SegmentEvent event) {
        return new RemoteLogSegmentId(partition, uuid(event.getSegmentId()));
    }

    private static int size(SegmentEvent event) {
        long size = event.getSegmentSizeBytes();
        if (size < 0 || size > Integer.MAX_VALUE) {
            throw new IllegalArgumentException(
                    "segment_size_bytes is " + size + ": use 0 to " + Integer.MAX_VALUE + ", as Kafka does");
        }
        return (int) size;
    }

    private static ByteString bytes(Optional<CustomMetadata> customMetadata) {
        return customMetadata.map(CustomMetadata::value).map(ByteString::copyFrom).orElse(ByteString.EMPTY);
    }

    private static Optional<CustomMetadata> customMetadata(SegmentEvent event) {
        ByteString bytes = event.getCustomMetadata();
        return bytes.isEmpty() ? Optional.empty() : Optional.of(new CustomMetadata(bytes.toByteArray()));
    }
}

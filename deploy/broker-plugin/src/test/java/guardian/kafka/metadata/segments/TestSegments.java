package guardian.kafka.metadata.segments;

import com.google.protobuf.ByteString;
import guardian.v1.RemoteLogSegmentState;
import guardian.v1.SegmentEvent;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;

/** Events as the store sends them. */
public final class TestSegments {
    static final TopicIdPartition PARTITION = new TopicIdPartition(new Uuid(7, 8), 3, "orders");

    private TestSegments() {}

    static Uuid id(long number) {
        return new Uuid(0, number);
    }

    /** The first event of a segment with these offsets and leader epochs. */
    public static SegmentEvent started(long id, long startOffset, long endOffset, Map<Integer, Long> epochs) {
        return SegmentEvent.newBuilder()
                .setSegmentId(SegmentEvents.bytes(id(id)))
                .setState(RemoteLogSegmentState.COPY_SEGMENT_STARTED)
                .setBrokerId(1)
                .setEventTimestampMs(1_000 + id)
                .setStartOffset(startOffset)
                .setEndOffset(endOffset)
                .setMaxTimestampMs(500 + id)
                .setSegmentSizeBytes(10 + id)
                .putAllSegmentLeaderEpochs(epochs)
                .build();
    }

    static SegmentEvent finished(long id) {
        return later(id, RemoteLogSegmentState.COPY_SEGMENT_FINISHED);
    }

    static SegmentEvent deleteStarted(long id) {
        return later(id, RemoteLogSegmentState.DELETE_SEGMENT_STARTED);
    }

    static SegmentEvent deleteFinished(long id) {
        return later(id, RemoteLogSegmentState.DELETE_SEGMENT_FINISHED);
    }

    static SegmentEvent later(long id, RemoteLogSegmentState state) {
        return SegmentEvent.newBuilder()
                .setSegmentId(SegmentEvents.bytes(id(id)))
                .setState(state)
                .setBrokerId(2)
                .setEventTimestampMs(10_000 + id)
                .build();
    }

    static SegmentEvent withCustomMetadata(SegmentEvent event, String customMetadata) {
        return event.toBuilder()
                .setCustomMetadata(ByteString.copyFromUtf8(customMetadata))
                .build();
    }

    static long number(RemoteLogSegmentMetadata metadata) {
        return metadata.remoteLogSegmentId().id().getLeastSignificantBits();
    }

    static List<Long> numbers(Iterator<RemoteLogSegmentMetadata> segments) {
        List<Long> numbers = new ArrayList<>();
        segments.forEachRemaining(segment -> numbers.add(number(segment)));
        return numbers;
    }
}

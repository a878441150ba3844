package guardian.kafka.metadata.segments;

import guardian.v1.SegmentEvent;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentId;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata.CustomMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentState;

/**
 * A segment as one array of bytes: some 100 bytes of heap, where Kafka's own cache takes 700 for its objects and maps.
 *
 * <pre>
 * id 16 | start offset 8 | end offset 8 | max timestamp 8 | event timestamp 8 | size 4 | broker 4 | flags 1
 *       | number of epochs 2 | (leader epoch 4, its start offset 8) in order of epochs ... | custom metadata
 * </pre>
 *
 * An array is never changed once it is published, so whoever has one may read it without a lock.
 */
final class PackedSegment {
    private static final VarHandle LONG =
            MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
    private static final VarHandle INT = MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);
    private static final VarHandle CHAR = MethodHandles.byteArrayViewVarHandle(char[].class, ByteOrder.LITTLE_ENDIAN);

    private static final int ID_HIGH = 0;
    private static final int ID_LOW = 8;
    private static final int START_OFFSET = 16;
    private static final int END_OFFSET = 24;
    private static final int MAX_TIMESTAMP = 32;
    private static final int EVENT_TIMESTAMP = 40;
    private static final int SIZE = 48;
    private static final int BROKER = 52;
    private static final int FLAGS = 56;
    private static final int EPOCH_COUNT = 57;
    private static final int EPOCHS = 59;
    private static final int EPOCH_BYTES = 12;

    private static final int ARRAY_HEADER_BYTES = 16;
    private static final int STATE_BITS = 0x3;
    private static final int TXN_INDEX_EMPTY = 0x4;
    private static final RemoteLogSegmentState[] STATES = {
        RemoteLogSegmentState.COPY_SEGMENT_STARTED,
        RemoteLogSegmentState.COPY_SEGMENT_FINISHED,
        RemoteLogSegmentState.DELETE_SEGMENT_STARTED,
        RemoteLogSegmentState.DELETE_SEGMENT_FINISHED
    };

    private PackedSegment() {}

    /** Of an event that tells everything. Throws IllegalArgumentException when no segment can be as it says. */
    static byte[] of(TopicIdPartition partition, SegmentEvent event) {
        RemoteLogSegmentMetadata metadata = SegmentEvents.metadata(partition, event);
        Map<Integer, Long> epochs = metadata.segmentLeaderEpochs();
        if (epochs.size() > Character.MAX_VALUE) {
            throw new IllegalArgumentException("segment_leader_epochs has " + epochs.size() + " epochs: use at most "
                    + (int) Character.MAX_VALUE);
        }
        int customAt = EPOCHS + epochs.size() * EPOCH_BYTES;
        byte[] segment = new byte[customAt + event.getCustomMetadata().size()];
        Uuid id = metadata.remoteLogSegmentId().id();
        LONG.set(segment, ID_HIGH, id.getMostSignificantBits());
        LONG.set(segment, ID_LOW, id.getLeastSignificantBits());
        LONG.set(segment, START_OFFSET, metadata.startOffset());
        LONG.set(segment, END_OFFSET, metadata.endOffset());
        LONG.set(segment, MAX_TIMESTAMP, metadata.maxTimestampMs());
        LONG.set(segment, EVENT_TIMESTAMP, metadata.eventTimestampMs());
        INT.set(segment, SIZE, metadata.segmentSizeInBytes());
        INT.set(segment, BROKER, metadata.brokerId());
        segment[FLAGS] = (byte) (metadata.state().id() | (event.getTxnIndexEmpty() ? TXN_INDEX_EMPTY : 0));
        CHAR.set(segment, EPOCH_COUNT, (char) epochs.size());
        int at = EPOCHS;
        for (Map.Entry<Integer, Long> epoch : epochs.entrySet()) {
            INT.set(segment, at, (int) epoch.getKey());
            LONG.set(segment, at + Integer.BYTES, (long) epoch.getValue());
            at += EPOCH_BYTES;
        }
        event.getCustomMetadata().copyTo(segment, customAt);
        return segment;
    }

    /** A new segment, as a later event leaves this one. */
    static byte[] advanced(byte[] segment, RemoteLogSegmentState state, SegmentEvent event) {
        int customAt = EPOCHS + epochCount(segment) * EPOCH_BYTES;
        boolean isCustomKept = event.getCustomMetadata().isEmpty();
        byte[] advanced =
                Arrays.copyOf(segment, isCustomKept ? segment.length : customAt + event.getCustomMetadata().size());
        if (!isCustomKept) {
            event.getCustomMetadata().copyTo(advanced, customAt);
        }
        LONG.set(advanced, EVENT_TIMESTAMP, event.getEventTimestampMs());
        INT.set(advanced, BROKER, event.getBrokerId());
        advanced[FLAGS] = (byte) (segment[FLAGS] & ~STATE_BITS | state.id());
        return advanced;
    }

    static RemoteLogSegmentMetadata metadata(TopicIdPartition partition, byte[] segment) {
        return KafkaSegmentApi.metadata(
                new RemoteLogSegmentId(partition, new Uuid(idHigh(segment), idLow(segment))),
                startOffset(segment),
                endOffset(segment),
                (long) LONG.get(segment, MAX_TIMESTAMP),
                (int) INT.get(segment, BROKER),
                eventTimestamp(segment),
                size(segment),
                customMetadata(segment),
                state(segment),
                new PackedEpochs(segment),
                isTxnIndexEmpty(segment));
    }

    static long idHigh(byte[] segment) {
        return (long) LONG.get(segment, ID_HIGH);
    }

    static long idLow(byte[] segment) {
        return (long) LONG.get(segment, ID_LOW);
    }

    /** Any total order. */
    static int compareIds(byte[] one, byte[] other) {
        int high = Long.compare(idHigh(one), idHigh(other));
        return high != 0 ? high : Long.compare(idLow(one), idLow(other));
    }

    static long startOffset(byte[] segment) {
        return (long) LONG.get(segment, START_OFFSET);
    }

    static long endOffset(byte[] segment) {
        return (long) LONG.get(segment, END_OFFSET);
    }

    static long eventTimestamp(byte[] segment) {
        return (long) LONG.get(segment, EVENT_TIMESTAMP);
    }

    static int size(byte[] segment) {
        return (int) INT.get(segment, SIZE);
    }

    static RemoteLogSegmentState state(byte[] segment) {
        return STATES[segment[FLAGS] & STATE_BITS];
    }

    static boolean isTxnIndexEmpty(byte[] segment) {
        return (segment[FLAGS] & TXN_INDEX_EMPTY) != 0;
    }

    static int epochCount(byte[] segment) {
        return (char) CHAR.get(segment, EPOCH_COUNT);
    }

    /** Of the array itself, as HotSpot lays it out. */
    static int heapBytes(byte[] segment) {
        return ARRAY_HEADER_BYTES + segment.length + 7 & ~7;
    }

    /** In ascending order. */
    static int epoch(byte[] segment, int position) {
        return (int) INT.get(segment, EPOCHS + position * EPOCH_BYTES);
    }

    /** The first offset of an epoch that the segment has. */
    static long startIn(byte[] segment, int epoch) {
        return epochStart(segment, positionOf(segment, epoch));
    }

    /**
     * The last offset of an epoch that the segment has; the one before its first if the epoch has no records. Never
     * beyond the segment, whatever its epochs say.
     */
    static long endIn(byte[] segment, int epoch) {
        int next = positionOf(segment, epoch) + 1;
        long end = endOffset(segment);
        return next < epochCount(segment) ? Math.min(epochStart(segment, next) - 1, end) : end;
    }

    private static int positionOf(byte[] segment, int epoch) {
        int position = 0;
        while (epoch(segment, position) != epoch) {
            position++;
        }
        return position;
    }

    /** Where the epoch at this position starts in the segment. */
    static long epochStart(byte[] segment, int position) {
        return (long) LONG.get(segment, EPOCHS + position * EPOCH_BYTES + Integer.BYTES);
    }

    private static Optional<CustomMetadata> customMetadata(byte[] segment) {
        int customAt = EPOCHS + epochCount(segment) * EPOCH_BYTES;
        return customAt == segment.length
                ? Optional.empty()
                : Optional.of(new CustomMetadata(Arrays.copyOfRange(segment, customAt, segment.length)));
    }
}

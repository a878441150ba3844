package guardian.kafka.metadata.segments;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Consumer;

/**
 * All that look-ups of one partition need, of one moment; never changed. A segment is in the index of each of its
 * epochs.
 */
final class EpochIndexes {
    private static final int PARTITION_HEAP_BYTES = 200;
    private static final int EPOCH_HEAP_BYTES = 130;
    private static final int ENTRY_HEAP_BYTES = 13; // a key and a reference in arrays that are nearly full
    private static final int TABLE_HEAP_BYTES = 8; // a reference in a table that is half full

    private final int[] epochs; // in ascending order; beside the indexes, so that a search touches one array
    private final EpochIndex[] indexes;
    private final int count;
    private final long segmentHeapBytes;

    private EpochIndexes(int[] epochs, EpochIndex[] indexes, int count, long segmentHeapBytes) {
        this.epochs = epochs;
        this.indexes = indexes;
        this.count = count;
        this.segmentHeapBytes = segmentHeapBytes;
    }

    /** Of these segments, whatever else the highest offsets of finished copies were. */
    static EpochIndexes of(List<byte[]> segments, Map<Integer, Long> highestOffsets) {
        Draft draft = new Draft(new EpochIndexes(new int[0], new EpochIndex[0], 0, 0));
        new TreeMap<>(highestOffsets).forEach(draft::putHighestOffset);
        segments.forEach(segment -> draft.replace(null, segment));
        return draft.finish();
    }

    /** With `now` in place of `before`, either null when there is none; both are states of one segment. */
    EpochIndexes replaced(byte[] before, byte[] now) {
        Draft draft = new Draft(this);
        draft.replace(before, now);
        return draft.finish();
    }

    /** How many segments there are. */
    int count() {
        return count;
    }

    /** Of the whole cache, estimated. */
    long heapBytes() {
        return PARTITION_HEAP_BYTES + (long) epochs.length * EPOCH_HEAP_BYTES + segmentHeapBytes;
    }

    /** An empty index for an epoch that nothing is known of. */
    EpochIndex get(int epoch) {
        int at = Arrays.binarySearch(epochs, epoch);
        return at >= 0 ? indexes[at] : EpochIndex.empty(epoch, EpochIndex.NONE);
    }

    /** Each segment once. */
    void forEach(Consumer<byte[]> action) {
        for (EpochIndex index : indexes) {
            index.forEach(segment -> {
                if (PackedSegment.epoch(segment, 0) == index.epoch()) {
                    action.accept(segment);
                }
            });
        }
    }

    /** The next moment's, as long as it is being made; of one use. */
    private static final class Draft {
        private int[] epochs;
        private EpochIndex[] indexes;
        private int count;
        private long segmentHeapBytes;

        Draft(EpochIndexes last) {
            epochs = last.epochs;
            indexes = last.indexes.clone();
            count = last.count;
            segmentHeapBytes = last.segmentHeapBytes;
        }

        void putHighestOffset(int epoch, long offset) {
            int at = positionOf(epoch);
            indexes[at] = EpochIndex.empty(epoch, offset);
        }

        void replace(byte[] before, byte[] now) {
            byte[] either = before != null ? before : now;
            for (int number = 0; number < PackedSegment.epochCount(either); number++) {
                int at = positionOf(PackedSegment.epoch(either, number));
                EpochIndex rest = before != null ? indexes[at].without(before) : indexes[at];
                indexes[at] = now != null ? rest.with(now) : rest;
            }
            if (before != null) {
                count--;
                segmentHeapBytes -= heapBytes(before);
            }
            if (now != null) {
                count++;
                segmentHeapBytes += heapBytes(now);
            }
        }

        EpochIndexes finish() {
            return new EpochIndexes(epochs, indexes, count, segmentHeapBytes);
        }

        /** Makes room when the epoch is new. */
        private int positionOf(int epoch) {
            int at = Arrays.binarySearch(epochs, epoch);
            if (at >= 0) {
                return at;
            }
            at = -at - 1;
            epochs = Arrays.copyOf(epochs, epochs.length + 1);
            indexes = Arrays.copyOf(indexes, epochs.length);
            System.arraycopy(epochs, at, epochs, at + 1, epochs.length - 1 - at);
            System.arraycopy(indexes, at, indexes, at + 1, epochs.length - 1 - at);
            epochs[at] = epoch;
            indexes[at] = EpochIndex.empty(epoch, EpochIndex.NONE);
            return at;
        }

        private static int heapBytes(byte[] segment) {
            int entries = PackedSegment.epochCount(segment) * ENTRY_HEAP_BYTES;
            return TABLE_HEAP_BYTES + PackedSegment.heapBytes(segment) + entries;
        }
    }
}

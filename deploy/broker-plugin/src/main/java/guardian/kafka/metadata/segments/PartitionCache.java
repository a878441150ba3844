package guardian.kafka.metadata.segments;

import guardian.v1.SegmentEvent;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentState;

/**
 * The segments of one partition, as the broker looks them up: answers are of one moment, take no lock, and are built
 * from packed segments only when asked for.
 *
 * <p>Writers come one at a time, with the events in stored order, and put a new {@link EpochIndexes} in place of the
 * last one. An event that fits nothing is counted and otherwise ignored, never an error: the store has judged it, and
 * a broker can't mend it. A repeated state changes nothing, as in the store.
 */
public final class PartitionCache {
    private static final Comparator<byte[]> DELETIONS_FIRST = Comparator.comparing(
            segment -> PackedSegment.state(segment) != RemoteLogSegmentState.DELETE_SEGMENT_STARTED);
    private static final Comparator<byte[]> BY_START_OFFSET = Comparator.comparingLong(PackedSegment::startOffset)
            .thenComparing(DELETIONS_FIRST)
            .thenComparing(PackedSegment::compareIds);

    private final TopicIdPartition partition;
    private SegmentTable byId = new SegmentTable(0);
    private volatile EpochIndexes indexes = EpochIndexes.of(List.of(), Map.of());
    private volatile long ignoredEvents;

    public PartitionCache(TopicIdPartition partition) {
        this.partition = partition;
    }

    /**
     * Replaces everything at once.
     *
     * @param live each with its newest state
     * @param goneHighestOffsets by leader epoch, of finished copies whose deletion has begun: a segment in
     *     DELETE_SEGMENT_STARTED does not say whether its copy was ever finished
     */
    public synchronized void load(List<SegmentEvent> live, Map<Integer, Long> goneHighestOffsets) {
        SegmentTable loaded = new SegmentTable(live.size());
        List<byte[]> segments = new ArrayList<>(live.size());
        for (SegmentEvent event : live) {
            byte[] segment = packed(event);
            if (segment == null || loaded.contains(segment)) {
                ignoredEvents++;
            } else {
                loaded.put(segment);
                segments.add(segment);
            }
        }
        segments.sort(BY_START_OFFSET); // in ascending order they fill the trees
        indexes = EpochIndexes.of(segments, goneHighestOffsets);
        byId = loaded;
    }

    public synchronized void apply(SegmentEvent event) {
        try {
            RemoteLogSegmentState state = SegmentEvents.state(event.getState());
            Uuid id = SegmentEvents.uuid(event.getSegmentId());
            byte[] before = byId.get(id.getMostSignificantBits(), id.getLeastSignificantBits());
            RemoteLogSegmentState stateBefore = before != null ? PackedSegment.state(before) : null;
            if (!RemoteLogSegmentState.isValidTransition(stateBefore, state)) {
                ignoredEvents++;
            } else if (stateBefore != state) {
                replace(before, state, event);
            }
        } catch (IllegalArgumentException malformed) {
            ignoredEvents++;
        }
    }

    /** The finished copy that has this offset in this leader epoch. */
    public Optional<RemoteLogSegmentMetadata> segment(int epoch, long offset) {
        return Optional.ofNullable(metadata(indexes.get(epoch).find(offset)));
    }

    /**
     * The first finished copy from this offset on, without gaps in this leader epoch, that has aborted transactions.
     */
    public Optional<RemoteLogSegmentMetadata> nextSegmentWithTxnIndex(int epoch, long offset) {
        EpochIndex index = indexes.get(epoch);
        byte[] segment = index.find(offset);
        while (segment != null && PackedSegment.isTxnIndexEmpty(segment)) {
            long end = PackedSegment.endOffset(segment);
            segment = end < Long.MAX_VALUE ? index.find(end + 1) : null;
        }
        return Optional.ofNullable(metadata(segment));
    }

    /** Of copies that were ever finished, deleted or not. */
    public Optional<Long> highestOffset(int epoch) {
        long highest = indexes.get(epoch).highestOffset();
        return highest == EpochIndex.NONE ? Optional.empty() : Optional.of(highest);
    }

    /** All that is not deleted yet, by start offset. */
    public Iterator<RemoteLogSegmentMetadata> segments() {
        return sorted(indexes::forEach, BY_START_OFFSET);
    }

    /**
     * All with records of this leader epoch that are not deleted yet, strictly by start offset: a broker that becomes
     * leader takes the first one's as the start of the log, and what comes before it is lost.
     */
    public Iterator<RemoteLogSegmentMetadata> segments(int epoch) {
        return sorted(indexes.get(epoch)::forEach, BY_START_OFFSET);
    }

    /**
     * The same, but those that wait for their deletion come first. For Kafka's expiry alone: it goes through them up to
     * the first segment that it keeps, so that it never reached an orphan further back.
     */
    public Iterator<RemoteLogSegmentMetadata> segmentsForExpiry(int epoch) {
        return sorted(indexes.get(epoch)::forEach, DELETIONS_FIRST.thenComparing(BY_START_OFFSET));
    }

    /** Bytes of all segments with records of this leader epoch that are not deleted yet. */
    public long size(int epoch) {
        long[] bytes = new long[1];
        indexes.get(epoch).forEach(segment -> bytes[0] += PackedSegment.size(segment));
        return bytes[0];
    }

    /** How many segments are not deleted yet. */
    public int count() {
        return indexes.count();
    }

    /** How many events fitted nothing: malformed, of an unknown segment, or no valid transition. */
    public long ignoredEvents() {
        return ignoredEvents;
    }

    /** What this cache takes on the heap, estimated; costs nothing. */
    public long heapBytes() {
        return indexes.heapBytes();
    }

    private void replace(byte[] before, RemoteLogSegmentState state, SegmentEvent event) {
        byte[] now = before != null ? PackedSegment.advanced(before, state, event) : PackedSegment.of(partition, event);
        boolean isGone = state == RemoteLogSegmentState.DELETE_SEGMENT_FINISHED;
        indexes = indexes.replaced(before, isGone ? null : now);
        if (isGone) {
            byId.remove(before);
        } else {
            byId.put(now);
        }
    }

    /** Null when it is malformed, or deleted already. */
    private byte[] packed(SegmentEvent event) {
        try {
            byte[] segment = PackedSegment.of(partition, event);
            return PackedSegment.state(segment) != RemoteLogSegmentState.DELETE_SEGMENT_FINISHED ? segment : null;
        } catch (IllegalArgumentException malformed) {
            return null;
        }
    }

    private Iterator<RemoteLogSegmentMetadata> sorted(Consumer<Consumer<byte[]>> source, Comparator<byte[]> order) {
        List<byte[]> segments = new ArrayList<>();
        source.accept(segments::add);
        segments.sort(order);
        return segments.stream().map(this::metadata).iterator();
    }

    private RemoteLogSegmentMetadata metadata(byte[] segment) {
        return segment != null ? PackedSegment.metadata(partition, segment) : null;
    }
}

package guardian.kafka.metadata.segments;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentState;

/**
 * The segments that have records of one leader epoch. Those that look-ups find are finished copies that no other
 * finished copy covers; all others wait: for the end of their copy, for their deletion, or for the expiry of what
 * covers them.
 *
 * <p>A copy covers another when its offsets of the epoch include the other's. So of two that can be found, the one that
 * starts later also ends later, and the last that starts at or before an offset has that offset if any copy has it. Of
 * two copies of the same offsets the newer one covers the older. This depends on what segments there are, never on the
 * order in which one heard of them: a partition that was loaded and one that was followed answer alike.
 *
 * @param findable by the offset at which the epoch starts in the segment
 * @param waiting by the same
 * @param highestOffset of copies that were ever finished; NONE if none was
 */
record EpochIndex(int epoch, SortedSegments findable, SortedSegments waiting, long highestOffset) {
    static final long NONE = Long.MIN_VALUE;

    static EpochIndex empty(int epoch, long highestOffset) {
        return new EpochIndex(epoch, SortedSegments.EMPTY, SortedSegments.EMPTY, highestOffset);
    }

    /** The finished copy that has this offset in this epoch; null if there is none. */
    byte[] find(long offset) {
        byte[] segment = findable.floor(offset);
        return segment != null && offset <= end(segment) ? segment : null;
    }

    void forEach(Consumer<byte[]> action) {
        findable.forEach(action);
        waiting.forEach(action);
    }

    /** With a segment that it does not have. */
    EpochIndex with(byte[] segment) {
        return isFinished(segment)
                ? withFinished(segment, Math.max(highestOffset, end(segment)))
                : new EpochIndex(epoch, findable, waiting.with(start(segment), segment), highestOffset);
    }

    /** Without a segment that it has; what only this one covered can be found again. */
    EpochIndex without(byte[] segment) {
        long start = start(segment);
        if (findable.floor(start) != segment) {
            return new EpochIndex(epoch, findable, waiting.without(start, segment), highestOffset);
        }
        List<byte[]> covered = new ArrayList<>(0);
        waiting.forEach(start, end(segment), other -> {
            if (isFinished(other) && covers(segment, other)) {
                covered.add(other);
            }
        });
        EpochIndex index = new EpochIndex(epoch, findable.without(start, segment), waiting, highestOffset);
        for (byte[] other : covered) {
            index = new EpochIndex(epoch, index.findable, index.waiting.without(start(other), other), highestOffset)
                    .withFinished(other, highestOffset);
        }
        return index;
    }

    private EpochIndex withFinished(byte[] segment, long highest) {
        long start = start(segment);
        byte[] before = findable.floor(start);
        if (before != null && covers(before, segment)) {
            return new EpochIndex(epoch, findable, waiting.with(start, segment), highest);
        }
        SortedSegments found = findable;
        SortedSegments others = waiting;
        for (byte[] next = found.ceiling(start); next != null && covers(segment, next); next = found.ceiling(start)) {
            found = found.without(start(next), next);
            others = others.with(start(next), next);
        }
        return new EpochIndex(epoch, found.with(start, segment), others, highest);
    }

    private boolean covers(byte[] one, byte[] other) {
        int starts = Long.compare(start(one), start(other));
        int ends = Long.compare(end(one), end(other));
        return starts == 0 && ends == 0 ? isNewer(one, other) : starts <= 0 && ends >= 0;
    }

    private static boolean isNewer(byte[] one, byte[] other) {
        int times = Long.compare(PackedSegment.eventTimestamp(one), PackedSegment.eventTimestamp(other));
        return times != 0 ? times > 0 : PackedSegment.compareIds(one, other) > 0;
    }

    private long start(byte[] segment) {
        return PackedSegment.startIn(segment, epoch);
    }

    private long end(byte[] segment) {
        return PackedSegment.endIn(segment, epoch);
    }

    private static boolean isFinished(byte[] segment) {
        return PackedSegment.state(segment) == RemoteLogSegmentState.COPY_SEGMENT_FINISHED;
    }
}

package guardian.kafka.metadata.segments;

import java.util.function.Consumer;

/**
 * Segments in the order of a key, ties by segment id; never changed, so readers need no lock.
 *
 * <p>They lie in two flat arrays, because a look-up costs what it touches in memory. Segments of a log have about as
 * many offsets each, so that the first and the last key tell where a key should be; from there the search goes on in
 * steps that double, which is a binary search where the guess is bad.
 *
 * <p>A change makes a new object. What comes in ascending order, as copies of a log do, goes into free slots of the
 * same arrays, behind the end of all who share them; what retention takes from the left is left out, until there is
 * enough of it to be worth a copy. All other changes copy.
 */
final class SortedSegments {
    static final SortedSegments EMPTY = new SortedSegments(new long[0], new byte[0][], 0, 0);

    private static final int SPARE_SHARE = 8; // at most one of so many slots is free, and one left out

    private final long[] keys;
    private final byte[][] segments; // null where a slot is free
    private final int from;
    private final int to;
    private final long firstKey;
    private final long lastKey;
    private final double slotsPerKey;

    private SortedSegments(long[] keys, byte[][] segments, int from, int to) {
        this.keys = keys;
        this.segments = segments;
        this.from = from;
        this.to = to;
        this.firstKey = from < to ? keys[from] : Long.MAX_VALUE;
        this.lastKey = from < to ? keys[to - 1] : Long.MAX_VALUE;
        this.slotsPerKey = firstKey < lastKey ? (to - 1 - from) / ((double) lastKey - firstKey) : 0;
    }

    boolean isEmpty() {
        return from == to;
    }

    /** The last segment whose key is not above this one; null if there is none. */
    byte[] floor(long key) {
        int slot = slotAfter(key) - 1;
        return slot >= from ? segments[slot] : null;
    }

    /** The first segment whose key is not below this one; null if there is none. */
    byte[] ceiling(long key) {
        int slot = firstSlot(key);
        return slot < to ? segments[slot] : null;
    }

    /** Takes all segments in order whose key is within these bounds. */
    void forEach(long fromKey, long toKey, Consumer<byte[]> action) {
        for (int slot = firstSlot(fromKey); slot < to && keys[slot] <= toKey; slot++) {
            action.accept(segments[slot]);
        }
    }

    void forEach(Consumer<byte[]> action) {
        for (int slot = from; slot < to; slot++) {
            action.accept(segments[slot]);
        }
    }

    /** With this segment, which must not be there yet. */
    SortedSegments with(long key, byte[] segment) {
        int slot = slotAfter(key, segment);
        if (slot == to && to < segments.length && segments[to] == null) {
            keys[to] = key;
            segments[to] = segment;
            return new SortedSegments(keys, segments, from, to + 1);
        }
        int count = to - from + 1;
        int slots = slot == to ? count + count / SPARE_SHARE : count;
        long[] moreKeys = new long[slots];
        byte[][] more = new byte[slots][];
        copy(keys, moreKeys, slot, 1, 0);
        copy(segments, more, slot, 1, 0);
        moreKeys[slot - from] = key;
        more[slot - from] = segment;
        return new SortedSegments(moreKeys, more, 0, count);
    }

    /** Without this segment, which must be there. */
    SortedSegments without(long key, byte[] segment) {
        int slot = slotAfter(key, segment) - 1;
        int count = to - from - 1;
        if (count == 0) {
            return EMPTY;
        } else if (slot == from && from < count / SPARE_SHARE) {
            return new SortedSegments(keys, segments, from + 1, to);
        }
        long[] fewerKeys = new long[count];
        byte[][] fewer = new byte[count][];
        copy(keys, fewerKeys, slot, 0, 1);
        copy(segments, fewer, slot, 0, 1);
        return new SortedSegments(fewerKeys, fewer, 0, count);
    }

    /** All but those that are left out at a slot, with room for some there. */
    private void copy(Object array, Object target, int slot, int room, int leftOut) {
        System.arraycopy(array, from, target, 0, slot - from);
        System.arraycopy(array, slot + leftOut, target, slot - from + room, to - slot - leftOut);
    }

    private int firstSlot(long key) {
        return key > Long.MIN_VALUE ? slotAfter(key - 1) : from;
    }

    /** Behind all segments that come before this one, and behind itself. */
    private int slotAfter(long key, byte[] segment) {
        int slot = slotAfter(key);
        while (slot > from && keys[slot - 1] == key && PackedSegment.compareIds(segments[slot - 1], segment) > 0) {
            slot--;
        }
        return slot;
    }

    /** Behind all keys that are not above this one. */
    private int slotAfter(long key) {
        if (key < firstKey) {
            return from;
        } else if (key >= lastKey) {
            return to;
        }
        int low = from + Math.min(to - 2 - from, (int) (((double) key - firstKey) * slotsPerKey));
        int high = low + 1;
        if (keys[low] <= key) {
            for (int step = 2; keys[high] <= key; step *= 2) {
                low = high;
                high = Math.min(to - 1, low + step);
            }
        } else {
            for (int step = 1; keys[low] > key; step *= 2) {
                high = low;
                low = Math.max(from, high - step);
            }
        }
        return slotBetween(low, high, key);
    }

    /** Behind all keys that are not above this one; the low slot's is not, the high one's is. */
    private int slotBetween(int low, int high, long key) {
        while (high - low > 1) {
            int middle = low + high >>> 1;
            if (keys[middle] <= key) {
                low = middle;
            } else {
                high = middle;
            }
        }
        return high;
    }
}

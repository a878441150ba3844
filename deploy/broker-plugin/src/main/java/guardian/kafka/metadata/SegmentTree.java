package guardian.kafka.metadata;

import java.util.Arrays;
import java.util.function.Consumer;

/**
 * Segments in the order of a key, ties by segment id; never changed, so readers need no lock: a change makes a new tree
 * that shares with the old one all but the nodes on one path from the root, some 64 entries each.
 *
 * <p>It is a B+ tree whose nodes fill up when entries come in ascending order, as copies of a log do. A node that gets
 * empty goes; half-empty ones are not merged, since retention empties them from the left.
 */
final class SegmentTree {
    static final SegmentTree EMPTY = new SegmentTree(new long[0], new byte[0][], null);

    private static final int WIDTH = 64;

    private final long[] keys; // of its segments, or of the first segment of each child
    private final byte[][] segments; // of a leaf
    private final SegmentTree[] children; // of a branch

    private SegmentTree(long[] keys, byte[][] segments, SegmentTree[] children) {
        this.keys = keys;
        this.segments = segments;
        this.children = children;
    }

    boolean isEmpty() {
        return keys.length == 0;
    }

    /** The last segment whose key is not above this one; null if there is none. */
    byte[] floor(long key) {
        SegmentTree node = this;
        int at = node.countBelow(key, true) - 1;
        if (at < 0) {
            return null;
        }
        while (node.children != null) {
            node = node.children[at];
            at = node.countBelow(key, true) - 1;
        }
        return node.segments[at];
    }

    /** The first segment whose key is not below this one; null if there is none. */
    byte[] ceiling(long key) {
        int at = countBelow(key, false);
        if (children == null) {
            return at < keys.length ? segments[at] : null;
        }
        byte[] found = at > 0 ? children[at - 1].ceiling(key) : null;
        return found == null && at < keys.length ? first(at) : found;
    }

    /** Takes all segments in order whose key is within these bounds. */
    void forEach(long fromKey, long toKey, Consumer<byte[]> action) {
        int at = countBelow(fromKey, false);
        if (children != null && at > 0) {
            at--;
        }
        for (; at < keys.length && keys[at] <= toKey; at++) {
            if (children == null) {
                action.accept(segments[at]);
            } else {
                children[at].forEach(fromKey, toKey, action);
            }
        }
    }

    void forEach(Consumer<byte[]> action) {
        forEach(Long.MIN_VALUE, Long.MAX_VALUE, action);
    }

    /** A tree with this segment, which the tree must not have yet. */
    SegmentTree with(long key, byte[] segment) {
        SegmentTree tree = inserted(key, segment);
        return tree.keys.length <= WIDTH ? tree : branch(tree.halves(segment));
    }

    /** A tree without this segment. */
    SegmentTree without(long key, byte[] segment) {
        int at = position(key, segment) - 1;
        if (children == null) {
            return new SegmentTree(removed(keys, at), removed(segments, at), null);
        }
        SegmentTree child = children[at].without(key, segment);
        if (!child.isEmpty()) {
            SegmentTree[] changed = children.clone();
            changed[at] = child;
            return branch(changed);
        }
        return switch (children.length) {
            case 1 -> EMPTY;
            case 2 -> children[1 - at];
            default -> branch(removed(children, at));
        };
    }

    /** May be one entry too wide. */
    private SegmentTree inserted(long key, byte[] segment) {
        int at = position(key, segment);
        if (children == null) {
            return new SegmentTree(inserted(keys, at, key), inserted(segments, at, segment), null);
        }
        at = Math.max(0, at - 1);
        SegmentTree child = children[at].inserted(key, segment);
        SegmentTree[] changed = children.clone();
        changed[at] = child;
        if (child.keys.length > WIDTH) {
            SegmentTree[] halves = child.halves(segment);
            changed[at] = halves[0];
            changed = inserted(changed, at + 1, halves[1]);
        }
        return branch(changed);
    }

    /** What was appended at the end gets a node of its own, and the one before it stays full. */
    private SegmentTree[] halves(byte[] newest) {
        int at = last() == newest ? keys.length - 1 : keys.length / 2;
        return new SegmentTree[] {slice(0, at), slice(at, keys.length)};
    }

    private SegmentTree slice(int from, int to) {
        return children == null
                ? new SegmentTree(Arrays.copyOfRange(keys, from, to), Arrays.copyOfRange(segments, from, to), null)
                : branch(Arrays.copyOfRange(children, from, to));
    }

    private static SegmentTree branch(SegmentTree[] children) {
        long[] keys = new long[children.length];
        for (int at = 0; at < keys.length; at++) {
            keys[at] = children[at].keys[0];
        }
        return new SegmentTree(keys, null, children);
    }

    private byte[] last() {
        return children == null ? segments[segments.length - 1] : children[children.length - 1].last();
    }

    private byte[] first(int at) {
        return children == null ? segments[at] : children[at].first(0);
    }

    /** How many keys of this node are below this one, or not above it. */
    private int countBelow(long key, boolean orEqual) {
        int low = 0;
        int high = keys.length;
        while (low < high) {
            int middle = (low + high) >>> 1;
            if (keys[middle] < key || orEqual && keys[middle] == key) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return low;
    }

    /** How many entries of this node come before this segment or are it. */
    private int position(long key, byte[] segment) {
        int at = countBelow(key, true);
        while (at > 0 && keys[at - 1] == key && PackedSegment.compareIds(first(at - 1), segment) > 0) {
            at--;
        }
        return at;
    }

    private static long[] inserted(long[] array, int at, long value) {
        long[] longer = Arrays.copyOf(array, array.length + 1);
        System.arraycopy(array, at, longer, at + 1, array.length - at);
        longer[at] = value;
        return longer;
    }

    private static <T> T[] inserted(T[] array, int at, T value) {
        T[] longer = Arrays.copyOf(array, array.length + 1);
        System.arraycopy(array, at, longer, at + 1, array.length - at);
        longer[at] = value;
        return longer;
    }

    private static long[] removed(long[] array, int at) {
        long[] shorter = Arrays.copyOf(array, array.length - 1);
        System.arraycopy(array, at + 1, shorter, at, shorter.length - at);
        return shorter;
    }

    private static <T> T[] removed(T[] array, int at) {
        T[] shorter = Arrays.copyOf(array, array.length - 1);
        System.arraycopy(array, at + 1, shorter, at, shorter.length - at);
        return shorter;
    }
}

package guardian.kafka.metadata.segments;

import java.util.AbstractMap;
import java.util.AbstractSet;
import java.util.Comparator;
import java.util.Iterator;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * The leader epochs of a packed segment, each with its start offset, read where they lie. Kafka's constructor copies
 * the map that it is given: a sorted one without comparing, so that decoding a segment takes half the time and makes
 * less garbage.
 */
final class PackedEpochs extends AbstractMap<Integer, Long> implements SortedMap<Integer, Long> {
    private final byte[] segment;

    PackedEpochs(byte[] segment) {
        this.segment = segment;
    }

    @Override
    public Set<Entry<Integer, Long>> entrySet() {
        return new AbstractSet<>() {
            @Override
            public int size() {
                return PackedEpochs.this.size();
            }

            @Override
            public Iterator<Entry<Integer, Long>> iterator() {
                return new Entries(segment);
            }
        };
    }

    @Override
    public int size() {
        return PackedSegment.epochCount(segment);
    }

    /** The natural order. */
    @Override
    public Comparator<? super Integer> comparator() {
        return null;
    }

    @Override
    public Integer firstKey() {
        return copy().firstKey();
    }

    @Override
    public Integer lastKey() {
        return copy().lastKey();
    }

    @Override
    public SortedMap<Integer, Long> headMap(Integer toKey) {
        return copy().headMap(toKey);
    }

    @Override
    public SortedMap<Integer, Long> tailMap(Integer fromKey) {
        return copy().tailMap(fromKey);
    }

    @Override
    public SortedMap<Integer, Long> subMap(Integer fromKey, Integer toKey) {
        return copy().subMap(fromKey, toKey);
    }

    private SortedMap<Integer, Long> copy() {
        return new TreeMap<>(this);
    }

    private static final class Entries implements Iterator<Entry<Integer, Long>> {
        private final byte[] segment;
        private int position;

        Entries(byte[] segment) {
            this.segment = segment;
        }

        @Override
        public boolean hasNext() {
            return position < PackedSegment.epochCount(segment);
        }

        @Override
        public Entry<Integer, Long> next() {
            if (!hasNext()) {
                throw new NoSuchElementException();
            }
            int at = position++;
            return Map.entry(PackedSegment.epoch(segment, at), PackedSegment.epochStart(segment, at));
        }
    }
}

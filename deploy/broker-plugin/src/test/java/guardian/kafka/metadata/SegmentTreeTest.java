package guardian.kafka.metadata;

import static guardian.kafka.metadata.TestSegments.PARTITION;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

class SegmentTreeTest {
    private static final Comparator<byte[]> ORDER =
            Comparator.comparingLong(PackedSegment::startOffset).thenComparing(PackedSegment::compareIds);

    private final TreeSet<byte[]> expected = new TreeSet<>(ORDER);
    private SegmentTree tree = SegmentTree.EMPTY;

    @Test
    void itAnswersLikeASortedSetWhateverComesAndGoes() {
        for (int seed = 0; seed < 20; seed++) {
            Random random = new Random(seed);
            long keys = List.of(3L, 200L, 1_000_000L).get(seed % 3);
            for (int step = 0; step < 6_000; step++) {
                boolean isGrowing = random.nextInt(6_000) > step;
                change(random, keys, isGrowing);
                if (step % 50 == 0) {
                    compare(random.nextLong(keys + 2) - 1, random.nextLong(keys + 2) - 1);
                }
            }
            while (!expected.isEmpty()) {
                remove(random.nextBoolean() ? expected.first() : expected.last());
            }
            assertTrue(tree.isEmpty());
            compare(0, keys);
        }
    }

    @Test
    void ascendingEntriesThatAreTakenFromTheLeftLeaveTheRestInOrder() {
        List<byte[]> all = new ArrayList<>();
        for (int number = 0; number < 10_000; number++) {
            all.add(segment(number, number));
            add(all.get(number));
        }
        for (byte[] segment : all) {
            remove(segment);
            assertSame(tree.isEmpty() ? null : all.get((int) PackedSegment.startOffset(segment) + 1), tree.ceiling(0));
        }
    }

    /** One more than two full levels of nodes: the last entry has a branch of its own. */
    @Test
    void entriesThatAreTakenFromTheRightLeaveTheRestInOrder() {
        for (int number = 0; number <= 64 * 64; number++) {
            add(segment(number, number));
        }
        while (!expected.isEmpty()) {
            remove(expected.last());
            assertSame(expected.isEmpty() ? null : expected.last(), tree.floor(Long.MAX_VALUE));
        }
        add(segment(1, 1));
        compare(0, 1);
    }

    @Test
    void aTreeStaysAsItIsWhenAnotherIsMadeOfIt() {
        for (int number = 0; number < 500; number++) {
            add(segment(number, number));
        }
        SegmentTree before = tree;
        List<byte[]> content = content(before, Long.MIN_VALUE, Long.MAX_VALUE);
        new ArrayList<>(expected).forEach(this::remove);
        for (int number = 1_000; number < 2_000; number++) {
            add(segment(number, 2_000 - number));
        }
        assertEquals(content, content(before, Long.MIN_VALUE, Long.MAX_VALUE));
    }

    private void change(Random random, long keys, boolean isGrowing) {
        byte[] segment = segment(random.nextLong(1L << 40), random.nextLong(keys));
        byte[] near = expected.ceiling(segment);
        if (random.nextInt(10) < (isGrowing ? 7 : 3)) {
            add(segment);
        } else if (near != null) {
            remove(near);
        }
    }

    private void add(byte[] segment) {
        expected.add(segment);
        tree = tree.with(PackedSegment.startOffset(segment), segment);
    }

    private void remove(byte[] segment) {
        expected.remove(segment);
        tree = tree.without(PackedSegment.startOffset(segment), segment);
    }

    private void compare(long low, long high) {
        byte[] below = segment(Long.MAX_VALUE, Math.max(0, low));
        byte[] above = segment(Long.MIN_VALUE, Math.max(0, low));
        assertSame(low < 0 ? null : expected.floor(below), tree.floor(low));
        assertSame(expected.ceiling(above), tree.ceiling(low));
        List<byte[]> within = expected.stream()
                .filter(one -> PackedSegment.startOffset(one) >= low && PackedSegment.startOffset(one) <= high)
                .toList();
        assertEquals(within, content(tree, low, high));
        assertEquals(new ArrayList<>(expected), content(tree, Long.MIN_VALUE, Long.MAX_VALUE));
    }

    private static List<byte[]> content(SegmentTree tree, long from, long to) {
        List<byte[]> content = new ArrayList<>();
        tree.forEach(from, to, content::add);
        return content;
    }

    private static byte[] segment(long id, long startOffset) {
        return PackedSegment.of(PARTITION, TestSegments.started(id, startOffset, startOffset, Map.of(0, startOffset))
                .toBuilder().setSegmentSizeBytes(1).build());
    }
}

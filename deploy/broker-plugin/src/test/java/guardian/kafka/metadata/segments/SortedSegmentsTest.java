package guardian.kafka.metadata.segments;

import static guardian.kafka.metadata.segments.TestSegments.PARTITION;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeSet;
import java.util.function.ToLongFunction;
import org.junit.jupiter.api.Test;

class SortedSegmentsTest {
    private static final Comparator<byte[]> ORDER =
            Comparator.comparingLong(SortedSegmentsTest::key).thenComparing(PackedSegment::compareIds);

    private final TreeSet<byte[]> expected = new TreeSet<>(ORDER);
    private SortedSegments sorted = SortedSegments.EMPTY;

    @Test
    void itAnswersLikeASortedSetWhateverComesAndGoes() {
        List<ToLongFunction<Random>> keys = List.of(
                random -> random.nextLong(3),
                random -> random.nextLong(200),
                random -> random.nextLong(1_000_000),
                random -> 1L << random.nextInt(64), // what a guess is worst at
                Random::nextLong,
                random -> random.nextBoolean() ? Long.MIN_VALUE + random.nextLong(3) : Long.MAX_VALUE - random.nextLong(3));
        for (int seed = 0; seed < 18; seed++) {
            Random random = new Random(seed);
            ToLongFunction<Random> key = keys.get(seed % keys.size());
            for (int step = 0; step < 3_000; step++) {
                change(random, key.applyAsLong(random), random.nextInt(3_000) > step);
                if (step % 20 == 0) {
                    compare(key.applyAsLong(random), key.applyAsLong(random));
                }
            }
            while (!expected.isEmpty()) {
                remove(random.nextBoolean() ? expected.first() : expected.last());
            }
            assertTrue(sorted.isEmpty());
            compare(0, Long.MAX_VALUE);
        }
    }

    /** As a log that grows and whose retention takes as much from its beginning. */
    @Test
    void ascendingEntriesThatAreTakenFromTheLeftLeaveTheRestInOrder() {
        for (int number = 0; number < 5_000; number++) {
            add(segment(number, number * 100L));
            if (number >= 300) {
                remove(expected.first());
            }
            if (number % 50 == 0) {
                compare(number * 50L, number * 90L);
            }
        }
        while (!expected.isEmpty()) {
            remove(expected.first());
            assertSame(expected.isEmpty() ? null : expected.first(), sorted.ceiling(0));
        }
    }

    @Test
    void entriesThatAreTakenFromTheRightAndComeAgainLeaveTheRestInOrder() {
        for (int number = 0; number < 1_000; number++) {
            add(segment(number, number));
        }
        while (!expected.isEmpty()) {
            byte[] last = expected.last();
            remove(last);
            add(segment(5_000, key(last) + 1));
            remove(expected.last());
            assertSame(expected.isEmpty() ? null : expected.last(), sorted.floor(Long.MAX_VALUE));
        }
        add(segment(1, 1));
        compare(0, 1);
    }

    @Test
    void oneStaysAsItIsWhenOthersAreMadeOfIt() {
        for (int number = 0; number < 500; number++) {
            add(segment(number, number));
        }
        SortedSegments before = sorted;
        List<byte[]> content = content(before, Long.MIN_VALUE, Long.MAX_VALUE);
        new ArrayList<>(expected).forEach(this::remove);
        for (int number = 1_000; number < 2_000; number++) {
            add(segment(number, 2_000 - number));
        }
        assertEquals(content, content(before, Long.MIN_VALUE, Long.MAX_VALUE));
    }

    /** Both append behind the same last one, at a length at which there are free slots. */
    @Test
    void twoThatAreMadeOfOneDoNotSeeEachOther() {
        for (int number = 0; number < 100; number++) {
            SortedSegments one = sorted;
            byte[] mine = segment(number, number);
            byte[] others = segment(1_000 + number, number);
            SortedSegments other = one.with(number, others);
            sorted = one.with(number, mine);
            assertSame(others, other.floor(number));
            assertSame(mine, sorted.floor(number));
            assertSame(others, other.with(200, segment(1, 200)).floor(number));
            assertEquals(number, content(one, Long.MIN_VALUE, Long.MAX_VALUE).size());
        }
    }

    private void change(Random random, long key, boolean isGrowing) {
        byte[] segment = segment(random.nextLong(1L << 40), key);
        byte[] near = expected.ceiling(segment);
        if (random.nextInt(10) < (isGrowing ? 7 : 3)) {
            add(segment);
        } else if (near != null) {
            remove(near);
        }
    }

    private void add(byte[] segment) {
        expected.add(segment);
        sorted = sorted.with(key(segment), segment);
    }

    private void remove(byte[] segment) {
        expected.remove(segment);
        sorted = sorted.without(key(segment), segment);
    }

    private void compare(long low, long high) {
        byte[] below = segment(Long.MAX_VALUE, low);
        byte[] above = segment(Long.MIN_VALUE, low);
        assertSame(expected.floor(below), sorted.floor(low));
        assertSame(expected.ceiling(above), sorted.ceiling(low));
        List<byte[]> within = expected.stream()
                .filter(one -> key(one) >= low && key(one) <= high)
                .toList();
        assertEquals(within, content(sorted, low, high));
        List<byte[]> all = new ArrayList<>();
        sorted.forEach(all::add);
        assertEquals(new ArrayList<>(expected), all);
    }

    private static List<byte[]> content(SortedSegments sorted, long from, long to) {
        List<byte[]> content = new ArrayList<>();
        sorted.forEach(from, to, content::add);
        return content;
    }

    private static long key(byte[] segment) {
        return PackedSegment.startIn(segment, 0);
    }

    private static byte[] segment(long id, long key) {
        return PackedSegment.of(PARTITION, TestSegments.started(id, 0, 0, Map.of(0, key))
                .toBuilder().setSegmentSizeBytes(1).build());
    }
}

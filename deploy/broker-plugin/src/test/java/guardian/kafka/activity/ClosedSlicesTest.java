package guardian.kafka.activity;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;

import guardian.v1.ActivitySlice;
import java.util.List;
import org.junit.jupiter.api.Test;

class ClosedSlicesTest {
    private static final long NO_LIMIT = Long.MAX_VALUE;

    private static ActivitySlice slice(long number) {
        return ActivitySlice.newBuilder().setNumber(number).build();
    }

    private static void add(ClosedSlices slices, long from, long to) {
        for (long number = from; number <= to; number++) {
            slices.add(slice(number));
        }
    }

    private static List<Long> numbers(List<ActivitySlice> slices) {
        return slices.stream().map(ActivitySlice::getNumber).toList();
    }

    private static List<Long> lost(List<ActivitySlice> slices) {
        return slices.stream().map(ActivitySlice::getLostSlices).toList();
    }

    @Test
    void aReaderGetsWhatComesAfterTheNumberThatItHas() {
        ClosedSlices slices = new ClosedSlices(10, NO_LIMIT);
        assertEquals(List.of(), slices.after(0));
        add(slices, 1, 4);
        assertEquals(List.of(1L, 2L, 3L, 4L), numbers(slices.after(0)));
        assertEquals(List.of(4L), numbers(slices.after(3)));
        assertEquals(List.of(), slices.after(4));
        assertEquals(List.of(), slices.after(1_000));
    }

    @Test
    void readingTwiceGivesTheSame() {
        ClosedSlices slices = new ClosedSlices(3, NO_LIMIT);
        add(slices, 1, 5);
        List<ActivitySlice> first = slices.after(0);
        assertEquals(List.of(2L, 0L, 0L), lost(first));
        assertEquals(first, slices.after(0));
        add(slices, 6, 6);
        assertEquals(first.subList(1, 3), slices.after(0).subList(0, 2));
    }

    @Test
    void whatGoesUnreadIsToldWithTheNextSliceThatIsRead() {
        ClosedSlices slices = new ClosedSlices(3, NO_LIMIT);
        add(slices, 1, 3);
        slices.after(0);
        add(slices, 4, 6);
        // 1 to 3 are gone, but they were read.
        assertEquals(List.of(0L, 0L, 0L), lost(slices.after(0)));
        add(slices, 7, 11);
        // 7 and 8 nobody has seen.
        assertEquals(List.of(9L, 10L, 11L), numbers(slices.after(6)));
        assertEquals(List.of(2L, 0L, 0L), lost(slices.after(6)));
    }

    @Test
    void aLostSliceTakesWhatItKnewOfOthersWithIt() {
        ClosedSlices slices = new ClosedSlices(2, NO_LIMIT);
        slices.add(slice(4).toBuilder().setLostSlices(3).build());
        add(slices, 5, 6);
        assertEquals(List.of(4L, 0L), lost(slices.after(0)));
    }

    @Test
    void theOldestGoWhenTheyTakeTooMuchMemoryAndTheNewestStays() {
        ActivitySlice large =
                slice(1).toBuilder().addStrings("x".repeat(1_000)).build();
        long each = ClosedSlices.heapBytes(large);
        ClosedSlices slices = new ClosedSlices(100, 3 * each);
        for (long number = 1; number <= 5; number++) {
            slices.add(large.toBuilder().setNumber(number).build());
        }
        assertEquals(List.of(3L, 4L, 5L), numbers(slices.after(0)));
        ActivitySlice huge =
                slice(6).toBuilder().addStrings("x".repeat(100_000)).build();
        slices.add(huge);
        assertEquals(List.of(6L), numbers(slices.after(0)));
        slices.add(slice(7));
        assertEquals(List.of(7L), numbers(slices.after(0)));
    }

    @Test
    void anAnswerIsBoundedAndTheRestComesWithTheNextOne() {
        ClosedSlices slices = new ClosedSlices(100, NO_LIMIT);
        add(slices, 1, 40);
        List<ActivitySlice> answer = slices.after(0);
        assertEquals(ClosedSlices.MAX_SLICES_PER_ANSWER, answer.size());
        assertEquals(17, slices.after(16).get(0).getNumber());
        assertSame(answer.get(0), slices.after(0).get(0));

        ClosedSlices small = new ClosedSlices(100, NO_LIMIT, 2_500);
        for (long number = 1; number <= 5; number++) {
            int length = number == 4 ? 10_000 : 1_000;
            small.add(slice(number).toBuilder().addStrings("x".repeat(length)).build());
        }
        assertEquals(List.of(1L, 2L), numbers(small.after(0)));
        assertEquals(List.of(3L), numbers(small.after(2)));
        assertEquals(List.of(4L), numbers(small.after(3)));
        assertEquals(List.of(5L), numbers(small.after(4)));
    }
}

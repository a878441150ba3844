package guardian.kafka.metadata.segments;

import static guardian.kafka.metadata.segments.TestSegments.PARTITION;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;

import guardian.v1.RemoteLogSegmentState;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class EpochIndexesTest {
    private final byte[] first = finished(1, 0, Map.of(2, 0L, 5, 50L));
    private final byte[] second = finished(2, 100, Map.of(5, 100L, 7, 150L));

    /** A reader that holds one moment's indexes must not see the next one's, not even of one epoch of a segment. */
    @Test
    void oneMomentStaysAsItWasWhenTheNextIsMadeOfIt() {
        EpochIndexes one = EpochIndexes.of(List.of(first), Map.of(9, 90L));
        EpochIndexes two = one.replaced(null, second);
        EpochIndexes three = two.replaced(first, null);
        assertEquals(List.of(1L), numbers(one));
        assertEquals(List.of(1L, 2L), numbers(two));
        assertEquals(List.of(2L), numbers(three));
        assertSame(first, one.get(5).find(60));
        assertNull(one.get(5).find(120));
        assertSame(second, two.get(5).find(120));
        assertSame(first, two.get(2).find(10));
        assertNull(three.get(2).find(10));
        assertEquals(List.of(1, 2, 1), List.of(one.count(), two.count(), three.count()));
    }

    @Test
    void epochsAreFoundInWhateverOrderTheyCame() {
        EpochIndexes indexes = EpochIndexes.of(List.of(second, first), Map.of(6, 60L, -1, 10L, 5, 500L));
        assertEquals(500, indexes.get(5).highestOffset());
        assertEquals(60, indexes.get(6).highestOffset());
        assertEquals(10, indexes.get(-1).highestOffset());
        assertEquals(49, indexes.get(2).highestOffset());
        assertEquals(EpochIndex.NONE, indexes.get(3).highestOffset());
        assertSame(second, indexes.get(7).find(199));
    }

    private static byte[] finished(long id, long start, Map<Integer, Long> epochs) {
        return PackedSegment.of(PARTITION, TestSegments.started(id, start, start + 99, epochs).toBuilder()
                .setState(RemoteLogSegmentState.COPY_SEGMENT_FINISHED)
                .build());
    }

    private static List<Long> numbers(EpochIndexes indexes) {
        List<Long> numbers = new ArrayList<>();
        indexes.forEach(segment -> numbers.add(PackedSegment.idLow(segment)));
        return numbers;
    }
}

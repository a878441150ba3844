package guardian.kafka.metadata.segments;

import static guardian.kafka.metadata.segments.TestSegments.PARTITION;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.SortedMap;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

class PackedEpochsTest {
    @Test
    void itAnswersLikeASortedMapOfTheSame() {
        for (SortedMap<Integer, Long> expected : List.of(
                new TreeMap<>(Map.of(0, 0L)),
                new TreeMap<>(Map.of(2, 0L, 1_000, 50L, 7, 20L)))) {
            PackedEpochs packed = packed(expected);
            assertEquals(expected, packed);
            assertEquals(packed, expected);
            assertEquals(new ArrayList<>(expected.entrySet()), new ArrayList<>(packed.entrySet()));
            assertEquals(expected.size(), packed.size());
            assertNull(packed.comparator());
            assertEquals(expected.firstKey(), packed.firstKey());
            assertEquals(expected.lastKey(), packed.lastKey());
            assertEquals(expected.headMap(7), packed.headMap(7));
            assertEquals(expected.tailMap(7), packed.tailMap(7));
            assertEquals(expected.subMap(2, 1_000), packed.subMap(2, 1_000));
        }
    }

    @Test
    void itsIteratorEnds() {
        Iterator<?> entries = packed(Map.of(3, 30L)).entrySet().iterator();
        entries.next();
        assertThrows(NoSuchElementException.class, entries::next);
    }

    private static PackedEpochs packed(Map<Integer, Long> epochs) {
        return new PackedEpochs(PackedSegment.of(PARTITION, TestSegments.started(1, 0, 99, epochs)));
    }
}

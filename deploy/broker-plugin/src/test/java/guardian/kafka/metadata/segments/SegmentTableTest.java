package guardian.kafka.metadata.segments;

import static guardian.kafka.metadata.segments.TestSegments.PARTITION;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;

import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import org.apache.kafka.common.Uuid;
import org.junit.jupiter.api.Test;

class SegmentTableTest {
    @Test
    void itAnswersLikeAMapWhateverComesAndGoes() {
        for (int seed = 0; seed < 20; seed++) {
            Random random = new Random(seed);
            boolean isCountedUp = seed % 2 == 0;
            Map<Uuid, byte[]> expected = new HashMap<>();
            SegmentTable table = new SegmentTable(seed);
            for (int step = 0; step < 4_000; step++) {
                long number = random.nextInt(1_000);
                Uuid id = isCountedUp ? new Uuid(0, number) : new Uuid(number * 7_919 << 32, ~number);
                byte[] segment = segment(id);
                if (random.nextInt(3) > 0) {
                    table.put(segment);
                    expected.put(id, segment);
                } else {
                    table.remove(segment);
                    expected.remove(id);
                }
            }
            for (long number = 0; number < 1_001; number++) {
                Uuid id = isCountedUp ? new Uuid(0, number) : new Uuid(number * 7_919 << 32, ~number);
                assertSame(expected.get(id), table.get(id.getMostSignificantBits(), id.getLeastSignificantBits()));
            }
        }
    }

    @Test
    void anEmptyTableKnowsNothing() {
        SegmentTable table = new SegmentTable(0);
        assertNull(table.get(1, 2));
        table.remove(segment(new Uuid(1, 2)));
        assertNull(table.get(1, 2));
    }

    private static byte[] segment(Uuid id) {
        return PackedSegment.of(PARTITION, TestSegments.started(1, 0, 9, Map.of(0, 0L)).toBuilder()
                .setSegmentId(SegmentEvents.bytes(id))
                .build());
    }
}

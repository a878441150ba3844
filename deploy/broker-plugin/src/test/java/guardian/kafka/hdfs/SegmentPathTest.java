package guardian.kafka.hdfs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Locale;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class SegmentPathTest {
    private static final SegmentPath SEGMENT =
            new SegmentPath("orders-eu", "-bCdEfGhIjKlMnOpQrStU_", 12, 1234, "VwXyZ0123456789-_abcde");

    @Test
    void aSegmentIsTwoFilesInItsPartitionsFolder() {
        String base = "orders-eu--bCdEfGhIjKlMnOpQrStU_/12/00000000000000001234-VwXyZ0123456789-_abcde";
        assertEquals(base + ".log", SEGMENT.log());
        assertEquals(base + ".indexes", SEGMENT.indexes());
    }

    @Test
    void itsDigitsAreTheSameWhereverTheBrokerRuns() {
        String log = SEGMENT.log();
        Locale before = Locale.getDefault();
        try {
            Locale.setDefault(Locale.forLanguageTag("ar-EG-u-nu-arab"));
            assertEquals(log, SEGMENT.log());
        } finally {
            Locale.setDefault(before);
        }
    }

    @Test
    void aPathSaysWhichSegmentItIs() {
        assertEquals(Optional.of(new SegmentPath.SegmentFile(SEGMENT, "log")), SegmentPath.parse(SEGMENT.log()));
        assertEquals(Optional.of(new SegmentPath.SegmentFile(SEGMENT, "indexes")), SegmentPath.parse(SEGMENT.indexes()));
        for (String path : List.of(SEGMENT.log(), SEGMENT.indexes())) {
            assertEquals(Optional.of(new SegmentPath.SegmentFile(SEGMENT, "partial")), SegmentPath.parse(path + ".tmp"));
        }
    }

    @Test
    void whatIsNotOursIsNoSegment() {
        for (String path : List.of(
                "",
                "README",
                SEGMENT.log() + ".old",
                "x/" + SEGMENT.log(),
                SEGMENT.log().replace("/12/", "/99999999999/"),
                SEGMENT.log().replace("/12/", "/9999999999/"),
                SEGMENT.log().replace("/0000000000000000", "/9999999999999999"))) {
            assertTrue(SegmentPath.parse(path).isEmpty(), path);
        }
    }

    @Test
    void theLongestTopicNameStillMakesAFolderThatHdfsTakes() {
        SegmentPath longest = new SegmentPath("t".repeat(249), SEGMENT.topicId(), 0, 0, SEGMENT.segmentId());
        assertTrue(longest.topicFolder().length() <= 255);
        assertEquals(SEGMENT.topicId(), SegmentPath.parse(longest.log()).orElseThrow().segment().topicId());
    }
}

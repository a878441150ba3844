package guardian.kafka.reporter.metrics;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.time.Duration;
import org.junit.jupiter.api.Test;

class OpenFilesTest {
    private static final long MINUTE_NS = Duration.ofMinutes(1).toNanos();

    private long listed = 100;
    private long size = 103;
    private long nowNs;
    private int lists;

    private final OpenFiles files = new OpenFiles(
            () -> {
                lists++;
                return listed;
            },
            () -> size,
            () -> nowNs,
            Duration.ofMinutes(10));

    @Test
    void afterTwoListsTheFoldersSizeTells() {
        assertEquals(100, files.count());
        assertEquals(100, files.count());
        size += 7;
        nowNs += MINUTE_NS;
        assertEquals(107, files.count());
        assertEquals(2, lists);
    }

    @Test
    void aDifferenceThatPassesIsNotKept() {
        size = 102;
        files.count();
        size = 103;
        files.count();
        assertEquals(100, files.count());
        size = 104;
        assertEquals(101, files.count());
        assertEquals(3, lists);
    }

    @Test
    void theyAreListedAgainAfterAWhile() {
        files.count();
        files.count();
        listed = 101;
        size = 104;
        nowNs += 10 * MINUTE_NS;
        assertEquals(101, files.count());
        assertEquals(3, lists);
        assertEquals(101, files.count());
        assertEquals(3, lists);
    }

    @Test
    void aKernelThatDoesNotTellHasThemListedEachTime() {
        size = 0;
        assertEquals(100, files.count());
        assertEquals(100, files.count());
        assertEquals(2, lists);
    }

    @Test
    void aListDuringWhichFilesComeIsNotTrusted() {
        OpenFiles moving = new OpenFiles(
                () -> {
                    lists++;
                    size++;
                    return listed;
                },
                () -> size,
                () -> nowNs,
                Duration.ofMinutes(10));
        moving.count();
        moving.count();
        moving.count();
        assertEquals(3, lists);
    }
}

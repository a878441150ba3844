package guardian.kafka.activity;

import static org.junit.jupiter.api.Assertions.assertEquals;

import guardian.v1.ActivitySlice;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class SliceTimerTest {
    private static final long MINUTE = 60_000;

    private long nowMs = 10 * MINUTE + 7_000;
    private long elapsedMs;
    private final ActivityLog log = new ActivityLog(ActivitySettings.read(Map.of()), new QuotaBytes(), nowMs);
    private final SliceTimer timer = new SliceTimer(log, MINUTE, () -> nowMs, () -> elapsedMs * 1_000_000);

    private void pass(long milliseconds) {
        nowMs += milliseconds;
        elapsedMs += milliseconds;
        timer.step();
    }

    private List<Long> ends() {
        return log.after(0).stream().map(ActivitySlice::getToMs).toList();
    }

    @Test
    void slicesEndAtWholeMinutesAndTheFirstOneIsShort() {
        while (nowMs < 13 * MINUTE + 1_000) {
            pass(timer.untilNextMs());
        }
        assertEquals(List.of(11 * MINUTE, 12 * MINUTE, 13 * MINUTE), ends());
    }

    @Test
    void itSleepsUntilTheNextSampleOrTheEndOfTheSlice() {
        assertEquals(SliceTimer.SAMPLE_MS, timer.untilNextMs());
        nowMs = 11 * MINUTE - 300;
        assertEquals(300, timer.untilNextMs());
        nowMs = 11 * MINUTE + 300;
        assertEquals(1, timer.untilNextMs());
    }

    @Test
    void aBrokerThatStoodStillHasOneLongSlice() {
        pass(5 * MINUTE);
        assertEquals(List.of(15 * MINUTE + 7_000), ends());
        pass(timer.untilNextMs());
        assertEquals(1, ends().size());
    }

    @Test
    void aClockThatIsSetBackBeginsANewSlice() {
        pass(1_000);
        pass(-5 * MINUTE);
        assertEquals(1, ends().size());
        assertEquals(5 * MINUTE + 8_000, log.openedMs());
        pass(52_000);
        assertEquals(List.of(10 * MINUTE + 7_000, 6 * MINUTE), ends());
    }
}

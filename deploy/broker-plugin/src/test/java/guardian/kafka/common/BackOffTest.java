package guardian.kafka.common;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.Random;
import org.junit.jupiter.api.Test;

class BackOffTest {
    private final BackOff backOff = new BackOff(Duration.ofMillis(100), Duration.ofMillis(1000), new Random(1));

    private static void assertBetween(long least, long most, Duration pause) {
        assertTrue(least <= pause.toMillis() && pause.toMillis() <= most, () -> "it waits " + pause);
    }

    @Test
    void itWaitsTwiceAsLongEachTimeUpToALimitAndAnewAfterASuccess() {
        assertBetween(50, 150, backOff.next());
        assertBetween(100, 300, backOff.next());
        assertBetween(200, 600, backOff.next());
        assertBetween(400, 1200, backOff.next());
        assertBetween(500, 1500, backOff.next());
        assertBetween(500, 1500, backOff.next());
        backOff.reset();
        assertBetween(50, 150, backOff.next());
    }

    @Test
    void itWaitsAtLeastAsLongAsTheServerAsks() {
        assertBetween(5_000, 7_500, backOff.next(5_000));
        assertBetween(100, 300, backOff.next(0));
    }
}

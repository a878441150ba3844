package guardian.kafka.reporter.listener;

import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Assertions;

/** Waits for what other threads and the network bring about. */
public final class Eventually {
    private static final Duration LIMIT = Duration.ofSeconds(60);

    private Eventually() {}

    /** An exception counts as "not yet". */
    public static void holds(String what, Callable<Boolean> condition) throws InterruptedException {
        long startedNs = System.nanoTime();
        while (!isTrue(condition)) {
            if (System.nanoTime() - startedNs > LIMIT.toNanos()) {
                Assertions.fail("not within " + LIMIT.toSeconds() + " s: " + what);
            }
            TimeUnit.MILLISECONDS.sleep(5);
        }
    }

    private static boolean isTrue(Callable<Boolean> condition) {
        try {
            return condition.call();
        } catch (Exception e) {
            return false;
        }
    }
}

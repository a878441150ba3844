package guardian.kafka.metadata;

import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.concurrent.atomic.AtomicLong;

/** Names for this process's managers, which people read beside a claim. */
final class Writers {
    private static final AtomicLong COUNT = new AtomicLong();

    private Writers() {}

    static String next() {
        return "pid " + ProcessHandle.current().pid() + ", manager " + COUNT.incrementAndGet() + ", since "
                + Instant.now().truncatedTo(ChronoUnit.SECONDS);
    }
}

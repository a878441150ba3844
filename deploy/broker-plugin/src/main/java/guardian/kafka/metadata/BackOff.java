package guardian.kafka.metadata;

import java.time.Duration;
import java.util.random.RandomGenerator;

/** How long to wait before the next attempt: twice as long each time, spread so that brokers do not come back at once. */
final class BackOff {
    private final Duration least;
    private final Duration most;
    private final RandomGenerator random;
    private Duration next;

    BackOff(Duration least, Duration most, RandomGenerator random) {
        this.least = least;
        this.most = most;
        this.random = random;
        next = least;
    }

    BackOff(StoreSettings.Limits limits) {
        this(limits.retryMin(), limits.retryMax(), RandomGenerator.getDefault());
    }

    /** From half to one and a half of the present pause. */
    Duration next() {
        Duration pause = spread(next);
        Duration doubled = next.multipliedBy(2);
        next = doubled.compareTo(most) < 0 ? doubled : most;
        return pause;
    }

    /** The same, but at least as long as the server asks for. */
    Duration next(long askedForMs) {
        Duration pause = next();
        Duration asked = Duration.ofMillis(askedForMs + random.nextLong(askedForMs / 2 + 1));
        return pause.compareTo(asked) < 0 ? asked : pause;
    }

    void reset() {
        next = least;
    }

    private Duration spread(Duration pause) {
        long nanos = pause.toNanos();
        return Duration.ofNanos(nanos / 2 + random.nextLong(nanos + 1));
    }
}

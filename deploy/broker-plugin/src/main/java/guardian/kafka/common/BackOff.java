package guardian.kafka.common;

import java.time.Duration;
import java.util.random.RandomGenerator;

/**
 * How long to wait before the next attempt: twice as long each time, spread so that brokers do not come back at once.
 *
 * <p>Not thread-safe.
 */
public final class BackOff {
    private final Duration least;
    private final Duration most;
    private final RandomGenerator random;
    private Duration next;

    public BackOff(Duration least, Duration most, RandomGenerator random) {
        this.least = least;
        this.most = most;
        this.random = random;
        next = least;
    }

    /** From half to one and a half of the present pause. */
    public Duration next() {
        Duration pause = spread(next);
        Duration doubled = next.multipliedBy(2);
        next = doubled.compareTo(most) < 0 ? doubled : most;
        return pause;
    }

    /** The same, but at least as long as the server asks for. */
    public Duration next(long askedForMs) {
        Duration pause = next();
        Duration asked = Duration.ofMillis(askedForMs + random.nextLong(askedForMs / 2 + 1));
        return pause.compareTo(asked) < 0 ? asked : pause;
    }

    public void reset() {
        next = least;
    }

    /** Return from half to one and a half of a pause, so that brokers that start together do not call together. */
    public Duration spread(Duration pause) {
        long nanos = pause.toNanos();
        return Duration.ofNanos(nanos / 2 + random.nextLong(nanos + 1));
    }
}

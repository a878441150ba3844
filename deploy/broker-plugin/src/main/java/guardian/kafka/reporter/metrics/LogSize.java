package guardian.kafka.reporter.metrics;

import com.yammer.metrics.core.Gauge;
import java.util.OptionalLong;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * Kafka's size of one log, which a collection needs twice: as a metric, and as a part of its log dir's size.
 *
 * <p>Kafka adds up the log's segments each time, so what was read within the last second is not read again.
 */
final class LogSize implements MetricReader {
    private static final long FRESH_NS = TimeUnit.SECONDS.toNanos(1);

    private record Reading(long bytes, long atNs) {}

    private final Gauge<?> gauge;
    private final LongSupplier nanoTime;
    private volatile Reading last;

    LogSize(Gauge<?> gauge, LongSupplier nanoTime) {
        this.gauge = gauge;
        this.nanoTime = nanoTime;
    }

    @Override
    public boolean read(double[] values) {
        if (gauge.value() instanceof Number number) {
            last = new Reading(number.longValue(), nanoTime.getAsLong());
            values[0] = number.doubleValue();
            return true;
        }
        return false;
    }

    /** Empty when Kafka can't say: one log costs its log dir nothing but its own bytes. */
    OptionalLong bytes() {
        Reading known = last;
        if (known != null && nanoTime.getAsLong() - known.atNs() < FRESH_NS) {
            return OptionalLong.of(known.bytes());
        }
        return of(gauge);
    }

    static OptionalLong of(Gauge<?> gauge) {
        try {
            return gauge.value() instanceof Number number ? OptionalLong.of(number.longValue()) : OptionalLong.empty();
        } catch (Exception | LinkageError e) {
            return OptionalLong.empty();
        }
    }
}

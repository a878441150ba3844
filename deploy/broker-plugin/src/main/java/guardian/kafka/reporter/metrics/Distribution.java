package guardian.kafka.reporter.metrics;

import com.yammer.metrics.core.Sampling;
import com.yammer.metrics.core.Summarizable;
import com.yammer.metrics.stats.Snapshot;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * How the values of a histogram are spread, worked out again only after it was given others.
 *
 * <p>To sort its sample is the dearest of all reads, and most of a broker's histograms are of requests that nobody makes.
 * Nothing but an update changes a sample, and an update counts first: what was read while the count stood still holds
 * until it moves. Who counts may not have done the rest yet, so a count is trusted a second after it was first seen.
 */
final class Distribution {
    private static final long SETTLED_NS = TimeUnit.SECONDS.toNanos(1);
    private static final int VALUES = 10;

    /** What was read at a count. */
    private record Seen(long count, long sinceNs, boolean isSettled, double[] values) {}

    private final LongSupplier count;
    private final Summarizable summary;
    private final Sampling sampling;
    private final LongSupplier nanoTime;
    private volatile Seen last = new Seen(-1, 0, false, new double[0]);

    Distribution(LongSupplier count, Summarizable summary, Sampling sampling, LongSupplier nanoTime) {
        this.nanoTime = nanoTime;
        this.count = count;
        this.summary = summary;
        this.sampling = sampling;
    }

    /** Puts them from {@code at} on; returns the count that they belong to. */
    long read(double[] into, int at) {
        long counted = count.getAsLong();
        Seen seen = last;
        if (seen.count() != counted || !seen.isSettled()) {
            long nowNs = nanoTime.getAsLong();
            long sinceNs = seen.count() == counted ? seen.sinceNs() : nowNs;
            seen = new Seen(counted, sinceNs, nowNs - sinceNs > SETTLED_NS, measure());
            last = seen;
        }
        System.arraycopy(seen.values(), 0, into, at, VALUES);
        return counted;
    }

    private double[] measure() {
        Snapshot snapshot = sampling.getSnapshot();
        return new double[] {
            summary.min(),
            summary.max(),
            summary.mean(),
            summary.stdDev(),
            snapshot.getMedian(),
            snapshot.get75thPercentile(),
            snapshot.get95thPercentile(),
            snapshot.get98thPercentile(),
            snapshot.get99thPercentile(),
            snapshot.get999thPercentile()
        };
    }
}

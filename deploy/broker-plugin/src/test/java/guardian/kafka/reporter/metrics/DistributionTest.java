package guardian.kafka.reporter.metrics;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.yammer.metrics.core.Histogram;
import com.yammer.metrics.core.MetricName;
import com.yammer.metrics.core.MetricsRegistry;
import com.yammer.metrics.core.Sampling;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class DistributionTest {
    private static final int MEDIAN = 4;

    private final MetricsRegistry registry = new MetricsRegistry();
    private final Histogram histogram =
            registry.newHistogram(new MetricName("kafka.server", "T", "H"), false);
    private final double[] values = new double[Listing.MOST_ATTRIBUTES];
    private long nowNs;
    private int snapshots;

    private final Sampling counting = () -> {
        snapshots++;
        return histogram.getSnapshot();
    };
    private final Distribution distribution =
            new Distribution(histogram::count, histogram, counting, () -> nowNs);

    @AfterEach
    void stop() {
        registry.shutdown();
    }

    private double median() {
        distribution.read(values, 0);
        return values[MEDIAN];
    }

    private void seconds(int passed) {
        nowNs += TimeUnit.SECONDS.toNanos(passed);
    }

    @Test
    void whatStandsStillIsWorkedOutTwice() {
        histogram.update(7);
        for (int i = 0; i < 10; i++) {
            assertEquals(7, median());
            seconds(2);
        }
        assertEquals(2, snapshots);
    }

    @Test
    void anUpdateIsSeenAtOnce() {
        histogram.update(7);
        median();
        seconds(2);
        median();
        histogram.update(9);
        assertEquals(8, median());
        assertEquals(3, snapshots);
    }

    @Test
    void aCountIsNotTrustedBeforeItHasSettled() {
        histogram.update(7);
        median();
        median();
        assertEquals(2, snapshots);
        seconds(2);
        median();
        median();
        assertEquals(3, snapshots);
    }

    @Test
    void anEmptyOneIsZero() {
        assertEquals(0, median());
        assertEquals(0, distribution.read(values, 0));
    }
}

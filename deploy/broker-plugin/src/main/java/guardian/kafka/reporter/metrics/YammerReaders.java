package guardian.kafka.reporter.metrics;

import com.yammer.metrics.core.Counter;
import com.yammer.metrics.core.Gauge;
import com.yammer.metrics.core.Histogram;
import com.yammer.metrics.core.Meter;
import com.yammer.metrics.core.Metered;
import com.yammer.metrics.core.Metric;
import com.yammer.metrics.core.Timer;
import java.util.List;
import java.util.stream.Stream;

/** For each kind of Yammer's metrics, JMX's attributes of it and how they are read. */
final class YammerReaders {
    private static final List<String> GAUGE = List.of("Value");
    private static final List<String> COUNTER = List.of("Count");
    private static final List<String> METER =
            List.of("Count", "MeanRate", "OneMinuteRate", "FiveMinuteRate", "FifteenMinuteRate");
    private static final List<String> DISTRIBUTION = List.of("Min", "Max", "Mean", "StdDev", "50thPercentile",
            "75thPercentile", "95thPercentile", "98thPercentile", "99thPercentile", "999thPercentile");
    private static final List<String> HISTOGRAM = concat(COUNTER, DISTRIBUTION);
    private static final List<String> TIMER = concat(METER, DISTRIBUTION);

    private YammerReaders() {}

    static List<String> attributesOf(Metric metric) {
        if (metric instanceof Timer) {
            return TIMER;
        } else if (metric instanceof Meter) {
            return METER;
        } else if (metric instanceof Histogram) {
            return HISTOGRAM;
        } else if (metric instanceof Counter) {
            return COUNTER;
        }
        return GAUGE;
    }

    static MetricReader of(Metric metric) {
        if (metric instanceof Timer timer) {
            Distribution durations = new Distribution(timer::count, timer, timer, System::nanoTime);
            return values -> {
                readMeter(timer, values);
                durations.read(values, METER.size());
                return true;
            };
        } else if (metric instanceof Meter meter) {
            return values -> readMeter(meter, values);
        } else if (metric instanceof Histogram histogram) {
            Distribution distribution = new Distribution(histogram::count, histogram, histogram, System::nanoTime);
            return values -> {
                values[0] = distribution.read(values, COUNTER.size());
                return true;
            };
        } else if (metric instanceof Counter counter) {
            return values -> {
                values[0] = counter.count();
                return true;
            };
        } else if (metric instanceof Gauge<?> gauge) {
            return new GaugeReader(gauge);
        }
        return values -> false;
    }

    private record GaugeReader(Gauge<?> gauge) implements MetricReader {
        @Override
        public boolean read(double[] values) {
            if (gauge.value() instanceof Number number) {
                values[0] = number.doubleValue();
                return true;
            }
            return false;
        }
    }

    private static boolean readMeter(Metered metered, double[] values) {
        values[0] = metered.count();
        values[1] = metered.meanRate();
        values[2] = metered.oneMinuteRate();
        values[3] = metered.fiveMinuteRate();
        values[4] = metered.fifteenMinuteRate();
        return true;
    }

    private static List<String> concat(List<String> first, List<String> second) {
        return Stream.concat(first.stream(), second.stream()).toList();
    }
}

package guardian.kafka.reporter;

import com.yammer.metrics.core.Counter;
import com.yammer.metrics.core.Gauge;
import com.yammer.metrics.core.Histogram;
import com.yammer.metrics.core.Meter;
import com.yammer.metrics.core.Metered;
import com.yammer.metrics.core.Metric;
import com.yammer.metrics.core.MetricName;
import com.yammer.metrics.core.MetricsRegistry;
import com.yammer.metrics.core.Summarizable;
import com.yammer.metrics.core.Timer;
import com.yammer.metrics.stats.Snapshot;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import org.apache.kafka.common.utils.Sanitizer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Most of a broker's metrics: every number that JMX has of them, under JMX's names. */
final class YammerMetricSource implements MetricSource, LogDirReader.BrokerLogs {
    private static final Logger LOG = LoggerFactory.getLogger(YammerMetricSource.class);

    private static final List<String> GAUGE = List.of("Value");
    private static final List<String> COUNTER = List.of("Count");
    private static final List<String> METER =
            List.of("Count", "MeanRate", "OneMinuteRate", "FiveMinuteRate", "FifteenMinuteRate");
    private static final List<String> HISTOGRAM = List.of("Count", "Min", "Max", "Mean", "StdDev", "50thPercentile",
            "75thPercentile", "95thPercentile", "98thPercentile", "99thPercentile", "999thPercentile");
    private static final List<String> TIMER = concat(METER, HISTOGRAM.subList(1, HISTOGRAM.size()));

    private final MetricsRegistry registry;

    YammerMetricSource(MetricsRegistry registry) {
        this.registry = registry;
    }

    @Override
    public void collect(ValueSink sink) {
        for (Map.Entry<MetricName, Metric> each : registry.allMetrics().entrySet()) {
            MetricName name = each.getKey();
            Metric metric = each.getValue();
            try {
                NameDictionary.Entry entry = sink.wanted(name, attributesOf(metric), name::getMBeanName);
                if (entry != null) {
                    put(sink, entry, metric);
                }
            } catch (ValueSink.Expired e) {
                throw e;
            } catch (RuntimeException | LinkageError e) {
                LOG.debug("{} has no value", name.getMBeanName(), e);
            }
        }
    }

    @Override
    public boolean isOffline(Path logDir) {
        String mbean = "kafka.log:type=LogManager,name=LogDirectoryOffline,logDirectory="
                + Sanitizer.jmxSanitize(logDir.toString());
        return gauge("LogManager", "LogDirectoryOffline", mbean).orElse(0) != 0;
    }

    @Override
    public OptionalLong sizeBytes(String topic, String partition) {
        return gauge("Log", "Size", "kafka.log:type=Log,name=Size,topic=" + topic + ",partition=" + partition);
    }

    private OptionalLong gauge(String type, String name, String mbean) {
        Metric metric = registry.allMetrics().get(new MetricName("kafka.log", type, name, null, mbean));
        return metric instanceof Gauge<?> gauge && gauge.value() instanceof Number number
                ? OptionalLong.of(number.longValue())
                : OptionalLong.empty();
    }

    private static List<String> attributesOf(Metric metric) {
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

    private static void put(ValueSink sink, NameDictionary.Entry entry, Metric metric) {
        if (metric instanceof Timer timer) {
            sink.put(entry, timer(timer));
        } else if (metric instanceof Meter meter) {
            sink.put(entry, meter(meter));
        } else if (metric instanceof Histogram histogram) {
            sink.put(entry, histogram(histogram.count(), histogram, histogram.getSnapshot()));
        } else if (metric instanceof Counter counter) {
            sink.put(entry, counter.count());
        } else if (metric instanceof Gauge<?> gauge && gauge.value() instanceof Number number) {
            sink.put(entry, number.doubleValue());
        }
    }

    private static double[] meter(Metered metered) {
        return new double[] {
            metered.count(),
            metered.meanRate(),
            metered.oneMinuteRate(),
            metered.fiveMinuteRate(),
            metered.fifteenMinuteRate()
        };
    }

    private static double[] histogram(long count, Summarizable summary, Snapshot snapshot) {
        return new double[] {
            count,
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

    private static double[] timer(Timer timer) {
        double[] rates = meter(timer);
        double[] durations = histogram(timer.count(), timer, timer.getSnapshot());
        double[] all = new double[TIMER.size()];
        System.arraycopy(rates, 0, all, 0, rates.length);
        System.arraycopy(durations, 1, all, rates.length, durations.length - 1);
        return all;
    }

    private static List<String> concat(List<String> first, List<String> second) {
        List<String> all = new ArrayList<>(first);
        all.addAll(second);
        return List.copyOf(all);
    }
}

package guardian.kafka.reporter.metrics;

import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.common.MetricName;
import org.apache.kafka.common.metrics.KafkaMetric;
import org.apache.kafka.common.utils.Sanitizer;

/** The metrics that Kafka tells its reporters about, named as JmxReporter names them. */
public final class KafkaMetricSource implements MetricSource {
    private final Map<MetricName, KafkaMetric> metrics = new ConcurrentHashMap<>();
    private final AtomicLong revision = new AtomicLong();
    private volatile String group = "";

    /** The mbeans' group: the namespace of the broker's metrics context. */
    public void setGroup(String group) {
        this.group = group;
    }

    public void put(KafkaMetric metric) {
        metrics.put(metric.metricName(), metric);
        revision.incrementAndGet();
    }

    public void remove(KafkaMetric metric) {
        metrics.remove(metric.metricName());
        revision.incrementAndGet();
    }

    @Override
    public long revision() {
        return revision.get();
    }

    @Override
    public void list(Listing listing) {
        metrics.forEach((name, metric) ->
                listing.add(name, List.of(name.name()), () -> mbean(group, name), values -> read(metric, values)));
    }

    private static boolean read(KafkaMetric metric, double[] values) {
        if (metric.metricValue() instanceof Number number) {
            values[0] = number.doubleValue();
            return true;
        }
        return false;
    }

    static String mbean(String group, MetricName name) {
        StringBuilder mbean = new StringBuilder(group).append(":type=").append(name.group());
        name.tags().forEach((tag, value) -> {
            if (!tag.isEmpty() && !value.isEmpty()) {
                mbean.append(',').append(tag).append('=').append(Sanitizer.jmxSanitize(value));
            }
        });
        return mbean.toString();
    }
}

package guardian.kafka.reporter;

import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.kafka.common.MetricName;
import org.apache.kafka.common.metrics.KafkaMetric;
import org.apache.kafka.common.utils.Sanitizer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The metrics that Kafka tells its reporters about, named as JmxReporter names them. */
final class KafkaMetricSource implements MetricSource {
    private static final Logger LOG = LoggerFactory.getLogger(KafkaMetricSource.class);

    private final Map<MetricName, KafkaMetric> metrics = new ConcurrentHashMap<>();
    private volatile String group = "";

    /** The mbeans' group: the namespace of the broker's metrics context. */
    void setGroup(String group) {
        this.group = group;
    }

    void put(KafkaMetric metric) {
        metrics.put(metric.metricName(), metric);
    }

    void remove(KafkaMetric metric) {
        metrics.remove(metric.metricName());
    }

    @Override
    public void collect(ValueSink sink) {
        for (Map.Entry<MetricName, KafkaMetric> each : metrics.entrySet()) {
            MetricName name = each.getKey();
            try {
                NameDictionary.Entry entry = sink.wanted(name, List.of(name.name()), () -> mbean(group, name));
                if (entry != null && each.getValue().metricValue() instanceof Number number) {
                    sink.put(entry, number.doubleValue());
                }
            } catch (ValueSink.Expired e) {
                throw e;
            } catch (RuntimeException | LinkageError e) {
                LOG.debug("{} has no value", name, e);
            }
        }
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

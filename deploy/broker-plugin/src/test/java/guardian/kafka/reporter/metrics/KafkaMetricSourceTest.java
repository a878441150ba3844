package guardian.kafka.reporter.metrics;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import guardian.v1.CollectRequest;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.MetricName;
import org.apache.kafka.common.metrics.Gauge;
import org.apache.kafka.common.metrics.JmxReporter;
import org.apache.kafka.common.metrics.KafkaMetric;
import org.apache.kafka.common.metrics.KafkaMetricsContext;
import org.apache.kafka.common.metrics.MetricConfig;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.utils.Time;
import org.junit.jupiter.api.Test;

class KafkaMetricSourceTest {
    @Test
    void anMbeanIsNamedAsJmxReporterNamesIt() {
        Map<String, String> tags = new LinkedHashMap<>();
        tags.put("user", "");
        tags.put("listener", "PLAIN TEXT");
        tags.put("client-id", "a:b=c,*");
        JmxReporter jmx = new JmxReporter();
        try (Metrics metrics =
                new Metrics(new MetricConfig(), List.of(jmx), Time.SYSTEM, new KafkaMetricsContext("kafka.server"))) {
            MetricName name = metrics.metricName("rate", "socket-server-metrics", "", tags);
            metrics.addMetric(name, (config, now) -> 1.0);
            String mbean = KafkaMetricSource.mbean("kafka.server", name);
            assertEquals(
                    "kafka.server:type=socket-server-metrics,listener=PLAIN TEXT,client-id=\"a:b=c,\\*\"", mbean);
            assertTrue(jmx.containsMbean(mbean));
        }
    }

    @Test
    void metricsThatComeAndGoAreListedAnew() {
        KafkaMetricSource source = new KafkaMetricSource();
        BatchCollector collector = TestMetrics.collector(source);
        try (Metrics metrics = new Metrics()) {
            source.put(metric(metrics, "first", 1.0));
            assertEquals(List.of(1.0), values(collector));
            source.put(metric(metrics, "text", "4.3.0"));
            KafkaMetric second = metric(metrics, "second", 2.0);
            source.put(second);
            assertEquals(2, values(collector).size());
            source.remove(second);
            assertEquals(List.of(1.0), values(collector));
        }
    }

    private static KafkaMetric metric(Metrics metrics, String name, Object value) {
        MetricName metric = metrics.metricName(name, "g");
        metrics.addMetric(metric, (Gauge<Object>) (config, now) -> value);
        return metrics.metric(metric);
    }

    private static List<Double> values(BatchCollector collector) {
        return collector.collect(CollectRequest.getDefaultInstance(), () -> false).getValuesList();
    }
}

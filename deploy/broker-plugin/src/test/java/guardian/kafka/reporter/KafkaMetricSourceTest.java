package guardian.kafka.reporter;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.MetricName;
import org.apache.kafka.common.metrics.JmxReporter;
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
}

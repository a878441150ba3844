package guardian.kafka.common;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;

import com.yammer.metrics.core.Counter;
import com.yammer.metrics.core.Gauge;
import com.yammer.metrics.core.MetricName;
import com.yammer.metrics.core.MetricsRegistry;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class OwnMetricsTest {
    private final MetricsRegistry registry = new MetricsRegistry();

    @AfterEach
    void stopRegistry() {
        registry.shutdown();
    }

    @Test
    void eachIsAnMbeanOfItsType() {
        OwnMetrics metrics = new OwnMetrics(registry, "Part");
        metrics.gauge("Files", () -> 7);
        assertEquals(
                List.of("guardian.kafka:type=Part,name=Files"),
                registry.allMetrics().keySet().stream().map(MetricName::getMBeanName).toList());
        assertEquals(7, ((Gauge<?>) registry.allMetrics().values().iterator().next()).value());
        metrics.close();
        assertEquals(Map.of(), registry.allMetrics());
    }

    @Test
    void aSecondOneInTheProcessLeavesTheNamesToTheFirst() {
        OwnMetrics first = new OwnMetrics(registry, "Part");
        Counter counter = first.counter("Reads");
        OwnMetrics second = new OwnMetrics(registry, "Part");
        assertSame(counter, second.counter("Reads"), "both count together");
        second.close();
        assertEquals(1, registry.allMetrics().size());
        first.close();
        assertEquals(Map.of(), registry.allMetrics());
    }
}

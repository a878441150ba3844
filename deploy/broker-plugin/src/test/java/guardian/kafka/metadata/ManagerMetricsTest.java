package guardian.kafka.metadata;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.yammer.metrics.core.Gauge;
import com.yammer.metrics.core.Metric;
import com.yammer.metrics.core.MetricName;
import com.yammer.metrics.core.MetricsRegistry;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class ManagerMetricsTest {
    private final MetricsRegistry registry = new MetricsRegistry();
    private final FakeGuardian shared = new FakeGuardian();

    @AfterEach
    void stopRegistry() {
        registry.shutdown();
    }

    private ManagerMetrics open() {
        return new ManagerMetrics(registry, List.of(), shared.store(null), new ManagerCounters(1));
    }

    @Test
    void namesAreThoseOfOneMbeanType() {
        try (ManagerMetrics metrics = open()) {
            assertTrue(registry.allMetrics().keySet().stream().allMatch(name -> name.getMBeanName()
                    .equals("guardian.kafka:type=GuardianRemoteLogMetadataManager,name=" + name.getName())));
        }
        assertEquals(Map.of(), registry.allMetrics());
    }

    @Test
    void aSecondManagerInTheProcessLeavesTheNamesToTheFirst() {
        ManagerMetrics first = open();
        Map<MetricName, Metric> before = Map.copyOf(registry.allMetrics());
        open().close();
        assertEquals(before, registry.allMetrics());
        first.close();
        assertEquals(Map.of(), registry.allMetrics());
    }

    @Test
    void everyMetricIsANumberAndStandsInTheReadme() throws Exception {
        String readme = Files.readString(Path.of("README.md"));
        try (ManagerMetrics metrics = open()) {
            registry.allMetrics().values().stream()
                    .filter(Gauge.class::isInstance)
                    .forEach(gauge -> assertTrue(((Gauge<?>) gauge).value() instanceof Number));
            assertEquals(
                    List.of(),
                    registry.allMetrics().keySet().stream()
                            .map(MetricName::getName)
                            .filter(name -> !readme.contains("`" + name + "`"))
                            .collect(Collectors.toList()));
        }
    }
}

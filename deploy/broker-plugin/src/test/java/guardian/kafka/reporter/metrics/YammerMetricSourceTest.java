package guardian.kafka.reporter.metrics;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.yammer.metrics.core.Gauge;
import com.yammer.metrics.core.MetricName;
import com.yammer.metrics.core.MetricsRegistry;
import guardian.v1.CollectRequest;
import java.nio.file.Path;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class YammerMetricSourceTest {
    @TempDir
    Path dir;

    @Test
    void theBrokersOwnMetricsSayHowLargeALogIsAndWhichDirIsOffline() {
        MetricsRegistry registry = new MetricsRegistry();
        gauge(registry, "Log", "Size", "kafka.log:type=Log,name=Size,topic=orders.v1,partition=3", 77L);
        gauge(registry, "LogManager", "LogDirectoryOffline",
                "kafka.log:type=LogManager,name=LogDirectoryOffline,logDirectory=\"" + dir + "\"", 1);
        YammerMetricSource logs = new YammerMetricSource(registry);
        assertEquals(OptionalLong.of(77), logs.sizeBytes("orders.v1-3"));
        assertEquals(OptionalLong.empty(), logs.sizeBytes("orders.v1-4"));
        assertEquals(OptionalLong.empty(), logs.sizeBytes("meta.properties"));
        assertTrue(logs.isOffline(dir));
        assertFalse(logs.isOffline(dir.resolve("other")));
        registry.shutdown();
    }

    @Test
    void aLogThatIsNewerThanTheLastCollectionHasItsSizeToo() {
        MetricsRegistry registry = new MetricsRegistry();
        YammerMetricSource logs = new YammerMetricSource(registry);
        gauge(registry, "Log", "Size", "kafka.log:type=Log,name=Size,topic=a,partition=0", 7L);
        gauge(registry, "Log", "Size", "kafka.log:type=Log,name=Size,topic=a,partition=0,is-future=true", 5L);
        TestMetrics.collector(logs).collect(CollectRequest.getDefaultInstance(), () -> false);
        gauge(registry, "Log", "Size", "kafka.log:type=Log,name=Size,topic=new,partition=1", 9L);
        assertEquals(OptionalLong.of(7), logs.sizeBytes("a-0"));
        assertEquals(OptionalLong.of(9), logs.sizeBytes("new-1"));
        registry.shutdown();
    }

    private static <T> void gauge(MetricsRegistry registry, String type, String name, String mbean, T value) {
        registry.newGauge(new MetricName("kafka.log", type, name, null, mbean), new Gauge<T>() {
            @Override
            public T value() {
                return value;
            }
        });
    }
}

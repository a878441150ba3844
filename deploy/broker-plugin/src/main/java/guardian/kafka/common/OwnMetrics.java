package guardian.kafka.common;

import com.yammer.metrics.core.Counter;
import com.yammer.metrics.core.Gauge;
import com.yammer.metrics.core.Metric;
import com.yammer.metrics.core.MetricName;
import com.yammer.metrics.core.MetricsRegistry;
import com.yammer.metrics.core.Timer;
import java.io.Closeable;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * One part's metrics among the broker's own, as mbeans {@code guardian.kafka:type=TYPE,name=...}: for JMX and for
 * Guardian's reporter.
 *
 * <p>Brokers in one process share a registry: a second part of a type leaves the names to the first.
 */
public final class OwnMetrics implements Closeable {
    private static final String GROUP = "guardian.kafka";

    private final Map<MetricName, Metric> own = new LinkedHashMap<>();
    private final MetricsRegistry registry;
    private final String type;

    public OwnMetrics(MetricsRegistry registry, String type) {
        this.registry = registry;
        this.type = type;
    }

    public <T> void gauge(String name, Supplier<T> value) {
        register(name, mbean -> registry.newGauge(mbean, new Gauge<T>() {
            @Override
            public T value() {
                return value.get();
            }
        }));
    }

    public Counter counter(String name) {
        return register(name, registry::newCounter);
    }

    /** Return a timer that shows milliseconds, and events per second. */
    public Timer timer(String name) {
        return register(name, mbean -> registry.newTimer(mbean, TimeUnit.MILLISECONDS, TimeUnit.SECONDS));
    }

    /** Remove what is still this instance's. */
    @Override
    public void close() {
        own.forEach((name, metric) -> {
            if (registry.allMetrics().get(name) == metric) {
                registry.removeMetric(name);
            }
        });
    }

    private <M extends Metric> M register(String name, Function<MetricName, M> registered) {
        MetricName mbean = new MetricName(GROUP, type, name, null, GROUP + ":type=" + type + ",name=" + name);
        boolean isTaken = registry.allMetrics().containsKey(mbean);
        M metric = registered.apply(mbean);
        if (!isTaken) {
            own.put(mbean, metric);
        }
        return metric;
    }
}

package guardian.kafka.reporter.metrics;

import com.yammer.metrics.core.Gauge;
import com.yammer.metrics.core.Metric;
import com.yammer.metrics.core.MetricName;
import com.yammer.metrics.core.MetricsRegistry;
import com.yammer.metrics.core.MetricsRegistryListener;
import guardian.kafka.reporter.host.LogDirReader;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.concurrent.atomic.AtomicLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.kafka.common.utils.Sanitizer;

/**
 * Most of a broker's metrics: every number that JMX has of them, under JMX's names.
 *
 * <p>They are listed by what they tell of: all that is said of a partition is read while the partition is in the
 * processor's cache, and what counts partitions is read after all of them.
 */
public final class YammerMetricSource implements MetricSource, LogDirReader.BrokerLogs, AutoCloseable {
    private static final String OF_THE_BROKER = "";
    private static final String LOG_SIZE_MBEAN = "kafka.log:type=Log,name=Size,topic=";

    /** Not that of a replica which moves to another log dir: it has more keys. */
    private static final Pattern LOG_SIZE =
            Pattern.compile(Pattern.quote(LOG_SIZE_MBEAN) + "([^,]+),partition=(\\d+)");

    private final MetricsRegistry registry;
    private final AtomicLong revision = new AtomicLong();
    private final MetricsRegistryListener changes = new Changes();
    private volatile Map<String, LogSize> logSizes = Map.of();

    public YammerMetricSource(MetricsRegistry registry) {
        this.registry = registry;
        registry.addListener(changes);
    }

    /** Called on the broker's threads. */
    private final class Changes implements MetricsRegistryListener {
        @Override
        public void onMetricAdded(MetricName name, Metric metric) {
            revision.incrementAndGet();
        }

        @Override
        public void onMetricRemoved(MetricName name) {
            revision.incrementAndGet();
        }
    }

    @Override
    public long revision() {
        return revision.get();
    }

    @Override
    public void list(Listing listing) {
        Map<String, List<Map.Entry<MetricName, Metric>>> bySubject = new LinkedHashMap<>();
        for (Map.Entry<MetricName, Metric> each : registry.allMetrics().entrySet()) {
            String scope = each.getKey().hasScope() ? each.getKey().getScope() : OF_THE_BROKER;
            bySubject.computeIfAbsent(scope, unseen -> new ArrayList<>()).add(each);
        }
        Map<String, LogSize> sizes = new HashMap<>();
        List<Map.Entry<MetricName, Metric>> ofTheBroker = bySubject.remove(OF_THE_BROKER);
        bySubject.values().forEach(metrics -> addAll(listing, metrics, sizes));
        if (ofTheBroker != null) {
            addAll(listing, ofTheBroker, sizes);
        }
        logSizes = sizes;
    }

    private static void addAll(
            Listing listing, List<Map.Entry<MetricName, Metric>> metrics, Map<String, LogSize> sizes) {
        for (Map.Entry<MetricName, Metric> each : metrics) {
            MetricName name = each.getKey();
            Metric metric = each.getValue();
            listing.add(
                    name, YammerReaders.attributesOf(metric), name::getMBeanName, readerOf(name, metric, sizes));
        }
    }

    private static MetricReader readerOf(MetricName name, Metric metric, Map<String, LogSize> sizes) {
        if (name.getName().equals("Size") && metric instanceof Gauge<?> gauge) {
            Matcher log = LOG_SIZE.matcher(name.getMBeanName());
            if (log.matches()) {
                LogSize size = new LogSize(gauge, System::nanoTime);
                sizes.put(log.group(1) + "-" + log.group(2), size);
                return size;
            }
        }
        return YammerReaders.of(metric);
    }

    @Override
    public void close() {
        registry.removeListener(changes);
    }

    @Override
    public boolean isOffline(Path logDir) {
        String mbean = "kafka.log:type=LogManager,name=LogDirectoryOffline,logDirectory="
                + Sanitizer.jmxSanitize(logDir.toString());
        return gauge("LogManager", "LogDirectoryOffline", mbean).orElse(0) != 0;
    }

    @Override
    public OptionalLong sizeBytes(String folder) {
        LogSize listed = logSizes.get(folder);
        return listed == null ? unlistedSize(folder) : listed.bytes();
    }

    /** Of a log that is newer than the last list. */
    private OptionalLong unlistedSize(String folder) {
        int dash = folder.lastIndexOf('-');
        return dash < 0
                ? OptionalLong.empty()
                : gauge("Log", "Size", LOG_SIZE_MBEAN + folder.substring(0, dash) + ",partition="
                        + folder.substring(dash + 1));
    }

    private OptionalLong gauge(String type, String name, String mbean) {
        Metric metric = registry.allMetrics().get(new MetricName("kafka.log", type, name, null, mbean));
        return metric instanceof Gauge<?> gauge ? LogSize.of(gauge) : OptionalLong.empty();
    }
}

package guardian.kafka.hdfs;

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
import java.util.function.LongSupplier;

/** What the storage manager counts: {@code guardian.kafka:type=HdfsRemoteStorageManager,name=...}. */
final class StorageMetrics implements Closeable {
    static final String GROUP = "guardian.kafka";
    static final String TYPE = "HdfsRemoteStorageManager";

    final Counter cacheHits;
    final Counter cacheMisses;
    final Counter cacheEvictions;
    final Counter cacheCorruptions;
    /** Reads that went past the cache, for want of room on the disk. */
    final Counter directReads;
    /** Files opened for reading, and bytes read. */
    final Counter reads;
    final Counter readBytes;
    final Counter writeBytes;
    final Counter errors;
    final Timer downloadTime;
    final Timer copyTime;
    final Timer deleteTime;

    private final MetricsRegistry registry;
    private final Map<MetricName, Metric> own = new LinkedHashMap<>();

    StorageMetrics(MetricsRegistry registry) {
        this.registry = registry;
        this.cacheHits = counter("CacheHits");
        this.cacheMisses = counter("CacheMisses");
        this.cacheEvictions = counter("CacheEvictions");
        this.cacheCorruptions = counter("CacheCorruptions");
        this.directReads = counter("DirectReads");
        this.reads = counter("HdfsReads");
        this.readBytes = counter("HdfsReadBytes");
        this.writeBytes = counter("HdfsWriteBytes");
        this.errors = counter("HdfsErrors");
        this.downloadTime = timer("DownloadTimeMs");
        this.copyTime = timer("CopyTimeMs");
        this.deleteTime = timer("DeleteTimeMs");
    }

    void gauge(String name, LongSupplier value) {
        own(name, registry.newGauge(name(name), new Gauge<Long>() {
            @Override
            public Long value() {
                return value.getAsLong();
            }
        }));
    }

    /** Takes back what is still this instance's: brokers in one process share a registry. */
    @Override
    public void close() {
        own.forEach((name, metric) -> {
            if (registry.allMetrics().get(name) == metric) {
                registry.removeMetric(name);
            }
        });
    }

    private Counter counter(String name) {
        return own(name, registry.newCounter(name(name)));
    }

    private Timer timer(String name) {
        return own(name, registry.newTimer(name(name), TimeUnit.MILLISECONDS, TimeUnit.SECONDS));
    }

    private <M extends Metric> M own(String name, M metric) {
        own.put(name(name), metric);
        return metric;
    }

    private static MetricName name(String name) {
        String mbean = GROUP + ":type=" + TYPE + ",name=" + name;
        return new MetricName(GROUP, TYPE, name, null, mbean);
    }
}

package guardian.kafka.hdfs;

import com.yammer.metrics.core.Counter;
import com.yammer.metrics.core.MetricsRegistry;
import com.yammer.metrics.core.Timer;
import guardian.kafka.common.OwnMetrics;
import java.io.Closeable;
import java.util.function.LongSupplier;

/** What the storage manager counts: {@code guardian.kafka:type=HdfsRemoteStorageManager,name=...}. */
final class StorageMetrics implements Closeable {
    private static final String TYPE = "HdfsRemoteStorageManager";

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

    private final OwnMetrics own;

    StorageMetrics(MetricsRegistry registry) {
        this.own = new OwnMetrics(registry, TYPE);
        this.cacheHits = own.counter("CacheHits");
        this.cacheMisses = own.counter("CacheMisses");
        this.cacheEvictions = own.counter("CacheEvictions");
        this.cacheCorruptions = own.counter("CacheCorruptions");
        this.directReads = own.counter("DirectReads");
        this.reads = own.counter("HdfsReads");
        this.readBytes = own.counter("HdfsReadBytes");
        this.writeBytes = own.counter("HdfsWriteBytes");
        this.errors = own.counter("HdfsErrors");
        this.downloadTime = own.timer("DownloadTimeMs");
        this.copyTime = own.timer("CopyTimeMs");
        this.deleteTime = own.timer("DeleteTimeMs");
    }

    void gauge(String name, LongSupplier value) {
        own.gauge(name, value::getAsLong);
    }

    @Override
    public void close() {
        own.close();
    }
}

package guardian.kafka.hdfs;

import com.yammer.metrics.core.MetricsRegistry;
import java.io.ByteArrayInputStream;
import java.io.Closeable;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.server.log.remote.storage.LogSegmentData;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteStorageException;
import org.apache.kafka.server.log.remote.storage.RemoteStorageManager.IndexType;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Segments in HDFS, read through a cache on the local disk: what {@code guardian.kafka.HdfsRemoteStorageManager} calls.
 *
 * <p>A segment's two files are both cached whole, so a segment costs HDFS two reads, however many readers it has and however
 * often they come. Reads and copies may be interrupted; the thread's flag is kept.
 */
public final class HdfsSegmentStore implements Closeable {
    private static final Logger LOG = LoggerFactory.getLogger(HdfsSegmentStore.class);
    private static final long WARNING_INTERVAL_NANOS = TimeUnit.MINUTES.toNanos(1);

    private final RemoteFiles files;
    private final StorageMetrics metrics;
    private final SegmentCache cache;
    private final SegmentCopier copier;
    private volatile long mayWarnAt = System.nanoTime();

    HdfsSegmentStore(RemoteFiles files, SegmentCache cache, StorageMetrics metrics) {
        this.files = files;
        this.cache = cache;
        this.metrics = metrics;
        this.copier = new SegmentCopier(files, metrics);
    }

    /**
     * Opens the store; HDFS itself is first asked by the first call.
     *
     * @throws IllegalArgumentException naming the setting, its value and the fix
     */
    public static HdfsSegmentStore open(Map<String, ?> configs, MetricsRegistry registry) {
        HdfsSettings settings = HdfsSettings.read(configs);
        HdfsSettings.unknown(configs).forEach(name -> LOG.warn("{} is no setting of the HDFS storage: it is ignored", name));
        StorageMetrics metrics = new StorageMetrics(registry);
        RemoteFiles files = new TimeLimitedFiles(new HdfsFiles(settings), new TimeLimit(settings.readTimeout()));
        try {
            SegmentCache cache = new SegmentCache(
                    settings.cacheDir(), settings.cacheMaxBytes(), settings.downloadThreads(), files, metrics);
            LOG.info("Segments are kept at {}, cached in {}: {} files with {} bytes are there already",
                    settings.uri(), settings.cacheDir(), cache.fileCount(), cache.bytes());
            return new HdfsSegmentStore(files, cache, metrics);
        } catch (IOException e) {
            metrics.close();
            throw new IllegalArgumentException(HdfsSettings.CACHE_DIR + " is unusable: " + e + "; use a folder on a local disk", e);
        }
    }

    /**
     * Copies a segment; repeating is safe, and a failed copy leaves nothing where HDFS can still be reached.
     *
     * <p>A failure is never a retriable one: for these Kafka would keep the begun copy in its metadata, and begin another
     * under a new id. After the plain one it deletes this one, then begins another.
     */
    public void copy(RemoteLogSegmentMetadata metadata, LogSegmentData data) throws RemoteStorageException {
        SegmentPath segment = pathOf(metadata);
        dropCached(segment);
        try {
            copier.copy(segment, data);
        } catch (IOException e) {
            metrics.errors.inc();
            throw new RemoteStorageException("can't copy " + segment.log() + ": " + StorageErrors.sentenceOf(e), e);
        }
    }

    /** The segment's bytes from one position to before another, or to its end. */
    public InputStream fetchSegment(RemoteLogSegmentMetadata metadata, long from, long to) throws RemoteStorageException {
        SegmentPath segment = pathOf(metadata);
        try {
            String name = cachedLog(segment);
            Optional<InputStream> cached = cache.openCached(name, from, to);
            return cached.isPresent() ? cached.get() : fetchUncached(segment, name, from, to);
        } catch (IOException e) {
            throw failed("can't read " + segment.log(), e);
        }
    }

    /** One index; RemoteResourceNotFoundException when the segment is not there, or has no such index. */
    public InputStream fetchIndex(RemoteLogSegmentMetadata metadata, IndexType type) throws RemoteStorageException {
        SegmentPath segment = pathOf(metadata);
        IndexesFile.Part part = IndexesFile.Part.valueOf(type.name());
        try {
            IndexesFile.Header header = header(segment);
            if (!header.has(part)) {
                throw new FileNotFoundException("the segment has none");
            }
            long position = header.position(part);
            return openIndexes(segment, position, position + header.length(part));
        } catch (IOException e) {
            throw failed("can't read the " + type + " index of " + segment.log(), e);
        }
    }

    /** Deletes a segment, whole or partly copied, here and there; what is gone already is no error. */
    public void delete(RemoteLogSegmentMetadata metadata) throws RemoteStorageException {
        SegmentPath segment = pathOf(metadata);
        try {
            copier.delete(segment);
        } catch (IOException e) {
            throw failed("can't delete " + segment.log(), e);
        } finally {
            dropCached(segment);
        }
    }

    @Override
    public void close() throws IOException {
        try (metrics;
                files;
                cache) {
            LOG.info("The storage manager closes; {} cached bytes stay for the next start", cache.bytes());
        }
    }

    private InputStream fetchUncached(SegmentPath segment, String name, long from, long to) throws IOException {
        IndexesFile.Header header = header(segment);
        try {
            return cache.open(new SegmentCache.Source(name, segment.log(), header.logCrc()), from, to);
        } catch (SegmentCache.NoRoomException e) {
            warn(e);
            return direct(segment.log(), from, to);
        }
    }

    private IndexesFile.Header header(SegmentPath segment) throws IOException {
        try (InputStream in = openIndexes(segment, 0, IndexesFile.HEADER_BYTES)) {
            return IndexesFile.readHeader(in, segment.indexes());
        }
    }

    private InputStream openIndexes(SegmentPath segment, long from, long to) throws IOException {
        String path = segment.indexes();
        try {
            return cache.open(new SegmentCache.Source(cachedIndexes(segment), path, IndexesFile.WHOLE_FILE_CRC), from, to);
        } catch (SegmentCache.NoRoomException e) {
            warn(e);
            try (InputStream all = direct(path, 0, Long.MAX_VALUE)) {
                byte[] bytes = IndexesFile.checked(all.readAllBytes(), path);
                int start = (int) Math.min(from, bytes.length);
                return new ByteArrayInputStream(bytes, start, (int) Math.min(to, bytes.length) - start);
            }
        }
    }

    /** Past the cache: HDFS checks these bytes by its own checksums. */
    private InputStream direct(String path, long from, long to) throws IOException {
        RemoteFiles.OpenFile file = files.open(path, from);
        metrics.reads.inc();
        metrics.directReads.inc();
        return new BoundedStream(file.stream(), to - from, metrics.readBytes::inc);
    }

    private void dropCached(SegmentPath segment) {
        cache.drop(cachedLog(segment));
        cache.drop(cachedIndexes(segment));
    }

    private RemoteStorageException failed(String what, IOException cause) {
        if (!(cause instanceof FileNotFoundException)) {
            metrics.errors.inc();
        }
        return StorageErrors.of(what, cause);
    }

    /** Each read of a segment would say it again. */
    private void warn(SegmentCache.NoRoomException reason) {
        long now = System.nanoTime();
        if (now - mayWarnAt >= 0) {
            mayWarnAt = now + WARNING_INTERVAL_NANOS;
            LOG.warn("Reading from HDFS past the cache: {}", reason.getMessage());
        }
    }

    private static String cachedLog(SegmentPath segment) {
        return segment.segmentId() + ".log";
    }

    private static String cachedIndexes(SegmentPath segment) {
        return segment.segmentId() + ".indexes";
    }

    private static SegmentPath pathOf(RemoteLogSegmentMetadata metadata) {
        var partition = metadata.remoteLogSegmentId().topicIdPartition();
        return new SegmentPath(
                partition.topic(),
                partition.topicId().toString(),
                partition.partition(),
                metadata.startOffset(),
                metadata.remoteLogSegmentId().id().toString());
    }
}

package guardian.kafka;

import guardian.kafka.hdfs.HdfsSegmentStore;
import java.io.IOException;
import java.io.InputStream;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.server.log.remote.storage.LogSegmentData;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata.CustomMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteStorageException;
import org.apache.kafka.server.log.remote.storage.RemoteStorageManager;
import org.apache.kafka.server.metrics.KafkaYammerMetrics;

/**
 * Keeps a broker's tiered segments in HDFS, and reads each from there once: a local cache on disk serves every further
 * read.
 *
 * <p>Settings: {@code rsm.config.hdfs.uri}, {@code rsm.config.cache.dir}, and what deploy/broker-plugin/README.md lists
 * besides. Hadoop's client is not part of the plugin: it comes on the class path that the operator names.
 */
public final class HdfsRemoteStorageManager implements RemoteStorageManager {
    private HdfsSegmentStore store;

    @Override
    public void configure(Map<String, ?> configs) {
        store = HdfsSegmentStore.open(configs, KafkaYammerMetrics.defaultRegistry());
    }

    @Override
    public Optional<CustomMetadata> copyLogSegmentData(RemoteLogSegmentMetadata metadata, LogSegmentData data)
            throws RemoteStorageException {
        store.copy(metadata, data);
        return Optional.empty();
    }

    @Override
    public InputStream fetchLogSegment(RemoteLogSegmentMetadata metadata, int startPosition)
            throws RemoteStorageException {
        return store.fetchSegment(metadata, checked(startPosition), Long.MAX_VALUE);
    }

    @Override
    public InputStream fetchLogSegment(RemoteLogSegmentMetadata metadata, int startPosition, int endPosition)
            throws RemoteStorageException {
        if (endPosition < checked(startPosition)) {
            throw new IllegalArgumentException("endPosition is " + endPosition + ": use " + startPosition
                    + ", the startPosition, or more");
        }
        return store.fetchSegment(metadata, startPosition, endPosition + 1L);
    }

    @Override
    public InputStream fetchIndex(RemoteLogSegmentMetadata metadata, IndexType indexType)
            throws RemoteStorageException {
        return store.fetchIndex(metadata, indexType);
    }

    @Override
    public void deleteLogSegmentData(RemoteLogSegmentMetadata metadata) throws RemoteStorageException {
        store.delete(metadata);
    }

    @Override
    public void close() throws IOException {
        if (store != null) {
            store.close();
        }
    }

    private static int checked(int startPosition) {
        if (startPosition < 0) {
            throw new IllegalArgumentException("startPosition is " + startPosition + ": use 0 or more");
        }
        return startPosition;
    }
}

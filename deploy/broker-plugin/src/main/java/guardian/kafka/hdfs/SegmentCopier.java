package guardian.kafka.hdfs;

import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.zip.CRC32C;
import org.apache.kafka.server.log.remote.storage.LogSegmentData;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Puts segments into the remote storage, and takes them away.
 *
 * <p>The order makes every moment safe to die in: first the log under its temporary name, then the indexes likewise, then
 * both renamed, the log last. So a log is there if and only if the copy is complete, and its indexes are there with it. A
 * deletion goes the other way round, and also takes what a copy has left half done.
 */
final class SegmentCopier {
    private static final Logger LOG = LoggerFactory.getLogger(SegmentCopier.class);
    private static final int DELETE_ATTEMPTS = 3;

    private final RemoteFiles files;
    private final StorageMetrics metrics;

    SegmentCopier(RemoteFiles files, StorageMetrics metrics) {
        this.files = files;
        this.metrics = metrics;
    }

    void copy(SegmentPath segment, LogSegmentData data) throws IOException {
        long startedAt = System.nanoTime();
        try {
            // A copy that is repeated begins again: its log must not be there while its indexes are replaced.
            files.delete(segment.log());
            int logCrc = writeLog(segment.log() + SegmentPath.PARTIAL, data.logSegment());
            writeIndexes(segment.indexes() + SegmentPath.PARTIAL, logCrc, data);
            files.delete(segment.indexes());
            files.rename(segment.indexes() + SegmentPath.PARTIAL, segment.indexes());
            files.rename(segment.log() + SegmentPath.PARTIAL, segment.log());
        } catch (IOException | RuntimeException | LinkageError e) {
            cleanUp(segment);
            throw e;
        }
        metrics.copyTime.update(System.nanoTime() - startedAt, TimeUnit.NANOSECONDS);
    }

    /**
     * Kafka deletes the segments of a deleted topic once, and what fails then stays for ever: a stale connection to a
     * NameNode that has started anew must not be enough for that.
     */
    void delete(SegmentPath segment) throws IOException {
        long startedAt = System.nanoTime();
        for (int attempt = 1; ; attempt++) {
            try {
                deleteFiles(segment);
                break;
            } catch (InterruptedIOException | RemoteTimeoutException e) {
                throw e;
            } catch (IOException e) {
                if (attempt == DELETE_ATTEMPTS) {
                    throw e;
                }
                LOG.info("{} can't be deleted and is tried again: {}", segment.log(), e.toString());
            }
        }
        deleteEmptyFolders(segment);
        metrics.deleteTime.update(System.nanoTime() - startedAt, TimeUnit.NANOSECONDS);
    }

    private void deleteFiles(SegmentPath segment) throws IOException {
        files.delete(segment.log());
        files.delete(segment.log() + SegmentPath.PARTIAL);
        files.delete(segment.indexes());
        files.delete(segment.indexes() + SegmentPath.PARTIAL);
    }

    /** Folders too take room in a NameNode; one that stays is no error, and goes with the next segment. */
    private void deleteEmptyFolders(SegmentPath segment) {
        try {
            if (files.deleteEmptyFolder(segment.partitionFolder())) {
                files.deleteEmptyFolder(segment.topicFolder());
            }
        } catch (IOException e) {
            LOG.debug("{} may be empty and is still there", segment.partitionFolder(), e);
        }
    }

    /** Also after an interrupt, which would end each of its calls at once. */
    private void cleanUp(SegmentPath segment) {
        boolean interrupted = Thread.interrupted();
        try {
            delete(segment);
        } catch (IOException | RuntimeException | LinkageError e) {
            LOG.warn("{} was not copied, and what is there of it can't be deleted now: {}", segment.log(), e.toString());
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private int writeLog(String path, Path source) throws IOException {
        CRC32C crc = new CRC32C();
        byte[] chunk = new byte[TimeLimitedFiles.CHUNK_BYTES];
        try (InputStream in = Files.newInputStream(source);
                OutputStream out = files.create(path)) {
            int read = in.readNBytes(chunk, 0, chunk.length);
            while (read > 0) {
                crc.update(chunk, 0, read);
                out.write(chunk, 0, read);
                metrics.writeBytes.inc(read);
                read = in.readNBytes(chunk, 0, chunk.length);
            }
        }
        return (int) crc.getValue();
    }

    private void writeIndexes(String path, int logCrc, LogSegmentData data) throws IOException {
        List<IndexesFile.PartSource> parts = List.of(
                part(data.offsetIndex()),
                part(data.timeIndex()),
                part(data.producerSnapshotIndex()),
                optionalPart(data.transactionIndex()),
                part(data.leaderEpochIndex()));
        try (OutputStream out = new BufferedOutputStream(files.create(path), TimeLimitedFiles.CHUNK_BYTES)) {
            long bytes = IndexesFile.write(out, logCrc, parts);
            metrics.writeBytes.inc(bytes);
        }
    }

    private static IndexesFile.PartSource optionalPart(Optional<Path> file) throws IOException {
        return file.isPresent() ? part(file.get()) : IndexesFile.PartSource.NONE;
    }

    private static IndexesFile.PartSource part(Path file) throws IOException {
        return new IndexesFile.PartSource(Math.toIntExact(Files.size(file)), out -> Files.copy(file, out));
    }

    private static IndexesFile.PartSource part(ByteBuffer buffer) {
        byte[] bytes = new byte[buffer.remaining()];
        buffer.duplicate().get(bytes);
        return new IndexesFile.PartSource(bytes.length, out -> out.write(bytes));
    }
}

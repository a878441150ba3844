package guardian.kafka.hdfs;

import guardian.kafka.common.DaemonThreads;
import java.io.Closeable;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.lang.ref.Cleaner;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Remote files on the local disk, each read from remote once: who asks for one that is not there waits for its download,
 * with everybody else who asks meanwhile.
 *
 * <p>A download belongs to nobody: a reader that gives up leaves it to the others. A file is written under a temporary
 * name and renamed when its checksum is right, so that a crash leaves temporary files only, which the next start removes.
 * The disk is never what a read fails for: where it has no room, {@link NoRoomException} sends the reader to the remote
 * file itself.
 */
final class SegmentCache implements Closeable {
    private static final Logger LOG = LoggerFactory.getLogger(SegmentCache.class);
    private static final Cleaner CLEANER = Cleaner.create(new DaemonThreads("guardian-hdfs-cleaner"));
    private static final Duration CLOSE_LIMIT = Duration.ofSeconds(5);
    private static final String PARTIAL = ".tmp";
    private static final String LOCK = ".lock";

    private final Path dir;
    private final RemoteFiles files;
    private final StorageMetrics metrics;
    private final ExecutorService downloaders;
    private final FileChannel lockFile;
    private final CacheSpace space;
    private final Map<String, Download> downloads = new HashMap<>();

    /** A remote file, what it is called here, and the CRC32C that it was written with. */
    record Source(String name, String path, int crc) {}

    /** The local disk can't take the file. */
    static final class NoRoomException extends IOException {
        private static final long serialVersionUID = 1L;

        NoRoomException(String message, Throwable cause) {
            super(message, cause);
        }
    }

    private static final class Download {
        private final CompletableFuture<CacheSpace.Entry> result = new CompletableFuture<>();
        private int waiting;
        private boolean unwanted;
    }

    /** Opens a cache over a directory of its own, with what an earlier run left in it. */
    SegmentCache(Path dir, long maxBytes, int downloadThreads, RemoteFiles files, StorageMetrics metrics)
            throws IOException {
        this.dir = dir;
        this.files = files;
        this.metrics = metrics;
        this.space = new CacheSpace(maxBytes);
        Files.createDirectories(dir);
        this.lockFile = lock(dir.resolve(LOCK));
        try {
            restore();
        } catch (IOException | RuntimeException e) {
            lockFile.close();
            throw e;
        }
        this.downloaders =
                Executors.newFixedThreadPool(downloadThreads, new DaemonThreads("guardian-hdfs-download"));
        metrics.gauge("CacheBytes", this::bytes);
        metrics.gauge("CacheFiles", this::fileCount);
    }

    /** Opens a range of a cached file; empty when it is not here, or not here any more since it was found damaged. */
    Optional<InputStream> openCached(String name, long from, long to) throws IOException {
        Optional<CacheSpace.Entry> entry;
        synchronized (this) {
            entry = space.use(name);
        }
        if (entry.isEmpty()) {
            return Optional.empty();
        }
        try {
            InputStream stream = read(entry.get(), from, to);
            metrics.cacheHits.inc();
            return Optional.of(stream);
        } catch (CorruptFileException e) {
            return Optional.empty();
        }
    }

    /**
     * Opens a range of a file, downloaded before where necessary.
     *
     * @throws NoRoomException when the local disk can't take it, or does not give it back
     * @throws CorruptFileException when the remote file is not what was written
     * @throws FileNotFoundException when there is no such remote file
     */
    InputStream open(Source source, long from, long to) throws IOException {
        Optional<InputStream> cached = openCached(source.name(), from, to);
        if (cached.isPresent()) {
            return cached.get();
        }
        metrics.cacheMisses.inc();
        CacheSpace.Entry entry = downloaded(source);
        try {
            return read(entry, from, to);
        } catch (CorruptFileException e) {
            throw localFailure(source, e);
        }
    }

    /** Forgets a file that is gone in the remote storage; a download of it that is under way comes to nothing. */
    synchronized void drop(String name) {
        Download download = downloads.get(name);
        if (download != null) {
            download.unwanted = true;
        }
        if (space.remove(name)) {
            delete(name);
        }
    }

    synchronized long bytes() {
        return space.kept();
    }

    synchronized int fileCount() {
        return space.files();
    }

    @Override
    public void close() throws IOException {
        downloaders.shutdownNow();
        DaemonThreads.await(downloaders, CLOSE_LIMIT);
        synchronized (this) {
            downloads.values().forEach(download -> download.result.completeExceptionally(closed()));
        }
        lockFile.close();
    }

    private static IOException closed() {
        return new InterruptedIOException("the storage manager is closed");
    }

    private CacheSpace.Entry downloaded(Source source) throws IOException {
        Download download;
        synchronized (this) {
            Optional<CacheSpace.Entry> entry = space.use(source.name());
            if (entry.isPresent()) {
                return entry.get();
            }
            download = downloads.get(source.name());
            if (download == null) {
                download = start(source);
            }
            download.waiting++;
        }
        try {
            return download.result.get();
        } catch (InterruptedException e) {
            leave(download);
            Thread.currentThread().interrupt();
            throw new InterruptedIOException("interrupted while " + source.path() + " was downloaded");
        } catch (ExecutionException e) {
            if (e.getCause() instanceof IOException io) {
                throw io;
            }
            throw new IOException("can't download " + source.path() + ": " + e.getCause(), e.getCause());
        }
    }

    private Download start(Source source) throws IOException {
        Download download = new Download();
        try {
            downloaders.execute(() -> run(source, download));
        } catch (RejectedExecutionException e) {
            throw closed();
        }
        downloads.put(source.name(), download);
        return download;
    }

    private synchronized void leave(Download download) {
        download.waiting--;
        if (download.result.isDone() && !download.result.isCompletedExceptionally()) {
            space.release(download.result.join());
        }
    }

    private void run(Source source, Download download) {
        long startedAt = System.nanoTime();
        try {
            long bytes = fetch(source);
            synchronized (this) {
                end(source, download, bytes);
            }
            metrics.downloadTime.update(System.nanoTime() - startedAt, TimeUnit.NANOSECONDS);
        } catch (IOException | RuntimeException | LinkageError | OutOfMemoryError e) {
            synchronized (this) {
                downloads.remove(source.name());
                download.result.completeExceptionally(e);
            }
        }
    }

    private void end(Source source, Download download, long bytes) throws IOException {
        try {
            if (download.unwanted) {
                throw new FileNotFoundException(source.path() + " was deleted while it was downloaded");
            }
            Files.move(partial(source.name()), dir.resolve(source.name()), StandardCopyOption.ATOMIC_MOVE);
        } catch (IOException e) {
            space.unreserve(bytes);
            deleteFile(partial(source.name()));
            throw e instanceof FileNotFoundException ? e : localFailure(source, e);
        }
        downloads.remove(source.name());
        download.result.complete(space.add(source.name(), bytes, download.waiting));
    }

    /** Writes the temporary file. Returns what is reserved for it. */
    private long fetch(Source source) throws IOException {
        try (RemoteFiles.OpenFile remote = files.open(source.path(), 0)) {
            metrics.reads.inc();
            long bytes = CachedFile.bytesOnDisk(remote.length());
            reserve(source, bytes);
            try {
                copy(source, remote);
                return bytes;
            } catch (IOException | RuntimeException | LinkageError | OutOfMemoryError e) {
                synchronized (this) {
                    space.unreserve(bytes);
                }
                deleteFile(partial(source.name()));
                throw e;
            }
        }
    }

    private synchronized void reserve(Source source, long bytes) throws NoRoomException {
        List<String> evicted = space.reserve(bytes)
                .orElseThrow(() -> new NoRoomException(
                        HdfsSettings.CACHE_MAX_BYTES + " leaves no room for the " + bytes + " bytes of " + source.path()
                                + " beside files that are being read: raise it",
                        null));
        evicted.forEach(this::delete);
        metrics.cacheEvictions.inc(evicted.size());
    }

    private void copy(Source source, RemoteFiles.OpenFile remote) throws IOException {
        byte[] chunk = new byte[CachedFile.BLOCK_BYTES];
        CachedFile.Writer writer;
        try {
            writer = new CachedFile.Writer(partial(source.name()), remote.length());
        } catch (IOException e) {
            throw localFailure(source, e);
        }
        int crc;
        try (writer) {
            int read = remote.stream().read(chunk);
            while (read >= 0) {
                metrics.readBytes.inc(read);
                write(source, writer, chunk, read);
                read = remote.stream().read(chunk);
            }
            crc = finish(source, writer);
        }
        if (crc != source.crc()) {
            throw new CorruptFileException(source.path() + " has the CRC32C " + Integer.toHexString(crc) + " and was written with "
                    + Integer.toHexString(source.crc()) + ": the remote file is damaged");
        }
    }

    private static void write(Source source, CachedFile.Writer writer, byte[] chunk, int length) throws IOException {
        try {
            writer.write(chunk, length);
        } catch (CorruptFileException e) {
            throw new CorruptFileException(source.path() + ": " + e.getMessage());
        } catch (IOException e) {
            throw localFailure(source, e);
        }
    }

    private static int finish(Source source, CachedFile.Writer writer) throws IOException {
        try {
            return writer.finish();
        } catch (CorruptFileException e) {
            throw new CorruptFileException(source.path() + ": " + e.getMessage());
        } catch (IOException e) {
            throw localFailure(source, e);
        }
    }

    private static NoRoomException localFailure(Source source, IOException cause) {
        return new NoRoomException(
                HdfsSettings.CACHE_DIR + " can't take " + source.path() + ": " + cause + "; give its disk room", cause);
    }

    /** Gives up the entry's one use when it can't be read, and the entry when that is its own fault. */
    private InputStream read(CacheSpace.Entry entry, long from, long to) throws IOException {
        try {
            return new PinnedStream(new CachedFile.Reader(dir.resolve(entry.name()), from, to), entry, this);
        } catch (IOException | RuntimeException e) {
            release(entry);
            if (e instanceof CorruptFileException) {
                discard(entry, e.getMessage());
            }
            throw e;
        }
    }

    private synchronized void release(CacheSpace.Entry entry) {
        space.release(entry);
    }

    private synchronized void discard(CacheSpace.Entry entry, String why) {
        if (space.remove(entry)) {
            LOG.warn("A cached file is thrown away, to be downloaded again: {}", why);
            metrics.cacheCorruptions.inc();
            delete(entry.name());
        }
    }

    private void restore() throws IOException {
        record Found(Path path, long bytes, long usedAt) {}

        try (Stream<Path> all = Files.list(dir)) {
            List<Path> regular = all.filter(Files::isRegularFile).toList();
            regular.stream().filter(path -> path.toString().endsWith(PARTIAL)).forEach(SegmentCache::deleteFile);
            regular.stream()
                    .filter(path -> !path.toString().endsWith(PARTIAL) && !path.endsWith(LOCK))
                    .map(Path::toFile)
                    .map(file -> new Found(file.toPath(), file.length(), file.lastModified()))
                    .sorted(Comparator.comparingLong(Found::usedAt))
                    .forEach(found -> space.restore(found.path().getFileName().toString(), found.bytes()));
        }
        space.shrink().forEach(this::delete);
    }

    private static FileChannel lock(Path file) throws IOException {
        FileChannel channel = FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
        FileLock lock;
        try {
            lock = channel.tryLock();
        } catch (OverlappingFileLockException e) {
            lock = null;
        }
        if (lock == null) {
            channel.close();
            throw new IOException(file + " is locked by another broker: give each a directory of its own");
        }
        return channel;
    }

    private Path partial(String name) {
        return dir.resolve(name + PARTIAL);
    }

    private void delete(String name) {
        deleteFile(dir.resolve(name));
    }

    private static void deleteFile(Path file) {
        try {
            Files.deleteIfExists(file);
        } catch (IOException e) {
            LOG.warn("{} can't be deleted from the cache and takes up its disk: {}", file, e.toString());
        }
    }

    /** A reader that holds its file in the cache until it is closed, or forgotten by whoever should have closed it. */
    private static final class PinnedStream extends InputStream {
        private final CachedFile.Reader reader;
        private final CacheSpace.Entry entry;
        private final SegmentCache cache;
        private final Cleaner.Cleanable pin;

        PinnedStream(CachedFile.Reader reader, CacheSpace.Entry entry, SegmentCache cache) {
            this.reader = reader;
            this.entry = entry;
            this.cache = cache;
            this.pin = CLEANER.register(this, new Unpin(reader, entry, cache));
        }

        @Override
        public int read() throws IOException {
            try {
                return reader.read();
            } catch (CorruptFileException e) {
                cache.discard(entry, e.getMessage());
                throw e;
            }
        }

        @Override
        public int read(byte[] target, int offset, int length) throws IOException {
            try {
                return reader.read(target, offset, length);
            } catch (CorruptFileException e) {
                cache.discard(entry, e.getMessage());
                throw e;
            }
        }

        @Override
        public long skip(long count) {
            return reader.skip(count);
        }

        @Override
        public int available() {
            return reader.available();
        }

        @Override
        public void close() {
            pin.clean();
        }

        private record Unpin(CachedFile.Reader reader, CacheSpace.Entry entry, SegmentCache cache) implements Runnable {
            @Override
            public void run() {
                cache.release(entry);
                try {
                    reader.close();
                } catch (IOException e) {
                    LOG.debug("{} was open for reading and failed to close", entry.name(), e);
                }
            }
        }
    }
}

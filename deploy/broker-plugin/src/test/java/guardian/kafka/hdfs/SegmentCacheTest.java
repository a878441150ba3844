package guardian.kafka.hdfs;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.yammer.metrics.core.MetricsRegistry;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SegmentCacheTest {
    private static final int BYTES = 200_000;
    private static final long ON_DISK = CachedFile.bytesOnDisk(BYTES);

    @TempDir
    Path dir;

    private final MemoryFiles remote = new MemoryFiles();
    private final MetricsRegistry registry = new MetricsRegistry();
    private final StorageMetrics metrics = new StorageMetrics(registry);
    private final ExecutorService readers = Executors.newCachedThreadPool();
    private final List<SegmentCache> opened = new ArrayList<>();

    @AfterEach
    void close() throws IOException {
        readers.shutdownNow();
        for (SegmentCache cache : opened) {
            cache.close();
        }
        registry.shutdown();
    }

    private SegmentCache cache(long maxBytes) throws IOException {
        SegmentCache cache = new SegmentCache(dir, maxBytes, 4, remote, metrics);
        opened.add(cache);
        return cache;
    }

    private SegmentCache reopened(SegmentCache cache, long maxBytes) throws IOException {
        cache.close();
        return cache(maxBytes);
    }

    private SegmentCache.Source source(String name) {
        byte[] bytes = remote.files.computeIfAbsent("topic/" + name, path -> Segments.bytes(BYTES, path.hashCode()));
        CRC32C crc = new CRC32C();
        crc.update(bytes);
        return new SegmentCache.Source(name, "topic/" + name, (int) crc.getValue());
    }

    private void assertReads(SegmentCache cache, String name) throws IOException {
        SegmentCache.Source source = source(name);
        try (InputStream in = cache.open(source, 0, Long.MAX_VALUE)) {
            assertArrayEquals(remote.files.get(source.path()), in.readAllBytes());
        }
    }

    private List<String> filesOnDisk() throws IOException {
        try (Stream<Path> files = Files.list(dir)) {
            return files.map(file -> file.getFileName().toString())
                    .filter(name -> !name.equals(".lock"))
                    .sorted()
                    .toList();
        }
    }

    private static void await(BooleanSupplier condition) throws InterruptedException {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
        while (!condition.getAsBoolean()) {
            assertTrue(System.nanoTime() < deadline, "not in time");
            Thread.sleep(1);
        }
    }

    @Test
    void sixteenReadersAtOnceAndManyAfterThemCostOneRemoteRead() throws Exception {
        SegmentCache cache = cache(10 * ON_DISK);
        CountDownLatch release = new CountDownLatch(1);
        remote.hook = call -> awaitQuietly(release);
        List<Future<?>> all = new ArrayList<>();
        for (int i = 0; i < 16; i++) {
            all.add(readers.submit(() -> {
                assertReads(cache, "a");
                return null;
            }));
        }
        await(() -> metrics.cacheMisses.count() == 16);
        release.countDown();
        for (Future<?> reader : all) {
            reader.get(30, TimeUnit.SECONDS);
        }
        for (int i = 0; i < 10; i++) {
            assertReads(cache, "a");
        }
        assertEquals(1, remote.count("open topic/a"));
        assertEquals(0, remote.openStreams.get());
        assertEquals(10, metrics.cacheHits.count());
        assertEquals(BYTES, metrics.readBytes.count());
        assertEquals(List.of("a"), filesOnDisk());
    }

    @Test
    void aReaderThatIsInterruptedLeavesTheDownloadToTheOthers() throws Exception {
        SegmentCache cache = cache(ON_DISK);
        CountDownLatch release = new CountDownLatch(1);
        remote.hook = call -> awaitQuietly(release);
        Future<?> patient = readers.submit(() -> {
            assertReads(cache, "a");
            return null;
        });
        Thread.currentThread().interrupt();
        assertThrows(InterruptedIOException.class, () -> cache.open(source("a"), 0, 1));
        assertTrue(Thread.interrupted());
        release.countDown();
        patient.get(30, TimeUnit.SECONDS);
        assertEquals(1, remote.count("open topic/a"));
        // And holds nothing in the cache: it can be evicted.
        assertReads(cache, "b");
        assertEquals(List.of("b"), filesOnDisk());
    }

    @Test
    void theCapIsKeptByEvictingWhatWasUsedLongestAgo() throws Exception {
        SegmentCache cache = cache(2 * ON_DISK);
        assertReads(cache, "a");
        assertReads(cache, "b");
        assertReads(cache, "a");
        assertReads(cache, "c");
        assertEquals(List.of("a", "c"), filesOnDisk());
        assertEquals(2 * ON_DISK, cache.bytes());
        assertEquals(1, metrics.cacheEvictions.count());
        assertReads(cache, "b");
        assertEquals(2, remote.count("open topic/b"));
    }

    @Test
    void aFileIsNotEvictedWhileAStreamOfItIsOpen() throws Exception {
        SegmentCache cache = cache(ON_DISK);
        InputStream open = cache.open(source("a"), 0, Long.MAX_VALUE);
        assertThrows(SegmentCache.NoRoomException.class, () -> cache.open(source("b"), 0, 1));
        assertArrayEquals(remote.files.get("topic/a"), open.readAllBytes());
        open.close();
        open.close();
        assertReads(cache, "b");
        assertEquals(List.of("b"), filesOnDisk());
    }

    @Test
    void aStreamThatNobodyClosedAndNobodyHoldsNoLongerCounts() throws Exception {
        SegmentCache cache = cache(ON_DISK);
        cache.open(source("a"), 0, 1);
        await(() -> {
            System.gc();
            try {
                cache.open(source("b"), 0, 1).close();
                return true;
            } catch (IOException e) {
                return false;
            }
        });
    }

    @Test
    void aFileLargerThanTheCapHasNoRoomAndEvictsNothing() throws Exception {
        SegmentCache cache = cache(ON_DISK);
        assertReads(cache, "a");
        remote.files.put("topic/large", new byte[BYTES + 1]);
        assertThrows(SegmentCache.NoRoomException.class, () -> cache.open(source("large"), 0, 1));
        assertEquals(List.of("a"), filesOnDisk());
        assertEquals(0, remote.openStreams.get());
    }

    @Test
    void aDiskThatFailsIsNoRoomAndLeavesNothingReserved() throws Exception {
        SegmentCache cache = cache(ON_DISK);
        Path obstacle = Files.createDirectory(dir.resolve("a.tmp"));
        assertThrows(SegmentCache.NoRoomException.class, () -> cache.open(source("a"), 0, 1));
        Files.deleteIfExists(obstacle);
        assertReads(cache, "a");
    }

    @Test
    void aFullDiskIsNoRoomAndTheNextReadTriesAgain() throws Exception {
        SegmentCache cache = cache(ON_DISK);
        Files.createSymbolicLink(dir.resolve("a.tmp"), Path.of("/dev/full"));
        IOException e = assertThrows(SegmentCache.NoRoomException.class, () -> cache.open(source("a"), 0, 1));
        assertTrue(e.getMessage().contains("rsm.config.cache.dir can't take topic/a"), e.getMessage());
        assertEquals(List.of(), filesOnDisk());
        assertReads(cache, "a");
    }

    @Test
    void aDiskThatDoesNotGiveBackWhatItTookIsNoRoomAndTheNextReadTriesAgain() throws Exception {
        SegmentCache cache = cache(ON_DISK);
        Files.createSymbolicLink(dir.resolve("a.tmp"), Path.of("/dev/null"));
        assertThrows(SegmentCache.NoRoomException.class, () -> cache.open(source("a"), 0, 1));
        assertEquals(List.of(), filesOnDisk());
        assertReads(cache, "a");
    }

    @Test
    void aFailedDownloadFailsAllWhoWaitAndTheNextOneBeginsAgain() throws Exception {
        SegmentCache cache = cache(ON_DISK);
        remote.hook = call -> {
            if (call.startsWith("read")) {
                throw new IOException("connection reset");
            }
        };
        IOException e = assertThrows(IOException.class, () -> cache.open(source("a"), 0, 1));
        assertEquals("connection reset", e.getMessage());
        assertEquals(List.of(), filesOnDisk());
        remote.hook = call -> {};
        assertReads(cache, "a");
    }

    @Test
    void aRemoteFileThatIsNotWhatWasWrittenIsNeverGivenAway() throws Exception {
        SegmentCache cache = cache(10 * ON_DISK);
        SegmentCache.Source source = source("a");
        remote.files.get("topic/a")[BYTES / 2] ^= 1;
        assertThrows(CorruptFileException.class, () -> cache.open(source, 0, 1));
        assertEquals(List.of(), filesOnDisk());
        assertEquals(0, cache.bytes());
        remote.files.get("topic/a")[BYTES / 2] ^= 1;
        assertReads(cache, "a");
    }

    @Test
    void aRemoteFileThatIsGoneIsNotFound() throws Exception {
        SegmentCache cache = cache(ON_DISK);
        SegmentCache.Source source = source("a");
        remote.files.clear();
        assertThrows(FileNotFoundException.class, () -> cache.open(source, 0, 1));
    }

    @Test
    void aCachedFileThatGoesBadIsDownloadedAgain() throws Exception {
        SegmentCache cache = cache(10 * ON_DISK);
        assertReads(cache, "a");
        CachedFileTest.flip(dir.resolve("a"), 10);
        assertReads(cache, "a");
        assertEquals(2, remote.count("open topic/a"));
        assertEquals(1, metrics.cacheCorruptions.count());
        assertEquals(List.of("a"), filesOnDisk());
    }

    @Test
    void damageFurtherOnFailsTheReadThatMeetsItAndTheNextDownloadsAgain() throws Exception {
        SegmentCache cache = cache(10 * ON_DISK);
        assertReads(cache, "a");
        CachedFileTest.flip(dir.resolve("a"), BYTES - 1);
        try (InputStream in = cache.open(source("a"), 0, Long.MAX_VALUE)) {
            assertThrows(CorruptFileException.class, in::readAllBytes);
        }
        assertReads(cache, "a");
        assertEquals(2, remote.count("open topic/a"));
    }

    @Test
    void aCachedFileThatSomebodyDeletedIsDownloadedAgain() throws Exception {
        SegmentCache cache = cache(10 * ON_DISK);
        assertReads(cache, "a");
        Files.delete(dir.resolve("a"));
        assertReads(cache, "a");
        assertEquals(2, remote.count("open topic/a"));
    }

    @Test
    void aRestartUsesWhatIsThereAndRemovesWhatACrashLeft() throws Exception {
        SegmentCache cache = cache(10 * ON_DISK);
        assertReads(cache, "a");
        assertReads(cache, "b");
        Files.write(dir.resolve("c.tmp"), new byte[10]);
        Files.write(dir.resolve("b"), new byte[10]);
        SegmentCache again = reopened(cache, 10 * ON_DISK);
        assertEquals(List.of("a", "b"), filesOnDisk());
        assertReads(again, "a");
        assertReads(again, "b");
        assertEquals(1, remote.count("open topic/a"));
        assertEquals(2, remote.count("open topic/b"));
        assertEquals(2 * ON_DISK, again.bytes());
    }

    @Test
    void aRestartWithALowerCapEvictsTheOldest() throws Exception {
        SegmentCache cache = cache(10 * ON_DISK);
        for (String name : List.of("c", "a", "b")) {
            assertReads(cache, name);
            assertTrue(dir.resolve(name).toFile().setLastModified(1000L * filesOnDisk().size()));
        }
        reopened(cache, 2 * ON_DISK);
        assertEquals(List.of("a", "b"), filesOnDisk());
    }

    @Test
    void aDirectoryInUseIsRefused() throws Exception {
        cache(ON_DISK);
        IOException e = assertThrows(IOException.class, () -> cache(ON_DISK));
        assertTrue(e.getMessage().contains("another broker"), e.getMessage());
    }

    @Test
    void aDroppedFileIsGoneAndItsReadersGoOn() throws Exception {
        SegmentCache cache = cache(ON_DISK);
        try (InputStream open = cache.open(source("a"), 0, Long.MAX_VALUE)) {
            cache.drop("a");
            assertEquals(List.of(), filesOnDisk());
            assertEquals(0, cache.bytes());
            assertArrayEquals(remote.files.get("topic/a"), open.readAllBytes());
        }
        assertReads(cache, "b");
    }

    @Test
    void aDownloadOfAFileThatIsDroppedMeanwhileComesToNothing() throws Exception {
        SegmentCache cache = cache(ON_DISK);
        CountDownLatch release = new CountDownLatch(1);
        remote.hook = call -> awaitQuietly(release);
        SegmentCache.Source source = source("a");
        Future<InputStream> reader = readers.submit(() -> cache.open(source, 0, 1));
        await(() -> remote.count("open topic/a") == 1);
        cache.drop("a");
        release.countDown();
        Exception e = assertThrows(Exception.class, () -> reader.get(30, TimeUnit.SECONDS));
        assertTrue(e.getCause() instanceof FileNotFoundException, e.toString());
        assertEquals(List.of(), filesOnDisk());
        assertReads(cache, "b");
    }

    @Test
    void closingEndsWhoWaitsForADownload() throws Exception {
        SegmentCache cache = cache(ON_DISK);
        remote.hook = call -> awaitQuietly(new CountDownLatch(1));
        Future<InputStream> reader = readers.submit(() -> cache.open(source("a"), 0, 1));
        await(() -> remote.count("open topic/a") == 1);
        cache.close();
        assertThrows(Exception.class, () -> reader.get(30, TimeUnit.SECONDS));
        assertThrows(IOException.class, () -> cache.open(source("b"), 0, 1));
    }

    @Test
    void manyReadersOverASmallCacheAlwaysReadWhatIsThere() throws Exception {
        SegmentCache cache = cache(3 * ON_DISK);
        List<Future<Integer>> all = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            int seed = i;
            all.add(readers.submit(() -> {
                int past = 0;
                for (int n = 0; n < 60; n++) {
                    try {
                        assertReads(cache, "f" + (n * (seed + 1)) % 6);
                    } catch (SegmentCache.NoRoomException e) {
                        past++;
                    }
                }
                return past;
            }));
        }
        for (Future<Integer> reader : all) {
            reader.get(60, TimeUnit.SECONDS);
        }
        assertTrue(cache.bytes() <= 3 * ON_DISK);
        assertEquals(cache.fileCount(), filesOnDisk().size());
        assertEquals(0, remote.openStreams.get());
        assertFalse(filesOnDisk().isEmpty());
    }

    private static void awaitQuietly(CountDownLatch latch) throws IOException {
        try {
            latch.await(Duration.ofMinutes(1).toSeconds(), TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            throw new InterruptedIOException();
        }
    }
}

package guardian.kafka.hdfs;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.yammer.metrics.core.MetricName;
import com.yammer.metrics.core.MetricsRegistry;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import org.apache.kafka.server.log.remote.storage.LogSegmentData;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteResourceNotFoundException;
import org.apache.kafka.server.log.remote.storage.RemoteStorageException;
import org.apache.kafka.server.log.remote.storage.RemoteStorageManager.IndexType;
import org.apache.kafka.server.log.remote.storage.RetriableRemoteStorageException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class HdfsSegmentStoreTest {
    private static final int BYTES = 300_000;
    private static final byte[] LOG = Segments.bytes(BYTES, 9);

    @TempDir
    Path cacheDir;

    @TempDir
    Path logDir;

    private final MemoryFiles remote = new MemoryFiles();
    private final MetricsRegistry registry = new MetricsRegistry();
    private final RemoteLogSegmentMetadata metadata = Segments.metadata(1000, BYTES);
    private StorageMetrics metrics;
    private HdfsSegmentStore store;
    private LogSegmentData data;
    private String base;

    @BeforeEach
    void open() throws IOException {
        open(10_000_000);
        data = Segments.data(logDir, LOG, true);
        base = Segments.PARTITION.topic() + "-" + Segments.PARTITION.topicId() + "/3/00000000000000001000-"
                + metadata.remoteLogSegmentId().id();
    }

    private void open(long maxBytes) throws IOException {
        metrics = new StorageMetrics(registry);
        store = new HdfsSegmentStore(remote, new SegmentCache(cacheDir, maxBytes, 4, remote, metrics), metrics);
    }

    private void reopen(long maxBytes) throws IOException {
        store.close();
        open(maxBytes);
    }

    @AfterEach
    void close() throws IOException {
        store.close();
        assertEquals(0, remote.openStreams.get());
        registry.shutdown();
    }

    private byte[] segment(long from, long to) throws RemoteStorageException, IOException {
        try (InputStream in = store.fetchSegment(metadata, from, to)) {
            return in.readAllBytes();
        }
    }

    private byte[] index(IndexType type) throws RemoteStorageException, IOException {
        try (InputStream in = store.fetchIndex(metadata, type)) {
            return in.readAllBytes();
        }
    }

    private void assertAllReadsBack() throws RemoteStorageException, IOException {
        assertArrayEquals(LOG, segment(0, Long.MAX_VALUE));
        assertArrayEquals(Arrays.copyOfRange(LOG, 70_000, 200_001), segment(70_000, 200_001));
        assertArrayEquals(Arrays.copyOfRange(LOG, BYTES - 1, BYTES), segment(BYTES - 1, BYTES + 10));
        assertArrayEquals(new byte[0], segment(BYTES, Long.MAX_VALUE));
        assertArrayEquals(Files.readAllBytes(data.offsetIndex()), index(IndexType.OFFSET));
        assertArrayEquals(Files.readAllBytes(data.timeIndex()), index(IndexType.TIMESTAMP));
        assertArrayEquals(Files.readAllBytes(data.producerSnapshotIndex()), index(IndexType.PRODUCER_SNAPSHOT));
        assertArrayEquals(Files.readAllBytes(data.transactionIndex().orElseThrow()), index(IndexType.TRANSACTION));
        assertArrayEquals(data.leaderEpochIndex().array(), index(IndexType.LEADER_EPOCH));
    }

    @Test
    void aSegmentReadsBackByteForByteFromTwoFiles() throws Exception {
        store.copy(metadata, data);
        assertEquals(Set.of(base + ".log", base + ".indexes"), remote.files.keySet());
        assertArrayEquals(LOG, remote.files.get(base + ".log"));
        assertAllReadsBack();
        assertEquals(21, data.leaderEpochIndex().remaining());
    }

    @Test
    void allReadsOfASegmentCostTwoRemoteReadsAlsoAfterARestart() throws Exception {
        store.copy(metadata, data);
        assertAllReadsBack();
        reopen(10_000_000);
        assertAllReadsBack();
        assertEquals(1, remote.count("open " + base + ".log"));
        assertEquals(1, remote.count("open " + base + ".indexes"));
    }

    @Test
    void withoutRoomInTheCacheReadsGoPastIt() throws Exception {
        reopen(0);
        store.copy(metadata, data);
        assertAllReadsBack();
        assertTrue(metrics.directReads.count() > 0);
        // Room for the indexes only.
        reopen(10_000);
        assertAllReadsBack();
    }

    @Test
    void aLocalDiskThatLosesWhatItTookFailsNoRead() throws Exception {
        store.copy(metadata, data);
        String name = metadata.remoteLogSegmentId().id().toString();
        Files.createSymbolicLink(cacheDir.resolve(name + ".indexes.tmp"), Path.of("/dev/null"));
        assertTrue(index(IndexType.TRANSACTION).length > 0);
        Files.createSymbolicLink(cacheDir.resolve(name + ".log.tmp"), Path.of("/dev/null"));
        assertArrayEquals(LOG, segment(0, Long.MAX_VALUE));
        assertEquals(2, metrics.directReads.count());
    }

    @Test
    void theRightThingIsNotFound() throws Exception {
        assertThrows(RemoteResourceNotFoundException.class, () -> segment(0, 1));
        assertThrows(RemoteResourceNotFoundException.class, () -> index(IndexType.OFFSET));
        store.copy(metadata, Segments.data(logDir, LOG, false));
        RemoteResourceNotFoundException e =
                assertThrows(RemoteResourceNotFoundException.class, () -> index(IndexType.TRANSACTION));
        assertTrue(e.getMessage().contains("TRANSACTION"), e.getMessage());
        assertEquals(0, metrics.errors.count());
    }

    @Test
    void whatFailsForNowIsRetriableAndWhatIsDamagedIsNot() throws Exception {
        store.copy(metadata, data);
        remote.hook = call -> {
            throw new IOException("no DataNode\n\tat some.Server");
        };
        RemoteStorageException e = assertThrows(RetriableRemoteStorageException.class, () -> segment(0, 1));
        assertEquals("can't read " + base + ".log: no DataNode", e.getMessage());
        assertThrows(RetriableRemoteStorageException.class, () -> index(IndexType.OFFSET));
        assertThrows(RetriableRemoteStorageException.class, () -> store.delete(metadata));
        remote.hook = call -> {
            if (call.startsWith("deleteEmptyFolder")) {
                throw new IOException("not now");
            }
        };
        store.delete(Segments.metadata(0, 1));
        assertEquals(3, metrics.errors.count());
        remote.hook = call -> {};
        remote.files.get(base + ".log")[5] ^= 1;
        e = assertThrows(RemoteStorageException.class, () -> segment(0, 1));
        assertSame(RemoteStorageException.class, e.getClass());
        remote.files.get(base + ".indexes")[50] ^= 1;
        reopen(0);
        e = assertThrows(RemoteStorageException.class, () -> index(IndexType.OFFSET));
        assertSame(RemoteStorageException.class, e.getClass());
    }

    @Test
    void aDeletedSegmentIsGoneHereAndThere() throws Exception {
        store.copy(metadata, data);
        assertAllReadsBack();
        store.delete(metadata);
        assertTrue(remote.files.isEmpty());
        assertThrows(RemoteResourceNotFoundException.class, () -> segment(0, 1));
        assertThrows(RemoteResourceNotFoundException.class, () -> index(IndexType.OFFSET));
        store.delete(metadata);
    }

    @Test
    void aDeletionThatFailsTwiceIsTriedAThirdTimeAndNoMore() throws Exception {
        store.copy(metadata, data);
        AtomicInteger failures = new AtomicInteger(2);
        remote.hook = call -> {
            if (call.startsWith("delete ") && failures.getAndDecrement() > 0) {
                throw new IOException("the connection is stale");
            }
        };
        store.delete(metadata);
        assertTrue(remote.files.isEmpty());
        failures.set(3);
        assertThrows(RemoteStorageException.class, () -> store.delete(metadata));
    }

    @Test
    void aRepeatedCopyReplacesTheFirst() throws Exception {
        store.copy(metadata, Segments.data(logDir, Segments.bytes(BYTES, 10), false));
        assertArrayEquals(Segments.bytes(BYTES, 10), segment(0, Long.MAX_VALUE));
        data = Segments.data(logDir, LOG, true);
        store.copy(metadata, data);
        assertAllReadsBack();
    }

    /** Whichever of its calls fails, nothing of the segment is left, and the next attempt succeeds. */
    @Test
    void aCopyThatFailsAnywhereCleansUp() throws Exception {
        store.copy(metadata, data);
        List<String> calls = new ArrayList<>(remote.calls);
        store.delete(metadata);
        for (int i = 0; i < calls.size(); i++) {
            int failing = i;
            List<String> seen = new ArrayList<>();
            remote.hook = call -> {
                seen.add(call);
                if (seen.size() == failing + 1) {
                    throw new IOException("failed at " + call);
                }
            };
            RemoteStorageException e = assertThrows(RemoteStorageException.class, () -> store.copy(metadata, data));
            assertSame(RemoteStorageException.class, e.getClass());
            assertTrue(remote.files.isEmpty(), calls.get(i) + " left " + remote.files.keySet());
        }
        remote.hook = call -> {};
        store.copy(metadata, data);
        assertAllReadsBack();
    }

    /** Like a broker that dies: no clean-up. A log is there only when all is, and a deletion takes whatever was left. */
    @Test
    void aCopyThatIsCutOffAnywhereShowsNoLogAndIsDeletedWhole() throws Exception {
        store.copy(metadata, data);
        int calls = remote.calls.size();
        store.delete(metadata);
        for (int survived = 0; survived < calls; survived++) {
            List<String> seen = new ArrayList<>();
            int last = survived;
            remote.hook = call -> {
                seen.add(call);
                if (seen.size() > last) {
                    throw new IOException("dead");
                }
            };
            assertThrows(RemoteStorageException.class, () -> store.copy(metadata, data));
            remote.hook = call -> {};
            assertFalse(remote.files.containsKey(base + ".log"));
            store.delete(metadata);
            assertTrue(remote.files.isEmpty(), "after " + survived + " calls: " + remote.files.keySet());
        }
    }

    @Test
    void anInterruptedCopyCleansUpAndKeepsTheInterrupt() throws Exception {
        Thread copying = Thread.currentThread();
        CountDownLatch over = new CountDownLatch(1);
        remote.hook = call -> {
            if (call.startsWith("close") && call.endsWith(".log.tmp")) {
                copying.interrupt();
                awaitQuietly(over); // what has its answer notices no interrupt
            }
        };
        SegmentCopier copier =
                new SegmentCopier(new TimeLimitedFiles(remote, new TimeLimit(Duration.ofMinutes(1))), metrics);
        SegmentPath segment = new SegmentPath("orders", "A".repeat(22), 0, 0, "B".repeat(22));
        try {
            assertThrows(IOException.class, () -> copier.copy(segment, data));
            assertTrue(Thread.interrupted());
            assertEquals(Set.of(), remote.files.keySet());
        } finally {
            over.countDown();
        }
    }

    private static void awaitQuietly(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Test
    void aLocalFileThatIsGoneFailsTheCopyAndNotAsNotFound() throws Exception {
        Files.delete(data.timeIndex());
        RemoteStorageException e = assertThrows(RemoteStorageException.class, () -> store.copy(metadata, data));
        assertSame(RemoteStorageException.class, e.getClass());
        assertTrue(remote.files.isEmpty());
    }

    @Test
    void itsMetricsAreMbeansThatGoWithIt() throws Exception {
        store.copy(metadata, data);
        segment(0, 10);
        assertTrue(registry.allMetrics().keySet().stream()
                .map(MetricName::getMBeanName)
                .collect(Collectors.toSet())
                .contains("guardian.kafka:type=HdfsRemoteStorageManager,name=CacheBytes"));
        assertEquals(2, metrics.reads.count());
        assertEquals(remote.files.values().stream().mapToLong(bytes -> bytes.length).sum(), metrics.readBytes.count());
        assertEquals(metrics.readBytes.count(), metrics.writeBytes.count());
        assertEquals(1, metrics.copyTime.count());
        store.close();
        assertEquals(Set.of(), new TreeSet<>(registry.allMetrics().keySet()));
    }
}

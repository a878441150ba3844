package guardian.kafka.hdfs;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.yammer.metrics.core.MetricsRegistry;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;
import java.lang.reflect.Field;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.hdfs.MiniDFSCluster;
import org.apache.hadoop.hdfs.server.datanode.metrics.DataNodeMetrics;
import org.apache.hadoop.metrics2.lib.MutableCounterLong;
import org.apache.kafka.server.log.remote.storage.LogSegmentData;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteResourceNotFoundException;
import org.apache.kafka.server.log.remote.storage.RemoteStorageException;
import org.apache.kafka.server.log.remote.storage.RemoteStorageManager.IndexType;
import org.apache.kafka.server.log.remote.storage.RetriableRemoteStorageException;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Against a NameNode and a DataNode that are real: {@code mvn -Phdfs test}. */
@Tag("hdfs")
class RealHdfsTest {
    private static final int BYTES = 32 << 20;
    private static final byte[] LOG = Segments.bytes(BYTES, 1);

    @TempDir
    static Path hdfsDir;

    private static MiniDFSCluster cluster;

    @TempDir
    Path cacheDir;

    @TempDir
    Path logDir;

    private final MetricsRegistry registry = new MetricsRegistry();
    private final RemoteLogSegmentMetadata metadata = Segments.metadata(5, BYTES);
    private CountingFiles remote;
    private StorageMetrics metrics;
    private HdfsSegmentStore store;
    private LogSegmentData data;

    @BeforeAll
    static void startHdfs() throws IOException {
        cluster = MiniHdfs.start(MiniHdfs.configuration(), hdfsDir, 0, 1);
    }

    @AfterAll
    static void stopHdfs() {
        cluster.shutdown();
    }

    @BeforeEach
    void open() throws IOException {
        data = Segments.data(logDir, LOG, true);
        openStore();
    }

    private Map<String, String> configs() {
        Map<String, String> configs = new HashMap<>();
        configs.put("hdfs.uri", cluster.getURI() + "/kafka/tiered");
        configs.put("cache.dir", cacheDir.toString());
        configs.put("read.timeout.ms", "5000");
        return configs;
    }

    private void openStore() throws IOException {
        HdfsSettings settings = HdfsSettings.read(configs());
        metrics = new StorageMetrics(registry);
        remote = new CountingFiles(new HdfsFiles(settings));
        RemoteFiles limited = new TimeLimitedFiles(remote, new TimeLimit(settings.readTimeout()));
        store = new HdfsSegmentStore(
                limited, new SegmentCache(settings.cacheDir(), settings.cacheMaxBytes(), 4, limited, metrics), metrics);
    }

    @AfterEach
    void close() throws IOException {
        store.close();
        cluster.getFileSystem().delete(new org.apache.hadoop.fs.Path("/kafka"), true);
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

    @Test
    void aSegmentMakesTheRoundTripByteForByte() throws Exception {
        store.copy(metadata, data);
        assertArrayEquals(LOG, segment(0, Long.MAX_VALUE));
        assertArrayEquals(Arrays.copyOfRange(LOG, 1_000_000, 9_000_001), segment(1_000_000, 9_000_001));
        assertArrayEquals(Files.readAllBytes(data.offsetIndex()), index(IndexType.OFFSET));
        assertArrayEquals(Files.readAllBytes(data.timeIndex()), index(IndexType.TIMESTAMP));
        assertArrayEquals(Files.readAllBytes(data.producerSnapshotIndex()), index(IndexType.PRODUCER_SNAPSHOT));
        assertArrayEquals(Files.readAllBytes(data.transactionIndex().orElseThrow()), index(IndexType.TRANSACTION));
        assertArrayEquals(data.leaderEpochIndex().array(), index(IndexType.LEADER_EPOCH));
        // Again is safe, also while the first lies in the cache.
        store.copy(metadata, data);
        assertArrayEquals(LOG, segment(0, Long.MAX_VALUE));
        store.delete(metadata);
        store.delete(metadata);
        assertThrows(RemoteResourceNotFoundException.class, () -> segment(0, 1));
        assertThrows(RemoteResourceNotFoundException.class, () -> index(IndexType.OFFSET));
        FileSystem fs = cluster.getFileSystem();
        assertEquals(0, fs.listStatus(new org.apache.hadoop.fs.Path("/kafka/tiered")).length);
    }

    @Test
    void aFolderStaysWhileAnotherSegmentIsInIt() throws Exception {
        RemoteLogSegmentMetadata other = Segments.metadata(100, BYTES);
        store.copy(metadata, data);
        store.copy(other, data);
        store.delete(other);
        assertArrayEquals(LOG, segment(0, Long.MAX_VALUE));
    }

    @Test
    void sixteenReadersAtOnceAndManyAfterThemAreOneReadForHdfs() throws Exception {
        store.copy(metadata, data);
        long blocksBefore = blocksRead();
        ExecutorService readers = Executors.newFixedThreadPool(16);
        List<Future<byte[]>> all = new ArrayList<>();
        for (int i = 0; i < 16; i++) {
            int from = i * 100_000;
            all.add(readers.submit(() -> segment(from, from + 100_000)));
        }
        for (int i = 0; i < 16; i++) {
            byte[] expected = Arrays.copyOfRange(LOG, i * 100_000, (i + 1) * 100_000);
            assertArrayEquals(expected, all.get(i).get(60, TimeUnit.SECONDS));
        }
        readers.shutdown();
        for (int i = 0; i < 20; i++) {
            segment(i * 1_000_000, Long.MAX_VALUE);
            index(IndexType.OFFSET);
        }
        assertEquals(1, remote.opened(".log"));
        assertEquals(1, remote.opened(".indexes"));
        // As the DataNode itself counts: one block of the log, one of the indexes.
        assertEquals(blocksBefore + 2, blocksRead());
        store.close();
        openStore();
        assertArrayEquals(LOG, segment(0, Long.MAX_VALUE));
        assertEquals(0, remote.opened.size());
    }

    @Test
    void aCachedFileThatGoesBadIsReadFromHdfsAgain() throws Exception {
        store.copy(metadata, data);
        assertArrayEquals(LOG, segment(0, Long.MAX_VALUE));
        Path cached;
        try (Stream<Path> files = Files.list(cacheDir.resolve("broker-0"))) {
            cached = files.filter(file -> file.toString().endsWith(".log")).findFirst().orElseThrow();
        }
        CachedFileTest.flip(cached, 12_345_678);
        assertThrows(CorruptFileException.class, () -> segment(0, Long.MAX_VALUE));
        assertArrayEquals(LOG, segment(0, Long.MAX_VALUE));
        assertEquals(2, remote.opened(".log"));
    }

    @Test
    void aDataNodeThatDiesInTheMiddleOfAReadIsARetriableErrorAndTheNextReadSucceeds() throws Exception {
        store.copy(metadata, data);
        index(IndexType.OFFSET);
        List<MiniDFSCluster.DataNodeProperties> stopped = new ArrayList<>();
        remote.onRead = () -> {
            if (stopped.isEmpty()) {
                stopped.add(cluster.stopDataNode(0));
            }
        };
        assertThrows(RetriableRemoteStorageException.class, () -> segment(0, Long.MAX_VALUE));
        assertEquals(1, stopped.size());
        assertTrue(cluster.restartDataNode(stopped.get(0), true));
        cluster.waitActive();
        assertArrayEquals(LOG, segment(0, Long.MAX_VALUE));
    }

    @Test
    void aReadThatHangsEndsWithinItsLimit() throws Exception {
        store.copy(metadata, data);
        remote.onRead = () -> {
            try {
                Thread.sleep(60_000);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        };
        long startedAt = System.nanoTime();
        RemoteStorageException e = assertThrows(RetriableRemoteStorageException.class, () -> segment(0, 1));
        assertTrue(e.getMessage().contains("rsm.config.read.timeout.ms"), e.getMessage());
        assertTrue(System.nanoTime() - startedAt < TimeUnit.SECONDS.toNanos(30));
    }

    @Test
    void aNameNodeThatIsDownFailsACopyWithinItsLimitAndTheNextSucceeds() throws Exception {
        cluster.shutdownNameNode(0);
        RemoteStorageException e = assertThrows(RemoteStorageException.class, () -> store.copy(metadata, data));
        assertSame(RemoteStorageException.class, e.getClass());
        assertThrows(RetriableRemoteStorageException.class, () -> store.delete(metadata));
        cluster.restartNameNode(0, true);
        store.delete(metadata);
        store.copy(metadata, data);
        assertArrayEquals(LOG, segment(0, Long.MAX_VALUE));
    }

    @Test
    void aCopyThatIsInterruptedLeavesNothing() throws Exception {
        Thread.currentThread().interrupt();
        assertThrows(RemoteStorageException.class, () -> store.copy(metadata, data));
        assertTrue(Thread.interrupted());
        assertEquals(List.of("{\"end\":true,\"files\":0}"), tool("list", ""));
    }

    @Test
    void theToolListsAndDeletesWhatIsThere() throws Exception {
        store.copy(metadata, data);
        FileSystem fs = cluster.getFileSystem();
        fs.create(new org.apache.hadoop.fs.Path("/kafka/tiered/stray")).close();
        List<String> lines = tool("list", "");
        assertEquals(4, lines.size());
        assertEquals("{\"end\":true,\"files\":3}", lines.get(3));
        String id = metadata.remoteLogSegmentId().id().toString();
        assertEquals(2, lines.stream().filter(line -> line.contains("\"segmentId\":\"" + id + "\"")).count());
        assertTrue(lines.stream().anyMatch(line -> line.contains("\"bytes\":" + BYTES) && line.contains("\"log\"")));
        assertTrue(lines.stream().anyMatch(line -> line.startsWith("{\"path\":\"/kafka/tiered/stray\",\"bytes\":0")));
        List<String> deleted = tool("delete", String.join("\n", lines));
        assertEquals(3, deleted.stream().filter(line -> line.endsWith("\"deleted\":true}")).count());
        assertFalse(fs.exists(new org.apache.hadoop.fs.Path("/kafka/tiered/stray")));
    }

    private List<String> tool(String command, String input) throws IOException {
        cluster.getFileSystem().mkdirs(new org.apache.hadoop.fs.Path("/kafka/tiered"));
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        ByteArrayOutputStream err = new ByteArrayOutputStream();
        int code = HdfsTool.run(
                new String[] {command, configs().get("hdfs.uri")},
                new Properties(),
                new ByteArrayInputStream(input.getBytes(StandardCharsets.UTF_8)),
                new PrintStream(out, true),
                new PrintStream(err, true));
        assertEquals(0, code, err.toString());
        return out.toString(StandardCharsets.UTF_8).lines().toList();
    }

    /** As the DataNode counts now; what JMX says is up to ten seconds old. */
    private static long blocksRead() throws ReflectiveOperationException {
        Field counter = DataNodeMetrics.class.getDeclaredField("blocksRead");
        counter.setAccessible(true);
        return ((MutableCounterLong) counter.get(cluster.getDataNodes().get(0).getMetrics())).value();
    }
}

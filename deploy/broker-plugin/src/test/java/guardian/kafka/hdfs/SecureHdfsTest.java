package guardian.kafka.hdfs;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.yammer.metrics.core.MetricsRegistry;
import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.minikdc.MiniKdc;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteStorageException;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** An HDFS that wants Kerberos, in a process of its own: who is logged in is a static fact of a process. */
@Tag("hdfs")
class SecureHdfsTest {
    private static final byte[] LOG = Segments.bytes(1 << 20, 1);

    @TempDir
    static Path kdcDir;

    private static MiniKdc kdc;
    private static String serverPrincipal;
    private static File brokerKeytab;
    private static Process hdfs;
    private static String uri;

    @TempDir
    Path dir;

    private final MetricsRegistry registry = new MetricsRegistry();

    @BeforeAll
    static void start() throws Exception {
        kdc = new MiniKdc(MiniKdc.createConf(), kdcDir.toFile());
        kdc.start();
        serverPrincipal = "hdfs/localhost@" + kdc.getRealm();
        File serverKeytab = kdcDir.resolve("hdfs.keytab").toFile();
        kdc.createPrincipal(serverKeytab, "hdfs/localhost");
        brokerKeytab = kdcDir.resolve("kafka.keytab").toFile();
        kdc.createPrincipal(brokerKeytab, "kafka/localhost");
        hdfs = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-Xmx384m",
                        "-Djava.security.krb5.conf=" + kdc.getKrb5conf(),
                        "-cp",
                        System.getProperty("java.class.path"),
                        MiniHdfs.class.getName(),
                        kdcDir.resolve("hdfs").toString(),
                        "0",
                        "1",
                        serverPrincipal,
                        serverKeytab.toString())
                .redirectError(kdcDir.resolve("hdfs.err").toFile())
                .start();
        uri = new BufferedReader(new InputStreamReader(hdfs.getInputStream(), StandardCharsets.UTF_8)).readLine();
    }

    @AfterAll
    static void stop() throws Exception {
        hdfs.getOutputStream().close();
        if (!hdfs.waitFor(30, TimeUnit.SECONDS)) {
            hdfs.destroyForcibly();
        }
        kdc.stop();
        // Other tests of this process know no Kerberos.
        UserGroupInformation.reset();
        UserGroupInformation.setConfiguration(new Configuration());
    }

    @AfterEach
    void endMetrics() {
        registry.shutdown();
    }

    private HdfsSegmentStore store(String... kerberos) {
        Map<String, String> configs = new HashMap<>();
        configs.put("hdfs.uri", uri + "/kafka");
        configs.put("cache.dir", dir.toString());
        configs.put("dfs.namenode.kerberos.principal", serverPrincipal);
        for (int i = 0; i < kerberos.length; i += 2) {
            configs.put(kerberos[i], kerberos[i + 1]);
        }
        return HdfsSegmentStore.open(configs, registry);
    }

    @Test
    void aBrokerWithAKeytabIsLetInAndOneWithoutIsNot() throws Exception {
        RemoteLogSegmentMetadata metadata = Segments.metadata(0, LOG.length);
        try (HdfsSegmentStore store = store()) {
            RemoteStorageException e = assertThrows(
                    RemoteStorageException.class, () -> store.copy(metadata, Segments.data(dir, LOG, false)));
            assertTrue(e.getMessage().contains("SIMPLE authentication is not enabled"), e.getMessage());
        }
        try (HdfsSegmentStore store = store(
                "hdfs.kerberos.principal", "kafka/localhost@" + kdc.getRealm(),
                "hdfs.kerberos.keytab", brokerKeytab.toString())) {
            store.copy(metadata, Segments.data(dir, LOG, false));
            assertReads(store, metadata);
            assertEquals(
                    "kafka/localhost@" + kdc.getRealm(), UserGroupInformation.getLoginUser().getUserName());
        }
    }

    private static void assertReads(HdfsSegmentStore store, RemoteLogSegmentMetadata segment)
            throws RemoteStorageException, IOException {
        try (InputStream in = store.fetchSegment(segment, 0, Long.MAX_VALUE)) {
            assertArrayEquals(LOG, in.readAllBytes());
        }
    }
}

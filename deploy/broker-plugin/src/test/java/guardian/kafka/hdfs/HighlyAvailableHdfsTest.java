package guardian.kafka.hdfs;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import com.yammer.metrics.core.MetricsRegistry;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.apache.hadoop.hdfs.MiniDFSCluster;
import org.apache.hadoop.hdfs.MiniDFSNNTopology;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteStorageException;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A nameservice with two NameNodes, known to the client by the operator's hdfs-site.xml only. */
@Tag("hdfs")
class HighlyAvailableHdfsTest {
    private static final byte[] LOG = Segments.bytes(1 << 20, 1);

    @TempDir
    Path dir;

    @Test
    void aLogicalNameserviceIsFollowedThroughAFailover() throws Exception {
        MetricsRegistry registry = new MetricsRegistry();
        try (MiniDFSCluster cluster = new MiniDFSCluster.Builder(MiniHdfs.configuration(), dir.resolve("hdfs").toFile())
                .nnTopology(MiniDFSNNTopology.simpleHATopology())
                .numDataNodes(1)
                .build()) {
            cluster.waitActive();
            cluster.transitionToActive(0);
            writeClientConfiguration(cluster);
            Map<String, String> configs = Map.of(
                    "hdfs.uri", "hdfs://analytics/kafka",
                    "hdfs.config.dir", dir.toString(),
                    "cache.dir", dir.resolve("cache").toString());
            RemoteLogSegmentMetadata before = Segments.metadata(0, LOG.length);
            RemoteLogSegmentMetadata after = Segments.metadata(10, LOG.length);
            try (HdfsSegmentStore store = HdfsSegmentStore.open(configs, registry)) {
                store.copy(before, Segments.data(dir, LOG, false));
                cluster.shutdownNameNode(0);
                cluster.transitionToActive(1);
                store.copy(after, Segments.data(dir, LOG, false));
                assertReads(store, before);
                assertReads(store, after);
            }
        } finally {
            registry.shutdown();
        }
    }

    private static void assertReads(HdfsSegmentStore store, RemoteLogSegmentMetadata segment)
            throws RemoteStorageException, IOException {
        try (InputStream in = store.fetchSegment(segment, 0, Long.MAX_VALUE)) {
            assertArrayEquals(LOG, in.readAllBytes());
        }
    }

    private void writeClientConfiguration(MiniDFSCluster cluster) throws IOException {
        Files.writeString(dir.resolve("hdfs-site.xml"), """
                <configuration>
                  <property><name>dfs.nameservices</name><value>analytics</value></property>
                  <property><name>dfs.ha.namenodes.analytics</name><value>a,b</value></property>
                  <property><name>dfs.namenode.rpc-address.analytics.a</name><value>localhost:%d</value></property>
                  <property><name>dfs.namenode.rpc-address.analytics.b</name><value>localhost:%d</value></property>
                  <property>
                    <name>dfs.client.failover.proxy.provider.analytics</name>
                    <value>org.apache.hadoop.hdfs.server.namenode.ha.ConfiguredFailoverProxyProvider</value>
                  </property>
                </configuration>
                """.formatted(cluster.getNameNodePort(0), cluster.getNameNodePort(1)));
    }
}

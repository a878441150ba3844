package org.apache.kafka.server.log.remote.metadata.storage;

import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.function.Function;
import java.util.function.Supplier;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.test.TestUtils;

/**
 * Hides Kafka's class of this name from Kafka's tests: they ask it for the manager to test, and get a {@link ManagerBridge}.
 *
 * <p>The manager is configured as a broker would: with the broker's and the cluster's id, a log dir, the broker's own
 * endpoint. The rest comes from system properties, since the tests know nothing of it.
 */
public class RemoteLogMetadataManagerTestUtils {
    static final int METADATA_TOPIC_PARTITIONS_COUNT = 3;

    private RemoteLogMetadataManagerTestUtils() {
    }

    public static Builder builder() {
        return new Builder();
    }

    public static class Builder {
        private String bootstrapServers;
        private Map<String, Object> overrides = Map.of();
        private Supplier<RemotePartitionMetadataStore> store = RemotePartitionMetadataStore::new;

        public Builder bootstrapServers(String bootstrapServers) {
            this.bootstrapServers = bootstrapServers;
            return this;
        }

        public Builder remotePartitionMetadataStore(Supplier<RemotePartitionMetadataStore> store) {
            this.store = store;
            return this;
        }

        /** How partitions spread over the metadata topic's: there is no such topic here. */
        public Builder remoteLogMetadataTopicPartitioner(Function<Integer, RemoteLogMetadataTopicPartitioner> ignored) {
            return this;
        }

        public Builder overrideRemoteLogMetadataManagerProps(Map<String, Object> overrides) {
            this.overrides = overrides;
            return this;
        }

        public TopicBasedRemoteLogMetadataManager build() {
            Map<String, Object> configs = new HashMap<>();
            configs.put("broker.id", 0);
            configs.put("cluster.id", clusterId());
            configs.put("log.dir", TestUtils.tempDirectory("guardian_rlmm_").getAbsolutePath());
            configs.put("remote.log.metadata.common.client.bootstrap.servers", bootstrapServers);
            configs.putAll(overrides);
            ManagerBridge bridge = new ManagerBridge(store.get());
            bridge.configure(configs);
            bridge.onBrokerReady();
            return bridge;
        }

        /** Every test has a cluster of its own, and so a namespace of its own in Guardian. */
        private String clusterId() {
            try (Admin admin = Admin.create(Map.of(AdminClientConfig.BOOTSTRAP_SERVERS_CONFIG, bootstrapServers))) {
                return admin.describeCluster().clusterId().get();
            } catch (InterruptedException | ExecutionException error) {
                throw new IllegalStateException("the cluster at " + bootstrapServers + " does not tell its id", error);
            }
        }
    }
}

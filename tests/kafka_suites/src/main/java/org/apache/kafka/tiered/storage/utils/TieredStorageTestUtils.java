package org.apache.kafka.tiered.storage.utils;

import guardian.kafka.suites.HiddenClass;
import guardian.kafka.suites.ManagerUnderTest;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ListTopicsOptions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.server.log.remote.metadata.storage.TopicBasedRemoteLogMetadataManagerConfig;
import org.apache.kafka.server.log.remote.storage.RemoteLogManagerConfig;
import org.apache.kafka.test.TestUtils;
import org.apache.kafka.tiered.storage.TieredStorageTestContext;

/**
 * Hides Kafka's class of this name from Kafka's tests, and gives them what that class would, but for one thing: the brokers
 * are told to load the manager under test instead of the topic-based one, from a class path of its own, as in real life.
 */
public class TieredStorageTestUtils {
    private static final HiddenClass KAFKAS = HiddenClass.behind(TieredStorageTestUtils.class);
    private static final String CLASS_PATH = "guardian.suites.manager.class.path";

    public static final Integer STORAGE_WAIT_TIMEOUT_SEC = KAFKAS.constant("STORAGE_WAIT_TIMEOUT_SEC", Integer.class);

    private static final String METADATA_TOPIC = TopicBasedRemoteLogMetadataManagerConfig.REMOTE_LOG_METADATA_TOPIC_NAME;

    private static volatile int metadataTopicPartitions;

    private TieredStorageTestUtils() {
    }

    public static TopicDescription describeTopic(TieredStorageTestContext context, String topic)
            throws ExecutionException, InterruptedException {
        return describeTopics(context, List.of(topic)).get(topic);
    }

    /**
     * Some tests ask how their partitions spread over those of the metadata topic. There is none here, so that an empty
     * topic of its name and size answers them; nothing ever writes to it.
     */
    @SuppressWarnings("unchecked")
    public static Map<String, TopicDescription> describeTopics(TieredStorageTestContext context, List<String> topics)
            throws ExecutionException, InterruptedException {
        AtomicReference<Object> described = new AtomicReference<>();
        if (topics.contains(METADATA_TOPIC)) {
            standIn(context.admin());
            TestUtils.retryOnExceptionWithTimeout(() -> described.set(KAFKAS.call("describeTopics", context, topics)));
        } else {
            described.set(KAFKAS.call("describeTopics", context, topics));
        }
        return (Map<String, TopicDescription>) described.get();
    }

    private static void standIn(Admin admin) throws ExecutionException, InterruptedException {
        boolean isThere = admin.listTopics(new ListTopicsOptions().listInternal(true)).names().get().contains(METADATA_TOPIC);
        if (!isThere) {
            admin.createTopics(List.of(new NewTopic(METADATA_TOPIC, metadataTopicPartitions, (short) 1))).all().get();
        }
    }

    @SuppressWarnings("unchecked")
    public static List<Record> tieredStorageRecords(TieredStorageTestContext context, TopicPartition partition) {
        return (List<Record>) KAFKAS.call("tieredStorageRecords", context, partition);
    }

    public static Properties createPropsForRemoteStorage(
            String testClassName, String storageDirPath, int brokerCount, int metadataPartitions, Properties overridingProps) {
        metadataTopicPartitions = metadataPartitions;
        Properties properties = (Properties) KAFKAS.call(
            "createPropsForRemoteStorage", testClassName, storageDirPath, brokerCount, metadataPartitions, overridingProps);
        properties.setProperty(
            RemoteLogManagerConfig.REMOTE_LOG_METADATA_MANAGER_CLASS_NAME_PROP, ManagerUnderTest.className());
        properties.setProperty(
            RemoteLogManagerConfig.REMOTE_LOG_METADATA_MANAGER_CLASS_PATH_PROP, System.getProperty(CLASS_PATH, ""));
        return properties;
    }

    @SuppressWarnings("unchecked")
    public static Map<String, String> createTopicConfigForRemoteStorage(boolean enableRemoteStorage, int maxBatchesPerSegment) {
        return (Map<String, String>) KAFKAS.call(
            "createTopicConfigForRemoteStorage", enableRemoteStorage, maxBatchesPerSegment);
    }
}

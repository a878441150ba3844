package guardian.kafka.metadata.store;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import guardian.kafka.GuardianRemoteLogMetadataManager;
import guardian.kafka.metadata.segments.TestSegments;
import guardian.v1.RemoteLogSegmentState;
import guardian.v1.SegmentEvent;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.SimpleRecord;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.log.remote.TopicPartitionLog;
import org.apache.kafka.server.log.remote.storage.LogSegmentData;
import org.apache.kafka.server.log.remote.storage.RemoteLogManager;
import org.apache.kafka.server.log.remote.storage.RemoteLogManagerConfig;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata.CustomMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteStorageManager;
import org.apache.kafka.server.util.KafkaScheduler;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.LogOffsetsListener;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Kafka's own RemoteLogManager over the metadata manager: what it makes of the order in which segments are listed.
 *
 * <p>Remote storage has two copies that stay, and behind them one that only waits for its deletion, as a sweep leaves it.
 * Expiry stops at the first segment that it keeps, so it has to be given that one first. Whoever becomes the leader takes the
 * first one as the start of the log, so it must not: the records before would be lost.
 */
@Timeout(120)
class KafkaExpiryTest extends StoreTestBase {
    private static final long LIMIT_S = 60;
    private static final CompletableFuture<Long> START = new CompletableFuture<>();
    private static final BlockingQueue<Long> DELETED = new LinkedBlockingQueue<>();

    @TempDir
    Path dir;

    private final List<AutoCloseable> running = new ArrayList<>();

    /** Made by Kafka, by its name. It deletes when the start of the log is known: before, both orders could look right. */
    public static final class Storage implements RemoteStorageManager {
        @Override
        public void configure(Map<String, ?> configs) {}

        @Override
        public Optional<CustomMetadata> copyLogSegmentData(RemoteLogSegmentMetadata segment, LogSegmentData data) {
            throw new UnsupportedOperationException("there is nothing to copy");
        }

        @Override
        public InputStream fetchLogSegment(RemoteLogSegmentMetadata segment, int from) {
            throw new UnsupportedOperationException("nobody reads");
        }

        @Override
        public InputStream fetchLogSegment(RemoteLogSegmentMetadata segment, int from, int to) {
            throw new UnsupportedOperationException("nobody reads");
        }

        @Override
        public InputStream fetchIndex(RemoteLogSegmentMetadata segment, IndexType type) {
            throw new UnsupportedOperationException("nobody reads");
        }

        @Override
        public void deleteLogSegmentData(RemoteLogSegmentMetadata segment) {
            START.orTimeout(LIMIT_S, TimeUnit.SECONDS).join();
            DELETED.add(segment.startOffset());
        }

        @Override
        public void close() {}
    }

    @AfterEach
    void stop() throws Exception {
        for (AutoCloseable each : running) {
            each.close();
        }
    }

    private static SegmentEvent segment(int number, long from, long to, RemoteLogSegmentState state) {
        return TestSegments.started(number, from, to, Map.of(0, from)).toBuilder()
                .setMaxTimestampMs(System.currentTimeMillis())
                .setState(state)
                .build();
    }

    private UnifiedLog log(TopicIdPartition partition, int records) throws Exception {
        KafkaScheduler scheduler = new KafkaScheduler(1);
        scheduler.startup();
        running.add(0, scheduler::shutdown);
        Map<String, String> settings = Map.of("remote.storage.enable", "true", "retention.ms", "-1");
        UnifiedLog log = UnifiedLog.create(
                dir.resolve(partition.topicPartition().toString()).toFile(), new LogConfig(settings), 0, 0, scheduler,
                new BrokerTopicStats(), Time.SYSTEM, 60_000, new ProducerStateManagerConfig(60_000, false), 60_000,
                new LogDirFailureChannel(1), true, Optional.of(partition.topicId()), new ConcurrentHashMap<>(),
                true, LogOffsetsListener.NO_OP_OFFSETS_LISTENER);
        running.add(0, log::close);
        SimpleRecord[] all = new SimpleRecord[records];
        for (int i = 0; i < records; i++) {
            all[i] = new SimpleRecord(System.currentTimeMillis(), new byte[1]);
        }
        log.appendAsLeader(MemoryRecords.withRecords(Compression.NONE, all), 0);
        log.updateHighWatermark(records);
        return log;
    }

    private RemoteLogManager kafka(FakeGroup guardian, UnifiedLog log) throws Exception {
        Map<String, Object> settings = Map.of(
                "remote.log.storage.system.enable", "true",
                "remote.log.storage.manager.class.name", Storage.class.getName(),
                "remote.log.metadata.manager.class.name", GuardianRemoteLogMetadataManager.class.getName(),
                "rlmm.config.guardian.endpoints", String.join(",", guardian.endpoints()),
                "remote.log.manager.task.interval.ms", "20");
        RemoteLogManagerConfig config =
                new RemoteLogManagerConfig(new AbstractConfig(RemoteLogManagerConfig.configDef(), settings));
        RemoteLogManager kafka = new RemoteLogManager(
                config, BROKER, Files.createDirectories(dir.resolve("broker")).toString(), CLUSTER, Time.SYSTEM,
                partition -> Optional.of(log), (partition, start) -> START.complete(start), new BrokerTopicStats(true), new Metrics(),
                Optional.empty());
        running.add(0, kafka);
        return kafka;
    }

    private record Led(UnifiedLog log) implements TopicPartitionLog {
        @Override
        public TopicPartition topicPartition() {
            return log.topicPartition();
        }

        @Override
        public Optional<UnifiedLog> unifiedLog() {
            return Optional.of(log);
        }
    }

    @Test
    void expiryDeletesASweptCopyBehindThoseItKeepsAndTheLogStillBeginsWithTheFirst() throws Exception {
        FakeGroup guardian = guardian(1);
        guardian.store(
                NAMES.name(P0),
                segment(1, 0, 99, RemoteLogSegmentState.COPY_SEGMENT_FINISHED),
                segment(2, 100, 199, RemoteLogSegmentState.COPY_SEGMENT_FINISHED),
                segment(3, 150, 249, RemoteLogSegmentState.DELETE_SEGMENT_STARTED));
        UnifiedLog log = log(P0, 300);
        RemoteLogManager kafka = kafka(guardian, log);
        kafka.onLeadershipChange(Set.of(new Led(log)), Set.of(), Map.of(P0.topic(), P0.topicId()));

        assertEquals(0, START.get(LIMIT_S, TimeUnit.SECONDS), "the start of the log, as the new leader finds it");
        assertEquals(150L, DELETED.poll(LIMIT_S, TimeUnit.SECONDS), "the first segment that expiry deletes");
        waitUntil("the end of the deletion", () -> guardian.events(NAMES.name(P0)).stream()
                .anyMatch(event -> event.getState() == RemoteLogSegmentState.DELETE_SEGMENT_FINISHED));
        assertTrue(DELETED.isEmpty(), () -> "what was to stay was deleted: " + DELETED);
    }
}

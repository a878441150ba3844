package guardian.kafka.hdfs;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.server.log.remote.storage.LogSegmentData;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentId;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;

/** Segments as a broker hands them over, with bytes that can be told apart. */
final class Segments {
    static final TopicIdPartition PARTITION =
            new TopicIdPartition(Uuid.randomUuid(), new TopicPartition("orders.v1-eu", 3));

    private Segments() {}

    static RemoteLogSegmentMetadata metadata(long startOffset, int bytes) {
        RemoteLogSegmentId id = new RemoteLogSegmentId(PARTITION, Uuid.randomUuid());
        return new RemoteLogSegmentMetadata(id, startOffset, startOffset + 9, 0, 1, 0, bytes, Map.of(0, startOffset));
    }

    /** Writes the files of a segment into a folder. */
    static LogSegmentData data(Path dir, byte[] log, boolean withTransactions) throws IOException {
        return new LogSegmentData(
                write(dir, "log", log),
                write(dir, "index", bytes(8 * 100, 1)),
                write(dir, "timeindex", bytes(12 * 50, 2)),
                withTransactions ? Optional.of(write(dir, "txnindex", bytes(34, 3))) : Optional.empty(),
                write(dir, "snapshot", bytes(77, 4)),
                ByteBuffer.wrap(bytes(21, 5)));
    }

    static byte[] bytes(int length, long seed) {
        byte[] bytes = new byte[length];
        new Random(seed).nextBytes(bytes);
        return bytes;
    }

    private static Path write(Path dir, String name, byte[] bytes) throws IOException {
        return Files.write(dir.resolve(name), bytes);
    }
}

package guardian.test;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.server.log.remote.storage.LogSegmentData;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentId;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteStorageManager;

/**
 * Copies segments of nothing but zeros into a remote store, by the class that brokers use, so that tests read what that
 * class really writes.
 *
 * <p>Arguments: the class, then its settings as name=value. Each line of stdin is a segment: topic, topic id, partition,
 * segment id, start offset, end offset, size in bytes.
 */
public final class SegmentWriter {
    private SegmentWriter() {}

    public static void main(String[] args) throws Exception {
        Map<String, Object> settings = new HashMap<>(Map.of("broker.id", 1));
        for (int i = 1; i < args.length; i++) {
            String[] setting = args[i].split("=", 2);
            settings.put(setting[0], setting[1]);
        }
        Path local = Files.createTempDirectory("segment");
        try (RemoteStorageManager storage =
                (RemoteStorageManager) Class.forName(args[0]).getDeclaredConstructor().newInstance()) {
            storage.configure(settings);
            BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                copy(storage, line.split(" "), local);
            }
        }
    }

    private static void copy(RemoteStorageManager storage, String[] of, Path local) throws Exception {
        TopicPartition partition = new TopicPartition(of[0], Integer.parseInt(of[2]));
        RemoteLogSegmentId id =
                new RemoteLogSegmentId(new TopicIdPartition(Uuid.fromString(of[1]), partition), Uuid.fromString(of[3]));
        int size = Integer.parseInt(of[6]);
        RemoteLogSegmentMetadata metadata = new RemoteLogSegmentMetadata(
                id, Long.parseLong(of[4]), Long.parseLong(of[5]), 1L, 1, 1L, size, Map.of(0, Long.parseLong(of[4])));
        LogSegmentData data = new LogSegmentData(
                file(local, "log", size), file(local, "index", 16), file(local, "timeindex", 24), Optional.empty(),
                file(local, "snapshot", 8), ByteBuffer.wrap("0\n1\n0 0\n".getBytes()));
        storage.copyLogSegmentData(metadata, data);
    }

    private static Path file(Path directory, String suffix, int size) throws Exception {
        Path path = directory.resolve("00000000000000000000." + suffix);
        try (RandomAccessFile file = new RandomAccessFile(path.toFile(), "rw")) {
            file.setLength(size);
        }
        return path;
    }
}

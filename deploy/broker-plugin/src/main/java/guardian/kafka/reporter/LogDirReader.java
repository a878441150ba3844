package guardian.kafka.reporter;

import guardian.v1.LogDirFacts;
import java.io.File;
import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** One of the broker's log dirs: its space, its disk and the replicas that it holds. */
final class LogDirReader {
    /** Future, stray and deleted replicas end in a word instead of a partition number. */
    private static final Pattern REPLICA = Pattern.compile("([a-zA-Z0-9._-]{1,249})-(0|[1-9]\\d{0,9})");

    /** The controller quorum's log, which lies in a log dir when metadata.log.dir is unset, is no replica. */
    private static final String METADATA_LOG = "__cluster_metadata-0";

    /** What the broker itself knows of its logs. */
    interface BrokerLogs {
        /** Whether the broker has given the log dir up, which may still look healthy from outside. */
        boolean isOffline(Path logDir);

        /** Of a replica that it has. */
        OptionalLong sizeBytes(String topic, String partition);
    }

    private final Path path;
    private final BrokerLogs logs;

    LogDirReader(Path path, BrokerLogs logs) {
        this.path = path;
        this.logs = logs;
    }

    Path path() {
        return path;
    }

    LogDirFacts read(MountTable mounts, DiskStats disks) {
        if (logs.isOffline(path)) {
            return offline();
        }
        LogDirFacts.Builder facts = LogDirFacts.newBuilder().setPath(path.toString());
        try {
            File directory = path.toFile();
            addReplicas(facts);
            return facts.setTotalBytes(directory.getTotalSpace())
                    .setUsableBytes(directory.getUsableSpace())
                    .setDisk(disk(mounts, disks))
                    .build();
        } catch (IOException | DirectoryIteratorException e) {
            return offline();
        }
    }

    private LogDirFacts offline() {
        return LogDirFacts.newBuilder().setPath(path.toString()).setOffline(true).build();
    }

    private void addReplicas(LogDirFacts.Builder facts) throws IOException {
        List<String> replicas = new ArrayList<>();
        long bytes = 0;
        try (DirectoryStream<Path> entries = Files.newDirectoryStream(path)) {
            for (Path entry : entries) {
                String name = entry.getFileName().toString();
                Matcher replica = REPLICA.matcher(name);
                if (!replica.matches() || name.equals(METADATA_LOG)) {
                    continue;
                }
                OptionalLong size = logs.sizeBytes(replica.group(1), replica.group(2));
                // A log that the broker has is a directory: a thousand of them are not worth a thousand looks.
                if (size.isPresent() || Files.isDirectory(entry)) {
                    replicas.add(name);
                    bytes += size.orElse(0);
                }
            }
        }
        facts.addAllReplicas(replicas).setSizeBytes(bytes);
    }

    private String disk(MountTable mounts, DiskStats disks) throws IOException {
        Path real = path.toRealPath();
        String mounted = mounts.deviceOf(real).map(disks::nameOf).orElse("");
        return mounted.isEmpty() ? disks.nameOf(deviceByStat(real)) : mounted;
    }

    private static Device deviceByStat(Path path) throws IOException {
        try {
            return Device.ofStDev((long) Files.getAttribute(path, "unix:dev"));
        } catch (UnsupportedOperationException e) {
            return Device.NONE;
        }
    }
}

package guardian.kafka.reporter.host;

import guardian.v1.LogDirFacts;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.regex.Pattern;

/** One of the broker's log dirs: its space, its disk and the replicas that it holds. */
public final class LogDirReader {
    /** Future, stray and deleted replicas end in a word instead of a partition number. */
    private static final Pattern REPLICA = Pattern.compile("[a-zA-Z0-9._-]{1,249}-(0|[1-9]\\d{0,9})");

    /** The controller quorum's log, which lies in a log dir when metadata.log.dir is unset, is no replica. */
    private static final String METADATA_LOG = "__cluster_metadata-0";

    /** What the broker itself knows of its logs. */
    public interface BrokerLogs {
        /** Whether the broker has given the log dir up, which may still look healthy from outside. */
        boolean isOffline(Path logDir);

        /** Of the folder's log, when it is one of a replica that the broker has. */
        OptionalLong sizeBytes(String folder);
    }

    private final Path path;
    private final BrokerLogs logs;

    public LogDirReader(Path path, BrokerLogs logs) {
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
        } catch (IOException e) {
            return offline();
        }
    }

    private LogDirFacts offline() {
        return LogDirFacts.newBuilder().setPath(path.toString()).setOffline(true).build();
    }

    private void addReplicas(LogDirFacts.Builder facts) throws IOException {
        String[] names = path.toFile().list();
        if (names == null) {
            throw new IOException(path + " can't be listed");
        }
        List<String> replicas = new ArrayList<>(names.length);
        long bytes = 0;
        for (String name : names) {
            OptionalLong size = logs.sizeBytes(name);
            if (!name.equals(METADATA_LOG) && (size.isPresent() || isReplica(name))) {
                replicas.add(name);
                bytes += size.orElse(0);
            }
        }
        facts.addAllReplicas(replicas).setSizeBytes(bytes);
    }

    /** For those that the broker does not know: a thousand that it has are not worth a thousand looks. */
    private boolean isReplica(String name) {
        return REPLICA.matcher(name).matches() && Files.isDirectory(path.resolve(name));
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

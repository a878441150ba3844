package guardian.kafka;

import guardian.v1.LogDirFacts;
import java.io.File;
import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;
import java.util.regex.Pattern;

/** One of the broker's log dirs: its space, its disk and the replicas that it holds. */
final class LogDirReader {
    /** Future, stray and deleted replicas end in a word instead of a partition number. */
    private static final Pattern REPLICA = Pattern.compile("[a-zA-Z0-9._-]{1,249}-(0|[1-9]\\d{0,9})");

    /** The controller quorum's log, which lies in a log dir when metadata.log.dir is unset, is no replica. */
    private static final String METADATA_LOG = "__cluster_metadata-0";

    private final Path path;
    private final Predicate<Path> isOffline;

    LogDirReader(Path path, Predicate<Path> isOffline) {
        this.path = path;
        this.isOffline = isOffline;
    }

    LogDirFacts read(MountTable mounts, DiskStats disks) {
        LogDirFacts.Builder facts = LogDirFacts.newBuilder().setPath(path.toString());
        if (isOffline.test(path)) {
            return facts.setOffline(true).build();
        }
        try {
            File directory = path.toFile();
            return facts.addAllReplicas(replicas())
                    .setTotalBytes(directory.getTotalSpace())
                    .setUsableBytes(directory.getUsableSpace())
                    .setDisk(disk(mounts, disks))
                    .build();
        } catch (IOException | DirectoryIteratorException e) {
            return LogDirFacts.newBuilder().setPath(path.toString()).setOffline(true).build();
        }
    }

    private List<String> replicas() throws IOException {
        List<String> replicas = new ArrayList<>();
        try (DirectoryStream<Path> entries = Files.newDirectoryStream(path)) {
            for (Path entry : entries) {
                String name = entry.getFileName().toString();
                if (REPLICA.matcher(name).matches() && !name.equals(METADATA_LOG) && Files.isDirectory(entry)) {
                    replicas.add(name);
                }
            }
        }
        return replicas;
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

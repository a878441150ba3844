package guardian.kafka;

import guardian.v1.HostFacts;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.function.Predicate;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The host as /proc and the log dirs show it. What the host does not have (no Linux, no rights) stays empty. */
final class HostFactsReader {
    private static final Logger LOG = LoggerFactory.getLogger(HostFactsReader.class);

    private final Path proc;
    private final List<LogDirReader> logDirs;

    HostFactsReader(Path proc, List<Path> logDirs, Predicate<Path> isOffline) {
        this.proc = proc;
        this.logDirs = logDirs.stream().map(dir -> new LogDirReader(dir, isOffline)).toList();
    }

    HostFacts read() {
        DiskStats disks = DiskStats.parse(lines("diskstats"));
        MountTable mounts = MountTable.parse(lines("self/mountinfo"));
        HostFacts.Builder facts = HostFacts.newBuilder()
                .addAllDisks(disks.facts())
                .setMemory(MemoryInfo.parse(lines("meminfo")));
        logDirs.forEach(dir -> facts.addLogDirs(dir.read(mounts, disks)));
        return facts.build();
    }

    private List<String> lines(String file) {
        try {
            return Files.readAllLines(proc.resolve(file));
        } catch (IOException e) {
            LOG.debug("{} can't be read", proc.resolve(file), e);
            return List.of();
        }
    }
}

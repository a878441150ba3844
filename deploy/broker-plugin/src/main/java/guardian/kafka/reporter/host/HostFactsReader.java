package guardian.kafka.reporter.host;

import guardian.v1.HostFacts;
import guardian.v1.LogDirFacts;
import java.io.FileInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.function.BiFunction;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The host as /proc and the log dirs show it. What the host does not have (no Linux, no rights) stays empty.
 *
 * <p>All that tells one disk from another is read below {@code guardian.host.proc}, and a NIC's speed in the folder
 * {@code sys} beside it: with a folder of one's own, a broker on one disk looks as if it had many.
 */
public final class HostFactsReader {
    private static final Logger LOG = LoggerFactory.getLogger(HostFactsReader.class);
    private static final long BITS_PER_MEGABIT = 1_000_000;

    private final Path proc;
    private final BiFunction<MountTable, DiskStats, List<LogDirFacts>> logDirs;
    private volatile Mounted mounted = new Mounted(List.of(), MountTable.parse(List.of()));
    private volatile List<LogDirFacts> disksOfLogDirs = List.of();

    /** Lines that are the same as at the last collection, as they are for months, are the same table. */
    private record Mounted(List<String> lines, MountTable table) {}

    public HostFactsReader(Path proc, BiFunction<MountTable, DiskStats, List<LogDirFacts>> logDirs) {
        this.proc = proc.toAbsolutePath();
        this.logDirs = logDirs;
    }

    public HostFacts read() {
        DiskStats disks = DiskStats.parse(lines("diskstats"));
        HostFacts.Builder facts = HostFacts.newBuilder()
                .addAllDisks(disks.facts())
                .setMemory(MemoryInfo.parse(lines("meminfo")))
                .setCpu(CpuStat.parse(lines("stat")))
                .addAllNics(NetDev.parse(lines("net/dev"), this::bitsPerSecond))
                .addAllLogDirs(logDirs.apply(mounts(), disks));
        PressureInfo.read(this::lines).ifPresent(facts::setPressure);
        disksOfLogDirs = facts.getLogDirsList().stream()
                .map(dir -> LogDirFacts.newBuilder().setPath(dir.getPath()).setDisk(dir.getDisk()).build())
                .toList();
        return facts.build();
    }

    /** How busy the host is, for who asks each second: no log dir is looked at whose disk is known. */
    public HostFacts readDevices() {
        if (disksOfLogDirs.isEmpty() || disksOfLogDirs.stream().anyMatch(dir -> dir.getDisk().isEmpty())) {
            read();
        }
        return HostFacts.newBuilder()
                .addAllDisks(DiskStats.parse(lines("diskstats")).facts())
                .addAllNics(NetDev.parse(lines("net/dev"), this::bitsPerSecond))
                .addAllLogDirs(disksOfLogDirs)
                .build();
    }

    private MountTable mounts() {
        List<String> lines = lines("self/mountinfo");
        Mounted known = mounted;
        if (!known.lines().equals(lines)) {
            known = new Mounted(lines, MountTable.parse(lines));
            mounted = known;
        }
        return known.table();
    }

    /** A NIC that is virtual or down has -1, or no such file that can be read. */
    private long bitsPerSecond(String nic) {
        List<String> lines = lines(proc.resolveSibling("sys/class/net/" + nic + "/speed"));
        try {
            return lines.isEmpty() ? 0 : Math.max(0, Integer.parseInt(lines.get(0).strip())) * BITS_PER_MEGABIT;
        } catch (NumberFormatException e) {
            return 0;
        }
    }

    private List<String> lines(String file) {
        return lines(proc.resolve(file));
    }

    private static List<String> lines(Path file) {
        try (FileInputStream in = new FileInputStream(file.toFile())) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8).lines().toList();
        } catch (IOException e) {
            LOG.debug("{} can't be read", file, e);
            return List.of();
        }
    }
}

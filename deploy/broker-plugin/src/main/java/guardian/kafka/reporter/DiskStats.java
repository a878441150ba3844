package guardian.kafka.reporter;

import guardian.v1.DiskFacts;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** /proc/diskstats: {@code major minor name reads merged sectors ms writes merged sectors ms in-flight busy-ms ...}. */
final class DiskStats {
    /** The kernel's unit in this file, whatever the disk's own sector size. */
    private static final long SECTOR_BYTES = 512;

    private static final int FIELDS = 13;

    private final Map<Device, DiskFacts> byDevice = new LinkedHashMap<>();

    /** Lines that are not as expected are left out. */
    static DiskStats parse(List<String> lines) {
        DiskStats stats = new DiskStats();
        for (String line : lines) {
            String[] fields = line.strip().split("\\s+");
            if (fields.length >= FIELDS && !isVirtual(fields[2])) {
                try {
                    stats.byDevice.put(
                            new Device(Integer.parseInt(fields[0]), Integer.parseInt(fields[1])), facts(fields));
                } catch (NumberFormatException e) {
                    continue;
                }
            }
        }
        return stats;
    }

    Collection<DiskFacts> facts() {
        return byDevice.values();
    }

    /** The disk's name; empty when it has no line. */
    String nameOf(Device device) {
        DiskFacts disk = byDevice.get(device);
        return disk == null ? "" : disk.getName();
    }

    private static boolean isVirtual(String name) {
        return name.startsWith("loop") || name.startsWith("ram") || name.startsWith("zram");
    }

    private static DiskFacts facts(String[] fields) {
        return DiskFacts.newBuilder()
                .setName(fields[2])
                .setReadsCompleted(Long.parseLong(fields[3]))
                .setBytesRead(Long.parseLong(fields[5]) * SECTOR_BYTES)
                .setReadMs(Long.parseLong(fields[6]))
                .setWritesCompleted(Long.parseLong(fields[7]))
                .setBytesWritten(Long.parseLong(fields[9]) * SECTOR_BYTES)
                .setWriteMs(Long.parseLong(fields[10]))
                .setInFlight(Integer.parseInt(fields[11]))
                .setBusyMs(Long.parseLong(fields[12]))
                .build();
    }
}

package guardian.kafka.reporter.host;

import guardian.v1.DiskFacts;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** /proc/diskstats: {@code major minor name reads merged sectors ms writes merged sectors ms in-flight busy-ms ...}. */
public final class DiskStats {
    /** The kernel's unit in this file, whatever the disk's own sector size. */
    private static final long SECTOR_BYTES = 512;

    private static final int FIELDS = 13;

    private final Map<Device, DiskFacts> byDevice = new LinkedHashMap<>();

    /** Lines that are not as expected are left out. */
    static DiskStats parse(List<String> lines) {
        DiskStats stats = new DiskStats();
        for (String line : lines) {
            List<String> fields = Fields.of(line);
            if (fields.size() >= FIELDS && !isVirtual(fields.get(2))) {
                try {
                    stats.byDevice.put(
                            new Device(Integer.parseInt(fields.get(0)), Integer.parseInt(fields.get(1))),
                            facts(fields));
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

    private static DiskFacts facts(List<String> fields) {
        return DiskFacts.newBuilder()
                .setName(fields.get(2))
                .setReadsCompleted(Long.parseLong(fields.get(3)))
                .setBytesRead(Long.parseLong(fields.get(5)) * SECTOR_BYTES)
                .setReadMs(Long.parseLong(fields.get(6)))
                .setWritesCompleted(Long.parseLong(fields.get(7)))
                .setBytesWritten(Long.parseLong(fields.get(9)) * SECTOR_BYTES)
                .setWriteMs(Long.parseLong(fields.get(10)))
                .setInFlight(Integer.parseInt(fields.get(11)))
                .setBusyMs(Long.parseLong(fields.get(12)))
                .build();
    }
}

package guardian.kafka.reporter.host;

import guardian.v1.MemoryFacts;
import java.util.List;

/** /proc/meminfo: lines of {@code Name: n kB}. */
final class MemoryInfo {
    private static final String UNIT = " kB";

    private MemoryInfo() {}

    static MemoryFacts parse(List<String> lines) {
        MemoryFacts.Builder memory = MemoryFacts.newBuilder();
        for (String line : lines) {
            int colon = line.indexOf(':');
            if (colon > 0 && line.endsWith(UNIT)) {
                set(memory, line.substring(0, colon), line.substring(colon + 1, line.length() - UNIT.length()));
            }
        }
        return memory.build();
    }

    private static void set(MemoryFacts.Builder memory, String name, String kilobytes) {
        switch (name) {
            case "MemTotal" -> memory.setTotalBytes(bytes(kilobytes));
            case "MemAvailable" -> memory.setAvailableBytes(bytes(kilobytes));
            case "Cached" -> memory.setPageCacheBytes(bytes(kilobytes));
            case "Dirty" -> memory.setDirtyBytes(bytes(kilobytes));
            default -> { }
        }
    }

    private static long bytes(String kilobytes) {
        try {
            return Long.parseLong(kilobytes.strip()) * 1024;
        } catch (NumberFormatException e) {
            return 0;
        }
    }
}

package guardian.kafka.reporter;

import guardian.v1.MemoryFacts;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** /proc/meminfo: lines of {@code Name: n kB}. */
final class MemoryInfo {
    private static final Pattern LINE = Pattern.compile("(\\w+):\\s+(\\d+) kB");

    private MemoryInfo() {}

    static MemoryFacts parse(List<String> lines) {
        MemoryFacts.Builder memory = MemoryFacts.newBuilder();
        for (String line : lines) {
            Matcher fields = LINE.matcher(line.strip());
            if (fields.matches()) {
                set(memory, fields.group(1), Long.parseLong(fields.group(2)) * 1024);
            }
        }
        return memory.build();
    }

    private static void set(MemoryFacts.Builder memory, String name, long bytes) {
        switch (name) {
            case "MemTotal" -> memory.setTotalBytes(bytes);
            case "MemAvailable" -> memory.setAvailableBytes(bytes);
            case "Cached" -> memory.setPageCacheBytes(bytes);
            case "Dirty" -> memory.setDirtyBytes(bytes);
            default -> { }
        }
    }
}

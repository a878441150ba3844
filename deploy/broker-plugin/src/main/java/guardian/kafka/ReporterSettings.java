package guardian.kafka;

import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/** What the reporter reads from the broker's configuration. */
record ReporterSettings(String host, int port, Path proc, int maxCalls, int brokerId, String rack, List<Path> logDirs) {
    static final String LISTENER = "guardian.reporter.listener";
    static final String HOST_PROC = "guardian.host.proc";
    static final String MAX_CALLS = "guardian.reporter.max.calls";

    private static final String DEFAULT_LOG_DIR = "/tmp/kafka-logs";

    /** The configuration asks for no reporter here, which is no mistake. */
    static final class NotWanted extends Exception {
        private static final long serialVersionUID = 1L;

        NotWanted(String reason) {
            super(reason);
        }
    }

    /**
     * @throws NotWanted when the listener is unset, or this process is a controller only
     * @throws IllegalArgumentException naming the setting, its value and the fix
     */
    static ReporterSettings read(Map<String, ?> configs) throws NotWanted {
        String roles = text(configs, "process.roles", "broker");
        if (split(roles).stream().noneMatch("broker"::equals)) {
            throw new NotWanted("process.roles is " + roles + ", which has no broker to report on");
        }
        String listener = text(configs, LISTENER, "");
        if (listener.isEmpty()) {
            throw new NotWanted(LISTENER + " is not set: set it to the host:port that Guardian's members call");
        }
        int colon = listener.lastIndexOf(':');
        String host = colon < 0 ? "" : listener.substring(0, colon).replaceAll("^\\[|]$", "");
        if (host.isEmpty()) {
            throw new IllegalArgumentException(LISTENER + " is '" + listener + "': use host:port");
        }
        String brokerId = text(configs, "node.id", text(configs, "broker.id", "-1"));
        return new ReporterSettings(
                host,
                number(LISTENER, listener.substring(colon + 1), 0, 65535),
                Path.of(text(configs, HOST_PROC, "/proc")),
                number(MAX_CALLS, text(configs, MAX_CALLS, "4"), 1, 1000),
                number("node.id", brokerId, 0, Integer.MAX_VALUE),
                text(configs, "broker.rack", ""),
                logDirs(configs));
    }

    private static List<Path> logDirs(Map<String, ?> configs) {
        String dirs = text(configs, "log.dirs", text(configs, "log.dir", DEFAULT_LOG_DIR));
        return split(dirs).stream().map(dir -> Path.of(dir).toAbsolutePath()).distinct().toList();
    }

    private static List<String> split(String list) {
        return Arrays.stream(list.split(",")).map(String::strip).filter(item -> !item.isEmpty()).toList();
    }

    private static String text(Map<String, ?> configs, String key, String unset) {
        Object value = configs.get(key);
        return value == null || value.toString().isBlank() ? unset : value.toString().strip();
    }

    private static int number(String key, String value, int least, int most) {
        try {
            int number = Integer.parseInt(value);
            if (number >= least && number <= most) {
                return number;
            }
        } catch (NumberFormatException e) {
            // Said below, together with the range.
        }
        throw new IllegalArgumentException(key + " has '" + value + "': use a number from " + least + " to " + most);
    }
}

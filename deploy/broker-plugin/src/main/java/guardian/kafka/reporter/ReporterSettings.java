package guardian.kafka.reporter;

import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * What the reporter reads from the broker's configuration.
 *
 * @param grpc where Guardian's members call, if they may
 * @param http where {@code /metrics} is scraped, if it may be
 * @param tls for both; without it they are in plain text
 * @param guardian the members to register with, none at all if empty
 * @param advertised instead of the host, or of host and port, that gRPC listens on; empty: those
 * @param allowed prefixes of the names that HTTP shows, all if empty
 * @param denied prefixes of the names that it does not
 */
record ReporterSettings(
        Optional<HostAndPort> grpc,
        Optional<HostAndPort> http,
        Optional<TlsFiles> tls,
        List<HostAndPort> guardian,
        boolean isGuardianTls,
        String advertised,
        List<String> allowed,
        List<String> denied,
        Path proc,
        int maxCalls,
        int maxConnections,
        int brokerId,
        String rack,
        List<Path> logDirs) {
    static final String LISTENER = "guardian.reporter.listener";
    static final String HTTP_LISTENER = "guardian.reporter.http.listener";
    static final String HTTP_ALLOW = "guardian.reporter.http.allow";
    static final String HTTP_DENY = "guardian.reporter.http.deny";
    static final String ADVERTISED = "guardian.reporter.advertised";
    static final String MAX_CALLS = "guardian.reporter.max.calls";
    static final String MAX_CONNECTIONS = "guardian.reporter.max.connections";
    static final String ENDPOINTS = "guardian.endpoints";
    static final String ENDPOINTS_SSL = "guardian.endpoints.ssl";
    static final String HOST_PROC = "guardian.host.proc";

    private static final String DEFAULT_LOG_DIR = "/tmp/kafka-logs";

    /** The configuration asks for no reporter here, which is no mistake. */
    static final class NotWanted extends Exception {
        private static final long serialVersionUID = 1L;

        NotWanted(String reason) {
            super(reason);
        }
    }

    /**
     * @throws NotWanted when no listener is set, or this process is a controller only
     * @throws IllegalArgumentException naming the setting, its value and the fix
     */
    static ReporterSettings read(Map<String, ?> configs) throws NotWanted {
        String roles = text(configs, "process.roles", "broker");
        if (split(roles).stream().noneMatch("broker"::equals)) {
            throw new NotWanted("process.roles is " + roles + ", which has no broker to report on");
        }
        Optional<HostAndPort> grpc = address(configs, LISTENER);
        Optional<HostAndPort> http = address(configs, HTTP_LISTENER);
        if (grpc.isEmpty() && http.isEmpty()) {
            throw new NotWanted(LISTENER + " is not set: set it to the host:port that Guardian's members call");
        }
        Optional<TlsFiles> tls = tls(configs);
        boolean isGuardianTls = flag(configs, ENDPOINTS_SSL);
        if (isGuardianTls && tls.isEmpty()) {
            throw new IllegalArgumentException(
                    ENDPOINTS_SSL + " is true without a certificate: set " + TlsFiles.CERTIFICATE + " too");
        }
        return new ReporterSettings(
                grpc,
                http,
                tls,
                split(text(configs, ENDPOINTS, "")).stream()
                        .map(endpoint -> HostAndPort.parse(ENDPOINTS, endpoint))
                        .toList(),
                isGuardianTls,
                text(configs, ADVERTISED, ""),
                split(text(configs, HTTP_ALLOW, "")),
                split(text(configs, HTTP_DENY, "")),
                Path.of(text(configs, HOST_PROC, "/proc")),
                number(configs, MAX_CALLS, "4", 1, 1000),
                number(configs, MAX_CONNECTIONS, "64", 1, 10_000),
                brokerId(configs),
                text(configs, "broker.rack", ""),
                logDirs(configs));
    }

    private static Optional<HostAndPort> address(Map<String, ?> configs, String key) {
        String address = text(configs, key, "");
        return address.isEmpty() ? Optional.empty() : Optional.of(HostAndPort.parse(key, address));
    }

    private static Optional<TlsFiles> tls(Map<String, ?> configs) {
        List<String> files = List.of(TlsFiles.CERTIFICATE, TlsFiles.KEY, TlsFiles.CA);
        if (files.stream().allMatch(key -> text(configs, key, "").isEmpty())) {
            return Optional.empty();
        }
        for (String key : files) {
            if (text(configs, key, "").isEmpty()) {
                throw new IllegalArgumentException(key + " is not set: TLS needs all of " + String.join(", ", files));
            }
        }
        return Optional.of(new TlsFiles(
                Path.of(text(configs, TlsFiles.CERTIFICATE, "")),
                Path.of(text(configs, TlsFiles.KEY, "")),
                Path.of(text(configs, TlsFiles.CA, ""))));
    }

    private static int brokerId(Map<String, ?> configs) {
        String key = text(configs, "node.id", "").isEmpty() ? "broker.id" : "node.id";
        return number(configs, key, "-1", 0, Integer.MAX_VALUE);
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
        if (value instanceof List<?> items) {
            value = String.join(",", items.stream().map(String::valueOf).toList());
        }
        return value == null || value.toString().isBlank() ? unset : value.toString().strip();
    }

    private static boolean flag(Map<String, ?> configs, String key) {
        String value = text(configs, key, "false");
        if (!value.equals("true") && !value.equals("false")) {
            throw new IllegalArgumentException(key + " is '" + value + "': use true or false");
        }
        return value.equals("true");
    }

    private static int number(Map<String, ?> configs, String key, String unset, int least, int most) {
        String value = text(configs, key, unset);
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

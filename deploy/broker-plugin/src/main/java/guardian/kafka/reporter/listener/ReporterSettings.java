package guardian.kafka.reporter.listener;

import guardian.kafka.common.BrokerConfigs;
import guardian.kafka.common.HostAndPort;
import guardian.kafka.common.MemberSettings;
import guardian.kafka.common.TlsFiles;
import java.nio.file.Path;
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
public record ReporterSettings(
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
        int maxConnectionsPerAddress,
        int brokerId,
        String rack,
        List<Path> logDirs) {
    public static final String LISTENER = "guardian.reporter.listener";
    public static final String HTTP_LISTENER = "guardian.reporter.http.listener";
    static final String HTTP_ALLOW = "guardian.reporter.http.allow";
    static final String HTTP_DENY = "guardian.reporter.http.deny";
    public static final String ADVERTISED = "guardian.reporter.advertised";
    public static final String MAX_CALLS = "guardian.reporter.max.calls";
    static final String MAX_CONNECTIONS = "guardian.reporter.max.connections";
    static final String MAX_CONNECTIONS_PER_ADDRESS = "guardian.reporter.max.connections.per.address";
    static final String HOST_PROC = "guardian.host.proc";

    private static final String DEFAULT_LOG_DIR = "/tmp/kafka-logs";

    /** The configuration asks for no reporter here, which is no mistake. */
    public static final class NotWanted extends Exception {
        private static final long serialVersionUID = 1L;

        NotWanted(String reason) {
            super(reason);
        }
    }

    /**
     * @throws NotWanted when no listener is set, or this process is a controller only
     * @throws IllegalArgumentException naming the setting, its value and the fix
     */
    public static ReporterSettings read(Map<String, ?> configs) throws NotWanted {
        String roles = BrokerConfigs.text(configs, "process.roles", "broker");
        if (!BrokerConfigs.list(configs, "process.roles", "broker").contains("broker")) {
            throw new NotWanted("process.roles is " + roles + ", which has no broker to report on");
        }
        Optional<HostAndPort> grpc = address(configs, LISTENER);
        Optional<HostAndPort> http = address(configs, HTTP_LISTENER);
        if (grpc.isEmpty() && http.isEmpty()) {
            throw new NotWanted(LISTENER + " is not set: set it to the host:port that Guardian's members call");
        }
        Optional<TlsFiles> tls = tls(configs);
        boolean isGuardianTls = MemberSettings.isSsl(configs);
        if (isGuardianTls && tls.isEmpty()) {
            throw new IllegalArgumentException(
                    MemberSettings.ENDPOINTS_SSL + " is true without a certificate: set " + TlsFiles.CERTIFICATE + " too");
        }
        return new ReporterSettings(
                grpc,
                http,
                tls,
                MemberSettings.endpoints(configs),
                isGuardianTls,
                BrokerConfigs.text(configs, ADVERTISED, ""),
                BrokerConfigs.list(configs, HTTP_ALLOW, ""),
                BrokerConfigs.list(configs, HTTP_DENY, ""),
                Path.of(BrokerConfigs.text(configs, HOST_PROC, "/proc")),
                number(configs, MAX_CALLS, "4", 1, 1000),
                number(configs, MAX_CONNECTIONS, "64", 1, 10_000),
                number(configs, MAX_CONNECTIONS_PER_ADDRESS, "32", 1, 10_000),
                brokerId(configs),
                BrokerConfigs.text(configs, "broker.rack", ""),
                logDirs(configs));
    }

    private static Optional<HostAndPort> address(Map<String, ?> configs, String key) {
        String address = BrokerConfigs.text(configs, key, "");
        return address.isEmpty() ? Optional.empty() : Optional.of(HostAndPort.parse(key, address));
    }

    private static Optional<TlsFiles> tls(Map<String, ?> configs) {
        List<String> files = List.of(TlsFiles.CERTIFICATE, TlsFiles.KEY, TlsFiles.CA);
        if (files.stream().allMatch(key -> BrokerConfigs.text(configs, key, "").isEmpty())) {
            return Optional.empty();
        }
        for (String key : files) {
            if (BrokerConfigs.text(configs, key, "").isEmpty()) {
                throw new IllegalArgumentException(key + " is not set: TLS needs all of " + String.join(", ", files));
            }
        }
        return Optional.of(new TlsFiles(
                Path.of(BrokerConfigs.text(configs, TlsFiles.CERTIFICATE, "")),
                Path.of(BrokerConfigs.text(configs, TlsFiles.KEY, "")),
                Path.of(BrokerConfigs.text(configs, TlsFiles.CA, ""))));
    }

    private static int brokerId(Map<String, ?> configs) {
        String key = BrokerConfigs.text(configs, "node.id", "").isEmpty() ? "broker.id" : "node.id";
        return number(configs, key, "-1", 0, Integer.MAX_VALUE);
    }

    private static List<Path> logDirs(Map<String, ?> configs) {
        String dirs = BrokerConfigs.text(configs, "log.dir", DEFAULT_LOG_DIR);
        return BrokerConfigs.list(configs, "log.dirs", dirs).stream()
                .map(dir -> Path.of(dir).toAbsolutePath())
                .distinct()
                .toList();
    }

    private static int number(Map<String, ?> configs, String key, String unset, int least, int most) {
        String value = BrokerConfigs.text(configs, key, unset);
        return (int) BrokerConfigs.number(value, least, most)
                .orElseThrow(() -> new IllegalArgumentException(
                        key + " has '" + value + "': use a number from " + least + " to " + most));
    }
}

package guardian.kafka.metadata;

import guardian.kafka.common.BrokerConfigs;
import guardian.kafka.common.MemberSettings;
import guardian.kafka.common.TlsFiles;
import guardian.kafka.metadata.store.Endpoints;
import guardian.kafka.metadata.store.StoreSettings;
import guardian.v1.FenceMode;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import java.util.TreeSet;
import org.apache.kafka.common.config.ConfigException;

/**
 * What the manager reads from the broker's configuration, and where a setting is missing there, from the system property
 * {@code guardian.rlmm.config.} + its name.
 *
 * @param tls for calling Guardian; without it in plain text
 * @param waitLimit how long a write waits inside the call for what it needs, before Kafka is told to come again
 * @param unknown names that begin with {@code guardian.} and mean nothing here
 */
record ManagerSettings(
        List<String> endpoints,
        Optional<TlsFiles> tls,
        String clusterId,
        int brokerId,
        FenceMode fence,
        Duration waitLimit,
        Duration writeLimit,
        int pendingEvents,
        Duration retryMin,
        Duration retryMax,
        Set<String> unknown) {
    static final String SYSTEM_PREFIX = "guardian.rlmm.config.";
    static final String FENCE = "guardian.fence";
    static final String WAIT_MS = "guardian.wait.ms";
    static final String WRITE_TIMEOUT_MS = "guardian.write.timeout.ms";
    static final String PENDING_EVENTS = "guardian.pending.events";
    static final String RETRY_MS = "guardian.retry.backoff.ms";
    static final String RETRY_MAX_MS = "guardian.retry.backoff.max.ms";

    private static final String OWN_PREFIX = "guardian.";
    private static final Set<String> KNOWN = Set.of(
            MemberSettings.ENDPOINTS, MemberSettings.ENDPOINTS_SSL, TlsFiles.CERTIFICATE, TlsFiles.KEY, TlsFiles.CA, FENCE,
            WAIT_MS, WRITE_TIMEOUT_MS, PENDING_EVENTS, RETRY_MS, RETRY_MAX_MS);
    private static final int HOUR_MS = 3_600_000;

    /**
     * @throws ConfigException naming the setting, its value and the fix
     */
    static ManagerSettings read(Map<String, ?> configs, Properties system) {
        Source source = new Source(configs, system);
        Duration retryMin = source.milliseconds(RETRY_MS, 50, 1);
        Duration retryMax = source.milliseconds(RETRY_MAX_MS, 2_000, 1);
        if (retryMax.compareTo(retryMin) < 0) {
            throw new ConfigException(
                    RETRY_MAX_MS + " is " + retryMax.toMillis() + ": use " + RETRY_MS + ", " + retryMin.toMillis() + ", or more");
        }
        return new ManagerSettings(
                source.endpoints(),
                source.tls(),
                source.required("cluster.id", "the broker's RemoteLogManager gives it"),
                source.number("broker.id", null, 0, Integer.MAX_VALUE),
                source.fence(),
                source.milliseconds(WAIT_MS, 5_000, 0),
                source.milliseconds(WRITE_TIMEOUT_MS, 30_000, 100),
                source.number(PENDING_EVENTS, "100000", 1, 10_000_000),
                retryMin,
                retryMax,
                source.unknown());
    }

    StoreSettings store(String writer) {
        return StoreSettings.of(endpoints, clusterId, brokerId, writer, fence)
                .withTls(tls)
                .withLimits(StoreSettings.Limits.DEFAULT
                        .withWriteLimit(writeLimit)
                        .withPendingEvents(pendingEvents)
                        .withRetries(retryMin, retryMax));
    }

    private record Source(Map<String, ?> configs, Properties system) {
        List<String> endpoints() {
            String text = required(
                    MemberSettings.ENDPOINTS,
                    "set rlmm.config." + MemberSettings.ENDPOINTS + " to the host:port,... of Guardian's members");
            List<String> endpoints =
                    Arrays.stream(text.split(",")).map(String::strip).filter(each -> !each.isEmpty()).toList();
            for (String endpoint : endpoints) {
                if (!Endpoints.isUsable(endpoint)) {
                    throw new ConfigException(MemberSettings.ENDPOINTS + " has '" + endpoint
                            + "': use host:port, the host's name of letters, digits, dots and hyphens");
                }
            }
            return endpoints;
        }

        Optional<TlsFiles> tls() {
            String wanted = text(MemberSettings.ENDPOINTS_SSL, "false");
            return switch (wanted) {
                case "false" -> Optional.empty();
                case "true" -> Optional.of(
                        new TlsFiles(file(TlsFiles.CERTIFICATE), file(TlsFiles.KEY), file(TlsFiles.CA)));
                default -> throw new ConfigException(
                        MemberSettings.ENDPOINTS_SSL + " is '" + wanted + "': use true or false");
            };
        }

        private Path file(String name) {
            return Path.of(required(
                    name, MemberSettings.ENDPOINTS_SSL + " is true, so set rlmm.config." + name + " to a PEM file"));
        }

        FenceMode fence() {
            String mode = text(FENCE, "verified");
            return switch (mode) {
                case "verified" -> FenceMode.VERIFIED;
                case "claim-order" -> FenceMode.CLAIM_ORDER;
                default -> throw new ConfigException(FENCE + " is '" + mode + "': use verified or claim-order");
            };
        }

        Duration milliseconds(String name, int unset, int least) {
            return Duration.ofMillis(number(name, Integer.toString(unset), least, HOUR_MS));
        }

        int number(String name, String unset, int least, int most) {
            String value = text(name, unset);
            if (value == null) {
                throw new ConfigException(name + " is not set: use a number from " + least + " to " + most);
            }
            return (int) BrokerConfigs.number(value, least, most)
                    .orElseThrow(() -> new ConfigException(
                            name + " is '" + value + "': use a number from " + least + " to " + most));
        }

        String required(String name, String fix) {
            String value = text(name, null);
            if (value == null || value.replace(",", "").isBlank()) {
                throw new ConfigException(name + " is " + (value == null ? "not set" : "'" + value + "'") + ": " + fix);
            }
            return value;
        }

        Set<String> unknown() {
            Set<String> names = new TreeSet<>();
            configs.keySet().stream().filter(name -> name.startsWith(OWN_PREFIX)).forEach(names::add);
            system.stringPropertyNames().stream()
                    .filter(name -> name.startsWith(SYSTEM_PREFIX))
                    .map(name -> name.substring(SYSTEM_PREFIX.length()))
                    .filter(name -> name.startsWith(OWN_PREFIX))
                    .forEach(names::add);
            names.removeAll(KNOWN);
            return names;
        }

        private String text(String name, String unset) {
            Object value = configs.get(name);
            if (isBlank(value)) {
                value = system.getProperty(SYSTEM_PREFIX + name);
            }
            return isBlank(value) ? unset : value.toString().strip();
        }

        private static boolean isBlank(Object value) {
            return value == null || value.toString().isBlank();
        }
    }
}

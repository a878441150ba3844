package guardian.kafka.placement;

import guardian.kafka.common.BrokerConfigs;
import guardian.kafka.common.HostAndPort;
import guardian.kafka.common.MemberSettings;
import guardian.kafka.common.TlsFiles;
import java.io.IOException;
import java.io.Reader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;

/**
 * What the topic-creation policy reads from the controller's configuration.
 *
 * @param members of Guardian, who are asked in turn
 * @param tls for asking them; without it in plain text
 * @param clusterId Kafka's cluster.id
 * @param poll between two questions
 * @param maxAge rules that were confirmed longer ago count as not known
 * @param refusesUnknown whether topics are refused while the rules are not known
 * @param refusesOutside whether topics are refused that no ticket of Guardian creates
 * @param outsideAllowed beginnings of the names of topics that anybody may create all the same
 */
public record PlacementSettings(
        List<HostAndPort> members,
        Optional<TlsFiles> tls,
        String clusterId,
        Duration poll,
        Duration maxAge,
        boolean refusesUnknown,
        boolean refusesOutside,
        List<String> outsideAllowed) {
    static final String CLUSTER_ID = "guardian.cluster.id";
    static final String POLL_MS = "guardian.placement.poll.ms";
    static final String MAX_AGE_MS = "guardian.placement.max.age.ms";
    static final String WHEN_UNKNOWN = "guardian.placement.when.unknown";
    static final String OUTSIDE = "guardian.placement.outside";
    static final String OUTSIDE_ALLOW = "guardian.placement.outside.allow";

    private static final long MAX_MS = 86_400_000;
    // Those that hold the cluster's identity, in the order in which Kafka itself would name them.
    private static final List<String> DIRECTORIES = List.of("metadata.log.dir", "log.dirs", "log.dir");

    public PlacementSettings {
        members = List.copyOf(members);
        outsideAllowed = List.copyOf(outsideAllowed);
    }

    /** @throws IllegalArgumentException naming the setting, its value and the fix */
    public static PlacementSettings read(Map<String, ?> configs) {
        List<HostAndPort> members = MemberSettings.endpoints(configs);
        if (members.isEmpty()) {
            throw new IllegalArgumentException(MemberSettings.ENDPOINTS + " is empty: give host:port of Guardian's members");
        }
        return new PlacementSettings(
                members,
                tls(configs),
                clusterId(configs),
                milliseconds(configs, POLL_MS, 1_000, 100),
                milliseconds(configs, MAX_AGE_MS, 600_000, 1_000),
                isRefuse(configs, WHEN_UNKNOWN),
                isRefuse(configs, OUTSIDE),
                BrokerConfigs.list(configs, OUTSIDE_ALLOW, "__"));
    }

    private static Optional<TlsFiles> tls(Map<String, ?> configs) {
        if (!MemberSettings.isSsl(configs)) {
            return Optional.empty();
        }
        return Optional.of(new TlsFiles(
                path(configs, TlsFiles.CERTIFICATE), path(configs, TlsFiles.KEY), path(configs, TlsFiles.CA)));
    }

    private static Path path(Map<String, ?> configs, String key) {
        String value = BrokerConfigs.text(configs, key, "");
        if (value.isEmpty()) {
            throw new IllegalArgumentException(
                    key + " is not set, but " + MemberSettings.ENDPOINTS_SSL + " is true: set it");
        }
        return Path.of(value);
    }

    /** Kafka tells a policy everything but which cluster it is in: that is in the directories that were formatted. */
    private static String clusterId(Map<String, ?> configs) {
        String given = BrokerConfigs.text(configs, CLUSTER_ID, "");
        if (!given.isEmpty()) {
            return given;
        }
        for (String key : DIRECTORIES) {
            for (String directory : BrokerConfigs.list(configs, key, "")) {
                String found = clusterIdIn(Path.of(directory, "meta.properties"));
                if (!found.isEmpty()) {
                    return found;
                }
            }
        }
        throw new IllegalArgumentException(CLUSTER_ID + " is not set and no meta.properties is in "
                + String.join(" or ", DIRECTORIES) + ": set it to Kafka's cluster.id");
    }

    private static String clusterIdIn(Path file) {
        Properties properties = new Properties();
        try (Reader reader = Files.newBufferedReader(file, StandardCharsets.UTF_8)) {
            properties.load(reader);
        } catch (IOException e) {
            return "";
        }
        return properties.getProperty("cluster.id", "").strip();
    }

    private static boolean isRefuse(Map<String, ?> configs, String key) {
        String value = BrokerConfigs.text(configs, key, "allow");
        if (!value.equals("allow") && !value.equals("refuse")) {
            throw new IllegalArgumentException(key + " is '" + value + "': use allow or refuse");
        }
        return value.equals("refuse");
    }

    private static Duration milliseconds(Map<String, ?> configs, String key, long unset, long least) {
        String value = BrokerConfigs.text(configs, key, Long.toString(unset));
        return Duration.ofMillis(BrokerConfigs.number(value, least, MAX_MS)
                .orElseThrow(() -> new IllegalArgumentException(
                        key + " is '" + value + "': use milliseconds, " + least + " to " + MAX_MS)));
    }
}

package guardian.kafka.common;

import java.util.List;
import java.util.Map;

/** The settings that say where Guardian's members are, alike for all parts that call them. */
public final class MemberSettings {
    public static final String ENDPOINTS = "guardian.endpoints";
    public static final String ENDPOINTS_SSL = "guardian.endpoints.ssl";

    private MemberSettings() {}

    /**
     * Return the members that are named, none if the setting is empty.
     *
     * @throws IllegalArgumentException naming the setting, its value and the fix
     */
    public static List<HostAndPort> endpoints(Map<String, ?> configs) {
        return BrokerConfigs.list(configs, ENDPOINTS, "").stream()
                .map(endpoint -> HostAndPort.parse(ENDPOINTS, endpoint))
                .toList();
    }

    /**
     * Return whether they are called with TLS.
     *
     * @throws IllegalArgumentException naming the setting, its value and the fix
     */
    public static boolean isSsl(Map<String, ?> configs) {
        return BrokerConfigs.flag(configs, ENDPOINTS_SSL, false);
    }
}

package guardian.kafka;

import guardian.kafka.common.BrokerConfigs;
import guardian.v1.ReplicaSelectorFacts;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * What the replica selector reads from the broker's configuration.
 *
 * @param warmUpMs a replica that joined less than this ago is not read from
 * @param maxLagMs nor one that was last caught up longer ago than this; 0: Kafka's own rule alone counts, in sync is enough
 * @param idcOfRack racks whose IDC is not their name up to the last separator
 */
record SelectorSettings(long warmUpMs, long maxLagMs, String idcSeparator, Map<String, String> idcOfRack) {
    static final String CLASS = "replica.selector.class";
    static final String WARM_UP_MS = "guardian.replica.warm.up.ms";
    static final String MAX_LAG_MS = "guardian.replica.max.lag.ms";
    static final String IDC_SEPARATOR = "guardian.replica.idc.separator";
    static final String IDC_OF_RACK = "guardian.replica.idc.of.rack";
    static final SelectorSettings DEFAULTS = new SelectorSettings(600_000, 10_000, "-", Map.of());

    SelectorSettings {
        idcOfRack = Map.copyOf(idcOfRack);
    }

    /** @throws IllegalArgumentException naming the setting, its value and the fix */
    static SelectorSettings read(Map<String, ?> configs) {
        Object separator = configs.get(IDC_SEPARATOR);
        return new SelectorSettings(
                milliseconds(configs, WARM_UP_MS, DEFAULTS.warmUpMs, "0 to let consumers read from every replica"),
                milliseconds(configs, MAX_LAG_MS, DEFAULTS.maxLagMs, "0 to take every replica that is in sync"),
                separator == null ? DEFAULTS.idcSeparator : notEmpty(separator.toString().strip()),
                idcOfRack(BrokerConfigs.list(configs, IDC_OF_RACK, "")));
    }

    /** What the reporter tells of a broker with this configuration. Settings that the selector refuses are left out. */
    static ReplicaSelectorFacts told(Map<String, ?> configs) {
        Object given = configs.get(CLASS);
        String className = given == null ? "" : given.toString().strip();
        ReplicaSelectorFacts.Builder facts = ReplicaSelectorFacts.newBuilder().setClassName(className);
        if (className.equals(IdcAwareReplicaSelector.class.getName())) {
            try {
                SelectorSettings settings = read(configs);
                facts.putAllIdcOfRack(settings.idcOfRack()).setIdcSeparator(settings.idcSeparator());
            } catch (IllegalArgumentException e) {
                // The broker does not start with them, and says why.
            }
        }
        return facts.build();
    }

    private static long milliseconds(Map<String, ?> configs, String key, long unset, String zero) {
        Object given = configs.get(key);
        if (given == null) {
            return unset;
        }
        String value = given.toString().strip();
        return BrokerConfigs.number(value, 0, Long.MAX_VALUE)
                .orElseThrow(() -> new IllegalArgumentException(key + " is '" + value + "': use milliseconds, " + zero));
    }

    private static String notEmpty(String value) {
        if (value.isEmpty()) {
            throw new IllegalArgumentException(
                    IDC_SEPARATOR + " is empty: give what stands between IDC and rack in broker.rack, such as '-'");
        }
        return value;
    }

    /** Of "r1:east,r2:east,r3:west"; a rack's name may hold a colon, an IDC's may not. */
    private static Map<String, String> idcOfRack(List<String> pairs) {
        Map<String, String> found = new HashMap<>();
        for (String named : pairs) {
            int colon = named.lastIndexOf(':');
            String rack = colon < 0 ? "" : named.substring(0, colon).strip();
            String idc = named.substring(colon + 1).strip();
            if (rack.isEmpty() || idc.isEmpty()) {
                throw new IllegalArgumentException(
                        IDC_OF_RACK + " has '" + named + "': use rack:IDC, separated by commas, such as r1:east,r2:west");
            }
            String other = found.put(rack, idc);
            if (other != null && !other.equals(idc)) {
                throw new IllegalArgumentException(
                        IDC_OF_RACK + " names rack '" + rack + "' in " + other + " and in " + idc + ": leave one out");
            }
        }
        return found;
    }
}

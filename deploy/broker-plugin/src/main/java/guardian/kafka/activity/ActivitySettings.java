package guardian.kafka.activity;

import guardian.kafka.common.BrokerConfigs;
import java.util.Map;

/** What is counted, and how much memory that may take, as the broker's configuration says. */
record ActivitySettings(
        boolean enabled, int sliceSeconds, int keepMinutes, long memoryBytes, int maxEntries, boolean addresses) {
    static final String ENABLE = "guardian.activity.enable";
    static final String SLICE_S = "guardian.activity.slice.s";
    static final String KEEP_MINUTES = "guardian.activity.keep.minutes";
    static final String MEMORY_MB = "guardian.activity.memory.mb";
    static final String MAX_ENTRIES = "guardian.activity.max.entries";
    static final String ADDRESSES = "guardian.activity.addresses";

    private static final int MIB = 1024 * 1024;

    /** @throws IllegalArgumentException naming the setting, its value and the fix */
    static ActivitySettings read(Map<String, ?> configs) {
        return new ActivitySettings(
                BrokerConfigs.flag(configs, ENABLE, true) && isBroker(configs),
                number(configs, SLICE_S, 60, 3600),
                number(configs, KEEP_MINUTES, 15, 1440),
                (long) number(configs, MEMORY_MB, 64, 4096) * MIB,
                number(configs, MAX_ENTRIES, 50_000, 1_000_000),
                BrokerConfigs.flag(configs, ADDRESSES, true));
    }

    /** How many closed slices are kept. */
    int slicesKept() {
        return Math.max(1, keepMinutes * 60 / sliceSeconds);
    }

    /** A controller that is no broker has no reporter to send what it counts. */
    private static boolean isBroker(Map<String, ?> configs) {
        return BrokerConfigs.list(configs, "process.roles", "broker").contains("broker");
    }

    private static int number(Map<String, ?> configs, String key, int unset, int most) {
        String value = BrokerConfigs.text(configs, key, Integer.toString(unset));
        return (int) BrokerConfigs.number(value, 1, most)
                .orElseThrow(() -> new IllegalArgumentException(
                        key + " is '" + value + "': use a number from 1 to " + most));
    }
}

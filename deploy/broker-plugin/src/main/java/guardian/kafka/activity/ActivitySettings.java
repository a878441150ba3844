package guardian.kafka.activity;

import java.util.Arrays;
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
                flag(configs, ENABLE) && isBroker(configs),
                number(configs, SLICE_S, 60, 3600),
                number(configs, KEEP_MINUTES, 15, 1440),
                (long) number(configs, MEMORY_MB, 64, 4096) * MIB,
                number(configs, MAX_ENTRIES, 50_000, 1_000_000),
                flag(configs, ADDRESSES));
    }

    /** How many closed slices are kept. */
    int slicesKept() {
        return Math.max(1, keepMinutes * 60 / sliceSeconds);
    }

    /** A controller that is no broker has no reporter to send what it counts. */
    private static boolean isBroker(Map<String, ?> configs) {
        String roles = text(configs, "process.roles", "broker");
        return Arrays.stream(roles.split(",")).map(String::strip).anyMatch("broker"::equals);
    }

    private static boolean flag(Map<String, ?> configs, String key) {
        String value = text(configs, key, "true");
        if (!value.equals("true") && !value.equals("false")) {
            throw new IllegalArgumentException(key + " is '" + value + "': use true or false");
        }
        return value.equals("true");
    }

    private static int number(Map<String, ?> configs, String key, int unset, int most) {
        String value = text(configs, key, Integer.toString(unset));
        try {
            int number = Integer.parseInt(value);
            if (number >= 1 && number <= most) {
                return number;
            }
        } catch (NumberFormatException e) {
            // Said below, together with the range.
        }
        throw new IllegalArgumentException(key + " is '" + value + "': use a number from 1 to " + most);
    }

    private static String text(Map<String, ?> configs, String key, String unset) {
        Object value = configs.get(key);
        return value == null || value.toString().isBlank() ? unset : value.toString().strip();
    }
}

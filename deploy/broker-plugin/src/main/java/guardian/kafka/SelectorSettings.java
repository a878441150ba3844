package guardian.kafka;

import java.util.Map;

/** What the replica selector reads from the broker's configuration. An IDC is a rack's name up to its last separator. */
record SelectorSettings(long warmUpMs, String idcSeparator) {
    static final String WARM_UP_MS = "guardian.replica.warm.up.ms";
    static final String IDC_SEPARATOR = "guardian.replica.idc.separator";
    static final SelectorSettings DEFAULTS = new SelectorSettings(600_000, "-");

    /** @throws IllegalArgumentException naming the setting, its value and the fix */
    static SelectorSettings read(Map<String, ?> configs) {
        Object warmUp = configs.get(WARM_UP_MS);
        Object separator = configs.get(IDC_SEPARATOR);
        return new SelectorSettings(
                warmUp == null ? DEFAULTS.warmUpMs : milliseconds(warmUp.toString().strip()),
                separator == null ? DEFAULTS.idcSeparator : notEmpty(separator.toString().strip()));
    }

    private static long milliseconds(String value) {
        try {
            long number = Long.parseLong(value);
            if (number >= 0) {
                return number;
            }
        } catch (NumberFormatException e) {
            // The sentence below is for it too.
        }
        throw new IllegalArgumentException(
                WARM_UP_MS + " is '" + value + "': use milliseconds, 0 to let consumers read from every replica");
    }

    private static String notEmpty(String value) {
        if (value.isEmpty()) {
            throw new IllegalArgumentException(
                    IDC_SEPARATOR + " is empty: give what stands between IDC and rack in broker.rack, such as '-'");
        }
        return value;
    }
}

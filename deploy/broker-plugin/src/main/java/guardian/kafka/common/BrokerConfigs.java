package guardian.kafka.common;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;

/**
 * Values of a broker's configuration, as Kafka hands it over: text, or what Kafka has parsed already.
 *
 * <p>A blank value counts as not set.
 */
public final class BrokerConfigs {
    private BrokerConfigs() {}

    /** Return a value without blanks around it; a list's items are joined by commas. */
    public static String text(Map<String, ?> configs, String key, String unset) {
        Object value = configs.get(key);
        if (value instanceof List<?> items) {
            value = String.join(",", items.stream().map(String::valueOf).toList());
        }
        return value == null || value.toString().isBlank() ? unset : value.toString().strip();
    }

    /** Return the items between a value's commas, none of them empty. */
    public static List<String> list(Map<String, ?> configs, String key, String unset) {
        return Arrays.stream(text(configs, key, unset).split(","))
                .map(String::strip)
                .filter(item -> !item.isEmpty())
                .toList();
    }

    /** @throws IllegalArgumentException naming the setting, its value and the fix */
    public static boolean flag(Map<String, ?> configs, String key, boolean unset) {
        String value = text(configs, key, Boolean.toString(unset));
        if (!value.equals("true") && !value.equals("false")) {
            throw new IllegalArgumentException(key + " is '" + value + "': use true or false");
        }
        return value.equals("true");
    }

    /** Return the whole number that a text is; nothing if it is none, or one outside the bounds, which are allowed. */
    public static OptionalLong number(String text, long least, long most) {
        try {
            long number = Long.parseLong(text);
            return number >= least && number <= most ? OptionalLong.of(number) : OptionalLong.empty();
        } catch (NumberFormatException e) {
            return OptionalLong.empty();
        }
    }
}

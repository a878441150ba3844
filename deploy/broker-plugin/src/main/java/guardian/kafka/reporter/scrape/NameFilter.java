package guardian.kafka.reporter.scrape;

import java.util.List;

/**
 * Which samples are shown, by the prefix of their name.
 *
 * @param allowed all, if empty
 */
public record NameFilter(List<String> allowed, List<String> denied) {
    public static final NameFilter ALL = new NameFilter(List.of(), List.of());

    static NameFilter only(List<String> allowed) {
        return allowed.isEmpty() ? ALL : new NameFilter(allowed, List.of());
    }

    boolean shows(String name) {
        return (allowed.isEmpty() || isAny(allowed, name)) && !isAny(denied, name);
    }

    private static boolean isAny(List<String> prefixes, String name) {
        for (String prefix : prefixes) {
            if (name.startsWith(prefix)) {
                return true;
            }
        }
        return false;
    }
}

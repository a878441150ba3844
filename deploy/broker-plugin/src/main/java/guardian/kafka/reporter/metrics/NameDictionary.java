package guardian.kafka.reporter.metrics;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Supplier;

/**
 * The names of all values ever reported, numbered as they were first seen.
 *
 * <p>Append-only: an id keeps its name as long as the dictionary lives, so a caller that holds the first n names is
 * told only those from n on. Safe for concurrent callers.
 */
final class NameDictionary {
    /** A metric and its attributes, whose ids count up from {@code firstId}. */
    record Entry(String mbean, List<String> attributes, int firstId) {
        String name(int attribute) {
            return mbean + ":" + attributes.get(attribute);
        }
    }

    /** The names that a caller lacks; {@code first} is the id of the first of them. */
    record Missing(int first, List<String> names) {}

    private final long id = randomId();
    private final List<String> names = new ArrayList<>();
    private final Map<Object, Entry> entries = new ConcurrentHashMap<>();

    /** Random, and never the 0 by which a caller says that it holds no dictionary. */
    private static long randomId() {
        long id;
        do {
            id = ThreadLocalRandom.current().nextLong();
        } while (id == 0);
        return id;
    }

    long id() {
        return id;
    }

    synchronized int size() {
        return names.size();
    }

    /** The entry of a metric, named at first sight; {@code mbean} is asked only then. */
    Entry entry(Object metric, List<String> attributes, Supplier<String> mbean) {
        Entry known = entries.get(metric);
        if (known != null && known.attributes().equals(attributes)) {
            return known;
        }
        Entry added = append(mbean.get(), attributes);
        entries.put(metric, added);
        return added;
    }

    /** What a caller lacks that holds {@code known} names of the dictionary {@code callersId}. */
    synchronized Missing missing(long callersId, int known) {
        int first = callersId == id && known >= 0 && known <= names.size() ? known : 0;
        return new Missing(first, List.copyOf(names.subList(first, names.size())));
    }

    private synchronized Entry append(String mbean, List<String> attributes) {
        Entry entry = new Entry(mbean, List.copyOf(attributes), names.size());
        for (int i = 0; i < attributes.size(); i++) {
            names.add(entry.name(i));
        }
        return entry;
    }
}

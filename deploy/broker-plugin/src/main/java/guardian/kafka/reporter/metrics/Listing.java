package guardian.kafka.reporter.metrics;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;

/**
 * The metrics of a source and the ids of their values, looked up once: a collection only goes from one reader to the
 * next.
 *
 * <p>A broker's ten thousand metrics lie all over its memory, and so would whatever is looked up for each of them. What
 * a collection needs of each is here in one row.
 */
public final class Listing {
    static final int MOST_ATTRIBUTES = 16;

    /**
     * A metric.
     *
     * @param firstId of the ids of its values, which count up
     * @param wanted which of its attributes are; null for all
     */
    record Slot(MetricReader reader, String mbean, int firstId, int attributes, boolean[] wanted) {
        boolean wants(int attribute) {
            return wanted == null || wanted[attribute];
        }
    }

    private record Choice(List<String> prefixes, List<Slot> slots) {}

    private final long revision;
    private final NameDictionary dictionary;
    private final List<NameDictionary.Entry> entries = new ArrayList<>();
    private final List<Slot> slots = new ArrayList<>();
    private int names;
    private volatile Choice last = new Choice(List.of(), List.of());

    private Listing(long revision, NameDictionary dictionary) {
        this.revision = revision;
        this.dictionary = dictionary;
    }

    /** What the source lists at least; a change meanwhile gives it another revision. */
    static Listing of(MetricSource source, NameDictionary dictionary) {
        Listing listing = new Listing(source.revision(), dictionary);
        source.list(listing);
        return listing;
    }

    /** Whether the source would list the same still, and the dictionary has its names. */
    boolean isCurrent(MetricSource source, NameDictionary names) {
        return dictionary == names && revision == source.revision();
    }

    /**
     * @param metric tells it from all others, as in the dictionary
     * @param mbean asked when the dictionary lacks the metric
     */
    void add(Object metric, List<String> attributes, Supplier<String> mbean, MetricReader reader) {
        NameDictionary.Entry entry = dictionary.entry(metric, attributes, mbean);
        entries.add(entry);
        slots.add(new Slot(reader, entry.mbean(), entry.firstId(), attributes.size(), null));
        names += attributes.size();
    }

    /** How many names its metrics have. */
    int names() {
        return names;
    }

    /** Those with a name that starts with one of these; all when there are none. Callers ask for the same every time. */
    List<Slot> matching(List<String> prefixes) {
        if (prefixes.isEmpty()) {
            return slots;
        }
        Choice choice = last;
        if (!choice.prefixes().equals(prefixes)) {
            choice = new Choice(List.copyOf(prefixes), choose(prefixes));
            last = choice;
        }
        return choice.slots();
    }

    private List<Slot> choose(List<String> prefixes) {
        List<Slot> chosen = new ArrayList<>();
        for (int i = 0; i < slots.size(); i++) {
            Slot slot = slots.get(i);
            boolean[] wanted = new boolean[slot.attributes()];
            boolean any = false;
            for (int attribute = 0; attribute < wanted.length; attribute++) {
                wanted[attribute] = startsWithAny(entries.get(i).name(attribute), prefixes);
                any |= wanted[attribute];
            }
            if (any) {
                chosen.add(new Slot(slot.reader(), slot.mbean(), slot.firstId(), slot.attributes(), wanted));
            }
        }
        return chosen;
    }

    private static boolean startsWithAny(String name, List<String> prefixes) {
        return prefixes.stream().anyMatch(name::startsWith);
    }
}

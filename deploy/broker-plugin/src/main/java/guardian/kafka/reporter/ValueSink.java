package guardian.kafka.reporter;

import guardian.v1.MetricBatch;
import java.util.List;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

/** Takes the values of one collection: those that the caller asked for, until its time is up. */
final class ValueSink {
    /** The caller is gone or the collection takes too long: what is left is not worth the broker's time. */
    static final class Expired extends RuntimeException {
        private static final long serialVersionUID = 1L;

        Expired() {
            super("the collection was not done in time", null, false, false);
        }
    }

    private final MetricBatch.Builder batch;
    private final NameDictionary dictionary;
    private final List<String> prefixes;
    private final BooleanSupplier expired;
    private int namesSeen;

    ValueSink(MetricBatch.Builder batch, NameDictionary dictionary, List<String> prefixes, BooleanSupplier expired) {
        this.batch = batch;
        this.dictionary = dictionary;
        this.prefixes = prefixes;
        this.expired = expired;
    }

    /** The metric's entry, or null when no value of it is wanted.
     *
     * @throws Expired when the collection must end
     */
    NameDictionary.Entry wanted(Object metric, List<String> attributes, Supplier<String> mbean) {
        if (expired.getAsBoolean()) {
            throw new Expired();
        }
        namesSeen += attributes.size();
        NameDictionary.Entry entry = dictionary.entry(metric, attributes, mbean);
        if (prefixes.isEmpty()) {
            return entry;
        }
        for (int i = 0; i < attributes.size(); i++) {
            if (isWanted(entry.name(i))) {
                return entry;
            }
        }
        return null;
    }

    /** How many names the metrics so far have, whether wanted or not. */
    int namesSeen() {
        return namesSeen;
    }

    /** One value for each of the entry's attributes, in their order. */
    void put(NameDictionary.Entry entry, double... values) {
        for (int i = 0; i < values.length; i++) {
            if (prefixes.isEmpty() || isWanted(entry.name(i))) {
                batch.addIds(entry.firstId() + i);
                batch.addValues(values[i]);
            }
        }
    }

    private boolean isWanted(String name) {
        for (String prefix : prefixes) {
            if (name.startsWith(prefix)) {
                return true;
            }
        }
        return false;
    }
}

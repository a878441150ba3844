package guardian.kafka.reporter.scrape;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What each id of a name dictionary is in Prometheus' text, by family, as that text has to be written.
 *
 * <p>Names are mapped once; a scrape only puts values behind them. What {@link #families} gave out never changes.
 */
final class SeriesTable {
    private static final Logger LOG = LoggerFactory.getLogger(SeriesTable.class);

    /** One sample: all of its line but the value, and the ids of which the value is made. */
    record Line(String head, int id, int timesId, double factor) {
        /** NaN when the broker gave no value. */
        double value(double[] values) {
            double value = at(values, id) * factor;
            return timesId < 0 ? value : value * at(values, timesId);
        }

        private static double at(double[] values, int id) {
            return id < values.length ? values[id] : Double.NaN;
        }
    }

    /** @param help the mbean that it comes from, without what has become a label */
    record Family(String name, Series.Kind kind, String help, List<Line> lines) {}

    private record Growing(Series.Kind kind, String help, Map<String, Line> lines) {}

    private final long dictionaryId;
    private final NameFilter filter;
    private final Map<String, Growing> byName = new TreeMap<>();
    private int size;
    private List<Family> families = List.of();

    SeriesTable(long dictionaryId, NameFilter filter) {
        this.dictionaryId = dictionaryId;
        this.filter = filter;
    }

    long dictionaryId() {
        return dictionaryId;
    }

    /** How many names of the dictionary it has. */
    int size() {
        return size;
    }

    /** Those names that follow the ones it has. */
    void extend(List<String> names) {
        for (int from = 0, to; from < names.size(); from = to) {
            String mbean = mbeanOf(names.get(from));
            to = from + 1;
            while (to < names.size() && mbeanOf(names.get(to)).equals(mbean)) {
                to++;
            }
            List<String> attributes = names.subList(from, to).stream()
                    .map(name -> name.substring(mbean.length() + 1))
                    .toList();
            add(mbean, attributes);
        }
        if (!names.isEmpty()) {
            families = byName.entrySet().stream().map(SeriesTable::frozen).toList();
        }
    }

    private static Family frozen(Map.Entry<String, Growing> family) {
        Growing grown = family.getValue();
        return new Family(family.getKey(), grown.kind(), grown.help(), List.copyOf(grown.lines().values()));
    }

    List<Family> families() {
        return families;
    }

    private void add(String mbean, List<String> attributes) {
        List<Series> all = PrometheusNames.of(mbean, attributes);
        for (int i = 0; i < all.size(); i++) {
            Series series = all.get(i);
            if (series != null && filter.shows(series.family() + series.suffix())) {
                int timesId = series.timesAttribute() < 0 ? -1 : size + series.timesAttribute();
                put(mbean, series, new Line(series.head(), size + i, timesId, series.factor()));
            }
        }
        size += attributes.size();
    }

    /** Two mbeans may have one name here: a sample must not come twice, nor a family have two types. */
    private void put(String mbean, Series series, Line line) {
        Growing family = byName.computeIfAbsent(
                series.family(), name -> new Growing(series.kind(), help(mbean), new LinkedHashMap<>()));
        if (family.kind() == series.kind()) {
            family.lines().put(line.head(), line);
        } else {
            LOG.debug("{} is left out: {} is a {} already", mbean, series.family(), family.kind());
        }
    }

    private static String mbeanOf(String name) {
        return name.substring(0, Math.max(0, name.lastIndexOf(':')));
    }

    private static String help(String mbean) {
        MbeanName name = MbeanName.parse(mbean);
        String type = name.domain() + ":type=" + name.key("type");
        return name.keys().containsKey("name") && !name.domain().startsWith("java.")
                ? type + ",name=" + name.key("name")
                : type;
    }
}

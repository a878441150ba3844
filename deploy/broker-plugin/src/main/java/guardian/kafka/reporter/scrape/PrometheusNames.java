package guardian.kafka.reporter.scrape;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * From JMX's names to those that jmx_exporter gives them by its usual rules for Kafka: {@code domain_type_name}, small
 * letters, the mbean's other keys as labels. Pure. deploy/broker-plugin/REPORTER.md has the table.
 *
 * <p>Two things differ. A histogram is a whole summary, with its sum, which is mean times count. And rates are left out
 * where the counter is there: {@code rate()} says the same over any window. (But for what is a share of time: of that,
 * the rate is all that is of use.)
 */
final class PrometheusNames {
    private static final Pattern PER_SECOND = Pattern.compile("(.+)PerSec\\w*");
    private static final Pattern PERCENT = Pattern.compile("(.+)Percent\\w*");
    private static final Pattern PERCENTILE = Pattern.compile("(\\d+)thPercentile");
    private static final Set<String> QUOTAS = Set.of("Produce", "Fetch", "Request", "ControllerMutation");
    private static final Set<String> NO_LABELS = Set.of("type", "name");
    private static final String COUNT = "Count";
    private static final String TOTAL = "-total";

    private PrometheusNames() {}

    /** For each attribute of the mbean its series, or null where it has none. */
    static List<Series> of(String mbean, List<String> attributes) {
        MbeanName name = MbeanName.parse(mbean);
        if (name.domain().startsWith("java.")) {
            return each(attributes, attribute -> JvmNames.of(name, attribute));
        } else if (!name.keys().containsKey("name")) {
            return each(attributes, attribute -> ofKafka(name, attribute));
        } else if (attributes.contains("50thPercentile")) {
            return ofHistogram(name, attributes);
        }
        return each(attributes, attribute -> ofYammer(name, attribute));
    }

    private static List<Series> each(List<String> attributes, Function<String, Series> mapper) {
        List<Series> series = new ArrayList<>(attributes.size());
        attributes.forEach(attribute -> series.add(mapper.apply(attribute)));
        return Collections.unmodifiableList(series);
    }

    private static Series ofKafka(MbeanName name, String attribute) {
        String type = name.key("type");
        if (QUOTAS.contains(type) && name.keys().size() > 1) {
            String family = family(name.domain(), "quota", attribute);
            return Series.gauge(family, labels(Map.of("client-id", "clientId"), name, label("resource", type)));
        }
        String labels = labels(name);
        return attribute.endsWith(TOTAL)
                ? Series.counter(family(name.domain(), type, withoutEnd(attribute, TOTAL)), labels)
                : Series.gauge(family(name.domain(), type, attribute), labels);
    }

    private static Series ofYammer(MbeanName name, String attribute) {
        Matcher perSecond = PER_SECOND.matcher(name.key("name"));
        Matcher percent = PERCENT.matcher(name.key("name"));
        String labels = labels(name);
        if (attribute.equals(COUNT)) {
            return perSecond.matches()
                    ? Series.counter(family(name, perSecond.group(1)), labels)
                    : Series.untyped(family(name, name.key("name")) + "_count", labels);
        } else if (attribute.equals("Value")) {
            String family = percent.matches()
                    ? family(name, percent.group(1)) + "_percent"
                    : family(name, name.key("name"));
            return Series.gauge(family, labels);
        } else if (percent.matches()) {
            String family = family(name, percent.group(1)) + "_percent";
            return Series.gauge(attribute.equals("MeanRate") ? family : family + "_" + safe(attribute), labels);
        }
        return null;
    }

    private static List<Series> ofHistogram(MbeanName name, List<String> attributes) {
        String family = family(name, name.key("name"));
        String labels = labels(name);
        return each(attributes, attribute -> {
            Matcher percentile = PERCENTILE.matcher(attribute);
            if (percentile.matches()) {
                String quantile = label("quantile", "0." + percentile.group(1));
                return Series.summary(family, "", labels.isEmpty() ? quantile : labels + "," + quantile);
            }
            return switch (attribute) {
                case COUNT -> Series.summary(family, "_count", labels);
                case "Mean" -> Series.summary(family, "_sum", labels).times(attributes.indexOf(COUNT));
                case "Min", "Max", "StdDev" -> Series.gauge(family + "_" + safe(attribute), labels);
                default -> null;
            };
        });
    }

    private static String family(MbeanName name, String last) {
        return family(name.domain(), name.key("type"), last);
    }

    private static String family(String... parts) {
        return safe(String.join("_", parts));
    }

    /** Small letters and digits, and one underscore for whatever stands between them. */
    private static String safe(String name) {
        String safe = name.toLowerCase(Locale.ROOT).replaceAll("[^a-z0-9]+", "_");
        return safe.isEmpty() || Character.isDigit(safe.charAt(0)) ? "_" + safe : safe;
    }

    private static String labels(MbeanName name) {
        return labels(Map.of(), name, "");
    }

    private static String labels(Map<String, String> renamed, MbeanName name, String first) {
        StringBuilder labels = new StringBuilder(first);
        name.keys().forEach((key, value) -> {
            if (!NO_LABELS.contains(key) && !value.isEmpty()) {
                labels.append(labels.length() == 0 ? "" : ",").append(label(renamed.getOrDefault(key, key), value));
            }
        });
        return labels.toString();
    }

    /** {@code name="value"}. */
    static String label(String name, String value) {
        String safe = name.replaceAll("[^a-zA-Z0-9_]", "_");
        String label = safe.isEmpty() || Character.isDigit(safe.charAt(0)) ? "_" + safe : safe;
        String escaped = value.replace("\\", "\\\\").replace("\"", "\\\"").replace("\n", "\\n");
        return label + "=\"" + escaped + "\"";
    }

    private static String withoutEnd(String text, String end) {
        return text.substring(0, text.length() - end.length());
    }
}

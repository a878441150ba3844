package guardian.kafka.reporter.scrape;

/**
 * Where one of the broker's values stands in Prometheus' text.
 *
 * @param family its name without what the kind of a sample adds to it
 * @param suffix of the sample: "_total", "_count", "_sum" or nothing
 * @param labels as they are written, between the braces
 * @param factor into the unit that the name promises
 * @param timesAttribute the attribute of the same mbean by which it is multiplied, -1 for none
 */
record Series(Kind kind, String family, String suffix, String labels, double factor, int timesAttribute) {
    /** What Prometheus calls a type, in its own text and in OpenMetrics. */
    enum Kind {
        COUNTER("counter", "counter"),
        GAUGE("gauge", "gauge"),
        SUMMARY("summary", "summary"),
        UNTYPED("untyped", "unknown");

        private final String inText;
        private final String inOpenMetrics;

        Kind(String inText, String inOpenMetrics) {
            this.inText = inText;
            this.inOpenMetrics = inOpenMetrics;
        }

        String in(TextFormat format) {
            return format == TextFormat.OPEN_METRICS ? inOpenMetrics : inText;
        }
    }

    static Series counter(String family, String labels) {
        return counter(family, labels, 1);
    }

    static Series counter(String family, String labels, double factor) {
        return new Series(Kind.COUNTER, family, "_total", labels, factor, -1);
    }

    static Series gauge(String family, String labels) {
        return gauge(family, labels, 1);
    }

    static Series gauge(String family, String labels, double factor) {
        return new Series(Kind.GAUGE, family, "", labels, factor, -1);
    }

    static Series untyped(String family, String labels) {
        return new Series(Kind.UNTYPED, family, "", labels, 1, -1);
    }

    static Series summary(String family, String suffix, String labels) {
        return new Series(Kind.SUMMARY, family, suffix, labels, 1, -1);
    }

    Series times(int attribute) {
        return new Series(kind, family, suffix, labels, factor, attribute);
    }

    /** What stands before the value: the sample's name, and its labels if it has any. */
    String head() {
        return family + suffix + (labels.isEmpty() ? "" : "{" + labels + "}");
    }
}

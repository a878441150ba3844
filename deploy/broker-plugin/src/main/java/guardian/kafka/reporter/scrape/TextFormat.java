package guardian.kafka.reporter.scrape;

import java.util.Locale;

/** The two texts that Prometheus reads. */
enum TextFormat {
    PROMETHEUS("text/plain; version=0.0.4; charset=utf-8"),
    OPEN_METRICS("application/openmetrics-text; version=1.0.0; charset=utf-8");

    private static final String OPEN_METRICS_TYPE = "application/openmetrics-text";

    private final String contentType;

    TextFormat(String contentType) {
        this.contentType = contentType;
    }

    String contentType() {
        return contentType;
    }

    /** What an Accept header likes better; who does not say gets Prometheus' own text. */
    static TextFormat preferred(String accept) {
        double openMetrics = 0;
        double others = 0;
        for (String range : accept.toLowerCase(Locale.ROOT).split(",")) {
            String[] parts = range.strip().split("\\s*;\\s*");
            if (parts[0].equals(OPEN_METRICS_TYPE)) {
                openMetrics = Math.max(openMetrics, quality(parts));
            } else if (parts[0].equals("text/plain")) {
                others = Math.max(others, quality(parts));
            }
        }
        return openMetrics > 0 && openMetrics >= others ? OPEN_METRICS : PROMETHEUS;
    }

    private static double quality(String[] parts) {
        for (String part : parts) {
            if (part.matches("q=[01](\\.\\d{1,3})?")) {
                return Double.parseDouble(part.substring(2));
            }
        }
        return 1;
    }
}

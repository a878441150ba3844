package guardian.kafka.reporter.metrics;

/** Reads one metric; several callers may do so at once. What it throws leaves the metric out of a collection. */
public interface MetricReader {
    /**
     * Puts one value for each of the metric's attributes, in their order.
     *
     * @param values with room for {@link Listing#MOST_ATTRIBUTES}
     * @return false when the metric has no number now
     */
    boolean read(double[] values);
}

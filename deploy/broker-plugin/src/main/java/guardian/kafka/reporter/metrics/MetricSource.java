package guardian.kafka.reporter.metrics;

/** A registry of metrics, which change often in value and seldom in number. */
public interface MetricSource {
    /** Another number whenever {@link #list} would list other metrics than before. */
    long revision();

    /** Adds all metrics, in the order in which they are best read; reads none. */
    void list(Listing listing);
}

package guardian.kafka.reporter;

/** A registry of metrics. A metric that fails to answer is left out, whatever it throws. */
interface MetricSource {
    void collect(ValueSink sink);
}

package guardian.kafka;

import guardian.kafka.reporter.Reporter;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.metrics.KafkaMetric;
import org.apache.kafka.common.metrics.MetricsContext;
import org.apache.kafka.common.metrics.MetricsReporter;

/**
 * Serves every metric of the broker and the facts of its host in one gRPC call (protos/guardian/v1/reporter.proto),
 * and to Prometheus over HTTP. deploy/broker-plugin/REPORTER.md has the settings and the names.
 *
 * <p>List it in {@code metric.reporters} beside {@code org.apache.kafka.common.metrics.JmxReporter}, and set
 * {@code guardian.reporter.listener}. Whatever goes wrong here is logged and leaves the reporter off: a broker never
 * fails, and never waits, because of it.
 */
public final class GuardianMetricsReporter implements MetricsReporter {
    private final Reporter reporter = new Reporter();

    @Override
    public void configure(Map<String, ?> configs) {
        reporter.configure(configs, SelectorSettings.told(configs));
    }

    @Override
    public void contextChange(MetricsContext context) {
        reporter.identify(context);
    }

    @Override
    public void init(List<KafkaMetric> metrics) {
        metrics.forEach(reporter::put);
        reporter.start();
    }

    @Override
    public void metricChange(KafkaMetric metric) {
        reporter.put(metric);
    }

    @Override
    public void metricRemoval(KafkaMetric metric) {
        reporter.remove(metric);
    }

    @Override
    public void close() {
        reporter.close();
    }

    /** The port that gRPC is served at, or -1 when it is off. */
    int port() {
        return reporter.port();
    }

    /** The port that HTTP is served at, or -1 when it is off. */
    int httpPort() {
        return reporter.httpPort();
    }
}

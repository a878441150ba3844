package guardian.kafka;

import guardian.v1.MetricBatch;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.metrics.KafkaMetric;
import org.apache.kafka.common.metrics.MetricsContext;
import org.apache.kafka.common.metrics.MetricsReporter;
import org.apache.kafka.server.metrics.KafkaYammerMetrics;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Serves every metric of the broker and the facts of its host in one gRPC call (protos/guardian/v1/reporter.proto).
 *
 * <p>List it in {@code metric.reporters} beside {@code org.apache.kafka.common.metrics.JmxReporter}, and set
 * {@code guardian.reporter.listener}. Whatever goes wrong here is logged and leaves the reporter off: a broker never
 * fails, and never waits, because of it.
 */
public final class GuardianMetricsReporter implements MetricsReporter {
    private static final Logger LOG = LoggerFactory.getLogger(GuardianMetricsReporter.class);
    private static final String CLUSTER_ID_LABEL = "kafka.cluster.id";

    private static final Duration CALL_LIMIT = Duration.ofSeconds(10);

    private final KafkaMetricSource kafkaMetrics = new KafkaMetricSource();
    private volatile String clusterId = "";
    private ReporterSettings settings;
    private ReporterServer server;

    @Override
    public void configure(Map<String, ?> configs) {
        try {
            settings = ReporterSettings.read(configs);
        } catch (ReporterSettings.NotWanted reason) {
            LOG.warn("Guardian's metrics reporter is off: {}", reason.getMessage());
        } catch (RuntimeException e) {
            LOG.error("Guardian's metrics reporter is off: {}", e.getMessage());
        }
    }

    @Override
    public void contextChange(MetricsContext context) {
        Map<String, String> labels = context.contextLabels();
        clusterId = labels.getOrDefault(CLUSTER_ID_LABEL, "");
        kafkaMetrics.setGroup(labels.getOrDefault(MetricsContext.NAMESPACE, ""));
    }

    @Override
    public synchronized void init(List<KafkaMetric> metrics) {
        metrics.forEach(kafkaMetrics::put);
        if (settings == null || server != null) {
            return;
        }
        try {
            server = ReporterServer.start(settings, newService());
            LOG.info("Guardian's metrics reporter serves at {}:{}", settings.host(), server.port());
        } catch (IOException | RuntimeException | LinkageError e) {
            LOG.error("Guardian's metrics reporter is off: {} is {}:{}, which can't be served: {}",
                    ReporterSettings.LISTENER, settings.host(), settings.port(), e.toString());
        }
    }

    @Override
    public void metricChange(KafkaMetric metric) {
        kafkaMetrics.put(metric);
    }

    @Override
    public void metricRemoval(KafkaMetric metric) {
        kafkaMetrics.remove(metric);
    }

    @Override
    public synchronized void close() {
        if (server != null) {
            server.close();
            server = null;
        }
    }

    /** The port that is served, or -1 when the reporter is off. */
    synchronized int port() {
        return server == null ? -1 : server.port();
    }

    private BrokerReporterService newService() {
        YammerMetricSource yammer = new YammerMetricSource(KafkaYammerMetrics.defaultRegistry());
        HostFactsReader host = new HostFactsReader(settings.proc(), settings.logDirs(), yammer::isLogDirOffline);
        long startedAtMs = ManagementFactory.getRuntimeMXBean().getStartTime();
        BatchCollector collector =
                new BatchCollector(List.of(yammer, kafkaMetrics), host::read, () -> MetricBatch.newBuilder()
                        .setClusterId(clusterId)
                        .setBrokerId(settings.brokerId())
                        .setRack(settings.rack())
                        .setBrokerStartedAtMs(startedAtMs));
        return new BrokerReporterService(collector, settings.maxCalls(), CALL_LIMIT);
    }
}

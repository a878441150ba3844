package guardian.kafka.reporter;

import guardian.kafka.activity.Activity;
import guardian.kafka.common.DaemonThreads;
import guardian.kafka.common.HostAndPort;
import guardian.kafka.common.Tls;
import guardian.kafka.reporter.host.HostFactsReader;
import guardian.kafka.reporter.host.LogDirReader;
import guardian.kafka.reporter.host.LogDirReaders;
import guardian.kafka.reporter.listener.Connections;
import guardian.kafka.reporter.listener.ReporterSettings;
import guardian.kafka.reporter.metrics.BatchCollector;
import guardian.kafka.reporter.metrics.JvmMetricSource;
import guardian.kafka.reporter.metrics.KafkaMetricSource;
import guardian.kafka.reporter.metrics.YammerMetricSource;
import guardian.kafka.reporter.scrape.NameFilter;
import guardian.kafka.reporter.scrape.ScrapeHandler;
import guardian.kafka.reporter.scrape.ScrapeServer;
import guardian.kafka.reporter.scrape.Scraper;
import guardian.v1.MetricBatch;
import guardian.v1.RegisterReporterRequest;
import guardian.v1.ReplicaSelectorFacts;
import io.grpc.Server;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.logging.Level;
import org.apache.kafka.common.metrics.KafkaMetric;
import org.apache.kafka.common.metrics.MetricsContext;
import org.apache.kafka.server.metrics.KafkaYammerMetrics;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The reporter's whole life in a broker: configured, told who the broker is, started, closed.
 *
 * <p>No method throws, and none waits. Whatever goes wrong is logged and leaves the reporter, or the part of it that
 * failed, off.
 */
public final class Reporter implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Reporter.class);
    private static final String CLUSTER_ID_LABEL = "kafka.cluster.id";

    /** It prints a stack trace for every port scan, and for every name that can't be resolved. */
    private static final java.util.logging.Logger GRPC_LOG =
            java.util.logging.Logger.getLogger(Server.class.getPackageName());

    private static final Duration COLLECTION_LIMIT = Duration.ofSeconds(10);
    private static final Duration CALL_LIMIT = Duration.ofSeconds(15);
    private static final Duration GREETING_LIMIT = Duration.ofSeconds(10);
    private static final Duration LOG_DIR_LIMIT = Duration.ofSeconds(2);
    private static final Duration WRITE_LIMIT = Duration.ofSeconds(10);
    private static final Duration STALLED = Duration.ofMillis(200);
    private static final Duration SCRAPE_FRESH = Duration.ofSeconds(1);
    private static final Duration HTTP_IDLE = Duration.ofSeconds(90);
    private static final int CERTIFICATES_S = 10;

    private final KafkaMetricSource kafkaMetrics = new KafkaMetricSource();
    private volatile String clusterId = "";
    private ReporterSettings settings;
    private ReplicaSelectorFacts replicaSelector;
    private YammerMetricSource yammer;
    private ExecutorService logDirThreads;
    private ScheduledThreadPoolExecutor timer;
    private ReporterServer server;
    private ScrapeServer scrapes;
    private Registration registration;

    public void configure(Map<String, ?> configs, ReplicaSelectorFacts ofTheBroker) {
        replicaSelector = ofTheBroker;
        try {
            settings = ReporterSettings.read(configs);
        } catch (ReporterSettings.NotWanted reason) {
            LOG.warn("Guardian's metrics reporter is off: {}", reason.getMessage());
        } catch (RuntimeException e) {
            LOG.error("Guardian's metrics reporter is off: {}", e.getMessage());
        }
    }

    public void identify(MetricsContext context) {
        Map<String, String> labels = context.contextLabels();
        clusterId = labels.getOrDefault(CLUSTER_ID_LABEL, "");
        kafkaMetrics.setGroup(labels.getOrDefault(MetricsContext.NAMESPACE, ""));
    }

    public synchronized void start() {
        if (settings == null || timer != null) {
            return;
        }
        try {
            Optional<Tls> tls = settings.tls().map(Tls::new);
            logDirThreads = Executors.newCachedThreadPool(new DaemonThreads("guardian-reporter-log-dir"));
            // Two: what reads files may be held up by them, and the deadlines may not.
            timer = new ScheduledThreadPoolExecutor(2, new DaemonThreads("guardian-reporter-timer"));
            timer.setRemoveOnCancelPolicy(true);
            // Connections that end after close() find nobody to time them, which is no error.
            timer.setRejectedExecutionHandler(new ThreadPoolExecutor.DiscardPolicy());
            GRPC_LOG.setLevel(Level.SEVERE);
            BatchCollector collector = newCollector();
            settings.grpc().ifPresent(listener -> serve(listener, tls, collector));
            settings.http().ifPresent(listener -> serveScrapes(listener, tls, collector));
            tls.ifPresent(files -> repeat(files::reload, CERTIFICATES_S));
            register(tls);
        } catch (IllegalArgumentException e) {
            LOG.error("Guardian's metrics reporter is off: {}", e.getMessage());
            close();
        } catch (RuntimeException | LinkageError e) {
            LOG.error("Guardian's metrics reporter is off: {}", e.toString());
            close();
        }
    }

    public void put(KafkaMetric metric) {
        kafkaMetrics.put(metric);
        Activity.metricChanged(metric);
    }

    public void remove(KafkaMetric metric) {
        kafkaMetrics.remove(metric);
        Activity.metricRemoved(metric);
    }

    @Override
    public synchronized void close() {
        if (registration != null) {
            registration.close();
            registration = null;
        }
        if (server != null) {
            server.close();
            server = null;
        }
        if (scrapes != null) {
            scrapes.close();
            scrapes = null;
        }
        if (yammer != null) {
            yammer.close();
        }
        if (timer != null) {
            timer.shutdownNow();
            logDirThreads.shutdown();
        }
    }

    /** The port that gRPC is served at, or -1 when it is off. */
    public synchronized int port() {
        return server == null ? -1 : server.port();
    }

    /** The port that HTTP is served at, or -1 when it is off. */
    public synchronized int httpPort() {
        return scrapes == null ? -1 : scrapes.port();
    }

    private void serve(HostAndPort listener, Optional<Tls> tls, BatchCollector collector) {
        BrokerReporterService service =
                new BrokerReporterService(collector, settings.maxCalls(), COLLECTION_LIMIT);
        try {
            server = ReporterServer.start(
                    listener,
                    tls,
                    new ReporterServer.Limits(settings.maxCalls(), CALL_LIMIT, GREETING_LIMIT),
                    newConnections(),
                    service,
                    timer);
            LOG.info("Guardian's metrics reporter serves at {}", listener.withPort(server.port()));
        } catch (IOException | RuntimeException | LinkageError e) {
            service.close();
            LOG.error("Guardian's metrics reporter has no gRPC: {} is {}, which can't be served: {}",
                    ReporterSettings.LISTENER, listener, e.toString());
        }
    }

    private void serveScrapes(HostAndPort listener, Optional<Tls> tls, BatchCollector collector) {
        NameFilter shown = new NameFilter(settings.allowed(), settings.denied());
        Scraper scraper = new Scraper(collector, shown, SCRAPE_FRESH, COLLECTION_LIMIT);
        try {
            scrapes = ScrapeServer.start(
                    listener,
                    tls,
                    new ScrapeServer.Limits(CALL_LIMIT, HTTP_IDLE),
                    newConnections(),
                    new ScrapeHandler(scraper, settings.maxCalls()),
                    timer);
            LOG.info("Guardian's metrics reporter is scraped at {}", listener.withPort(scrapes.port()));
        } catch (IOException | RuntimeException | LinkageError e) {
            LOG.error("Guardian's metrics reporter has no HTTP: {} is {}, which can't be served: {}",
                    ReporterSettings.HTTP_LISTENER, listener, e.toString());
        }
    }

    private Connections newConnections() {
        Connections connections = new Connections(
                settings.maxConnections(), settings.maxConnectionsPerAddress(), WRITE_LIMIT, STALLED);
        repeat(connections::cutStuck, 1);
        return connections;
    }

    private void repeat(Runnable task, int seconds) {
        timer.scheduleWithFixedDelay(
                () -> {
                    try {
                        task.run();
                    } catch (RuntimeException | LinkageError e) {
                        LOG.warn("The reporter's housekeeping failed, it goes on", e);
                    }
                },
                seconds,
                seconds,
                TimeUnit.SECONDS);
    }

    private void register(Optional<Tls> tls) {
        if (server != null && !settings.guardian().isEmpty()) {
            HostAndPort grpc = settings.grpc().orElseThrow().withPort(server.port());
            Optional<HostAndPort> http = scrapes == null
                    ? Optional.empty()
                    : settings.http().map(listener -> listener.withPort(scrapes.port()));
            registration = new Registration(
                    settings.guardian(),
                    settings.isGuardianTls() ? tls : Optional.empty(),
                    () -> whereWeAre(grpc, http),
                    Registration.Pauses.DEFAULT);
            registration.start();
        }
    }

    private RegisterReporterRequest whereWeAre(HostAndPort grpc, Optional<HostAndPort> http) {
        HostAndPort reporter = Advertised.of(settings.advertised(), grpc);
        String scheme = settings.tls().isPresent() ? "https://" : "http://";
        return RegisterReporterRequest.newBuilder()
                .setClusterId(clusterId)
                .setBrokerId(settings.brokerId())
                .setReporter(reporter.toString())
                .setMetricsUrl(http.map(listener -> scheme + reporter.withPort(listener.port()) + "/metrics")
                        .orElse(""))
                .build();
    }

    private BatchCollector newCollector() {
        yammer = new YammerMetricSource(KafkaYammerMetrics.defaultRegistry());
        LogDirReaders readers = new LogDirReaders(
                settings.logDirs().stream().map(dir -> new LogDirReader(dir, yammer)).toList(), logDirThreads);
        HostFactsReader host = new HostFactsReader(
                settings.proc(), (mounts, disks) -> readers.read(mounts, disks, LOG_DIR_LIMIT));
        long startedAtMs = ManagementFactory.getRuntimeMXBean().getStartTime();
        return new BatchCollector(
                List.of(yammer, kafkaMetrics, new JvmMetricSource()),
                request -> request.getDevicesOnly() ? host.readDevices() : host.read(),
                () -> MetricBatch.newBuilder()
                        .setClusterId(clusterId)
                        .setBrokerId(settings.brokerId())
                        .setRack(settings.rack())
                        .setReplicaSelector(replicaSelector)
                        .setBrokerStartedAtMs(startedAtMs),
                Activity::slices);
    }
}

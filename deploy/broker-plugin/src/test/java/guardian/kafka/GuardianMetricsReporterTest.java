package guardian.kafka;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import guardian.v1.BrokerReporterGrpc;
import guardian.v1.CollectRequest;
import guardian.v1.MetricBatch;
import guardian.v1.ReplicaSelectorFacts;
import io.grpc.ManagedChannel;
import io.grpc.okhttp.OkHttpChannelBuilder;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.common.metrics.KafkaMetricsContext;
import org.apache.kafka.common.metrics.MetricConfig;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.utils.Time;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class GuardianMetricsReporterTest {
    @TempDir
    Path dir;

    private Map<String, Object> configs(String listener) {
        Map<String, Object> configs = new HashMap<>();
        configs.put("process.roles", "broker");
        configs.put("node.id", "7");
        configs.put("broker.rack", "suzhou-a");
        configs.put("log.dirs", dir + "," + dir.resolve("missing"));
        configs.put("guardian.reporter.listener", listener);
        return configs;
    }

    private static GuardianMetricsReporter started(Map<String, ?> configs) {
        GuardianMetricsReporter reporter = new GuardianMetricsReporter();
        reporter.configure(configs);
        reporter.contextChange(
                new KafkaMetricsContext("kafka.server", Map.of("kafka.cluster.id", "CaLbNkNkTYGNSip0w9qa6w")));
        reporter.init(List.of());
        return reporter;
    }

    @Test
    void oneCallOverARealChannelReturnsMetricsAndHost() throws Exception {
        Files.createDirectory(dir.resolve("orders-0"));
        try (GuardianMetricsReporter reporter = started(configs("127.0.0.1:0"));
                Metrics metrics = new Metrics(new MetricConfig(), new ArrayList<>(), Time.SYSTEM)) {
            metrics.addReporter(reporter);
            metrics.addMetric(metrics.metricName("answer", "guardian-test"), (config, now) -> 42);
            MetricBatch batch = call(reporter.port(), CollectRequest.getDefaultInstance());
            assertEquals("CaLbNkNkTYGNSip0w9qa6w", batch.getClusterId());
            assertEquals(7, batch.getBrokerId());
            assertEquals("suzhou-a", batch.getRack());
            assertTrue(batch.getBrokerStartedAtMs() > 0);
            assertTrue(batch.getCollectedAtMs() >= batch.getBrokerStartedAtMs());
            int id = batch.getNamesList().indexOf("kafka.server:type=guardian-test:answer");
            assertEquals(42.0, batch.getValues(batch.getIdsList().indexOf(id)));
            assertEquals(List.of("orders-0"), batch.getHost().getLogDirs(0).getReplicasList());
            assertTrue(batch.getHost().getLogDirs(1).getOffline());
            assertEquals(batch.getIdsCount(), batch.getValuesCount());
        }
    }

    @Test
    void itTellsWhomConsumersMayReadFrom() throws Exception {
        CollectRequest identity = CollectRequest.newBuilder().setIdentityOnly(true).build();
        Map<String, Object> configs = configs("127.0.0.1:0");
        try (GuardianMetricsReporter reporter = started(configs)) {
            MetricBatch batch = call(reporter.port(), identity);
            assertEquals(7, batch.getBrokerId());
            assertTrue(batch.hasReplicaSelector());
            assertEquals(ReplicaSelectorFacts.getDefaultInstance(), batch.getReplicaSelector());
        }
        configs.put("replica.selector.class", "guardian.kafka.IdcAwareReplicaSelector");
        configs.put("guardian.replica.idc.of.rack", "r9:suzhou");
        try (GuardianMetricsReporter reporter = started(configs)) {
            ReplicaSelectorFacts told = call(reporter.port(), identity).getReplicaSelector();
            assertEquals("guardian.kafka.IdcAwareReplicaSelector", told.getClassName());
            assertEquals(Map.of("r9", "suzhou"), told.getIdcOfRackMap());
            assertEquals("-", told.getIdcSeparator());
        }
        configs.put("guardian.replica.idc.of.rack", "r9");
        try (GuardianMetricsReporter reporter = started(configs)) {
            assertEquals("", call(reporter.port(), identity).getReplicaSelector().getIdcSeparator());
        }
    }

    @Test
    void aMetricThatIsRemovedIsNoLongerReported() throws Exception {
        try (GuardianMetricsReporter reporter = started(configs("127.0.0.1:0"));
                Metrics metrics = new Metrics(new MetricConfig(), new ArrayList<>(), Time.SYSTEM)) {
            metrics.addReporter(reporter);
            var name = metrics.metricName("answer", "guardian-test");
            metrics.addMetric(name, (config, now) -> 42);
            assertEquals(1, ofThisTest(reporter));
            metrics.removeMetric(name);
            assertEquals(0, ofThisTest(reporter));
        }
    }

    private static long ofThisTest(GuardianMetricsReporter reporter) throws Exception {
        MetricBatch batch = call(reporter.port(), CollectRequest.getDefaultInstance());
        return batch.getIdsList().stream()
                .filter(id -> batch.getNames(id).startsWith("kafka.server:type=guardian-test"))
                .count();
    }

    @Test
    void itStaysOffWithoutAListener() {
        Map<String, Object> configs = configs("");
        assertOff(configs);
        configs.remove("guardian.reporter.listener");
        assertOff(configs);
    }

    @Test
    void itStaysOffInAControllerThatIsNoBroker() {
        Map<String, Object> configs = configs("127.0.0.1:0");
        configs.put("process.roles", "controller");
        assertOff(configs);
    }

    @Test
    void itServesInACombinedNode() {
        Map<String, Object> configs = configs("127.0.0.1:0");
        configs.put("process.roles", "controller, broker");
        try (GuardianMetricsReporter reporter = started(configs)) {
            assertTrue(reporter.port() > 0);
        }
    }

    @Test
    void aBadSettingLeavesItOffAndTheBrokerUnharmed() {
        for (String listener : List.of("9092", "host:", "host:x", ":1", "127.0.0.1:70000", "no.such.host.invalid:1")) {
            assertOff(configs(listener));
        }
        Map.of(
                        "guardian.reporter.max.calls", "0",
                        "guardian.reporter.max.connections", "many",
                        "guardian.reporter.max.connections.per.address", "0",
                        "guardian.reporter.http.listener", "9405",
                        "guardian.endpoints", "g1",
                        "guardian.endpoints.ssl", "yes",
                        "guardian.reporter.ssl.key.file", "/no/such.key")
                .forEach((setting, value) -> {
                    Map<String, Object> bad = configs("127.0.0.1:0");
                    bad.put(setting, value);
                    assertOff(bad);
                });
    }

    @Test
    void withoutItsCertificatesItServesNothingRatherThanInPlainText() {
        Map<String, Object> configs = configs("127.0.0.1:0");
        configs.put("guardian.reporter.http.listener", "127.0.0.1:0");
        for (String file : List.of("certificate", "key", "ca")) {
            configs.put("guardian.reporter.ssl." + file + ".file", dir.resolve("missing.pem").toString());
        }
        assertOff(configs);
    }

    @Test
    void scrapesShowTheSameMetrics() throws Exception {
        Map<String, Object> configs = configs("");
        configs.put("guardian.reporter.http.listener", "127.0.0.1:0");
        configs.put("guardian.reporter.http.deny", "jvm_");
        try (GuardianMetricsReporter reporter = started(configs);
                Metrics metrics = new Metrics(new MetricConfig(), new ArrayList<>(), Time.SYSTEM)) {
            assertEquals(-1, reporter.port());
            metrics.addReporter(reporter);
            metrics.addMetric(metrics.metricName("answer", "guardian-test"), (config, now) -> 42);
            URI metricsUrl = URI.create("http://127.0.0.1:" + reporter.httpPort() + "/metrics");
            String text = HttpClient.newHttpClient()
                    .send(HttpRequest.newBuilder(metricsUrl).build(), BodyHandlers.ofString())
                    .body();
            assertTrue(text.contains("kafka_server_guardian_test_answer 42\n"), text);
            assertTrue(text.contains("broker_id=\"7\""), text);
            assertTrue(text.contains("process_cpu_seconds_total ") && !text.contains("jvm_"), text);
        }
    }

    @Test
    void aScrapePortInUseLeavesTheRestOn() throws Exception {
        try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            Map<String, Object> configs = configs("127.0.0.1:0");
            configs.put("guardian.reporter.http.listener", "127.0.0.1:" + taken.getLocalPort());
            try (GuardianMetricsReporter reporter = started(configs)) {
                assertEquals(-1, reporter.httpPort());
                assertTrue(reporter.port() > 0);
            }
        }
    }

    @Test
    void aPortInUseLeavesItOffAndTheBrokerUnharmed() throws Exception {
        try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            assertOff(configs("127.0.0.1:" + taken.getLocalPort()));
        }
    }

    private static void assertOff(Map<String, ?> configs) {
        try (GuardianMetricsReporter reporter = started(configs)) {
            assertEquals(-1, reporter.port(), "settings: " + configs);
            assertEquals(-1, reporter.httpPort(), "settings: " + configs);
        }
    }

    private static MetricBatch call(int port, CollectRequest request) throws InterruptedException {
        ManagedChannel channel =
                OkHttpChannelBuilder.forAddress("127.0.0.1", port).usePlaintext().build();
        try {
            return BrokerReporterGrpc.newBlockingStub(channel)
                    .withDeadlineAfter(30, TimeUnit.SECONDS)
                    .collect(request);
        } finally {
            channel.shutdownNow().awaitTermination(5, TimeUnit.SECONDS);
        }
    }
}

package guardian.kafka.reporter.scrape;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.yammer.metrics.core.MetricName;
import com.yammer.metrics.core.MetricsRegistry;
import guardian.kafka.reporter.metrics.BatchCollector;
import guardian.kafka.reporter.metrics.YammerMetricSource;
import guardian.v1.CpuFacts;
import guardian.v1.DiskFacts;
import guardian.v1.HostFacts;
import guardian.v1.LogDirFacts;
import guardian.v1.MetricBatch;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class ExpositionTest {
    private static final HostFacts HOST = HostFacts.newBuilder()
            .setCpu(CpuFacts.newBuilder().setCores(2).setUserMs(1500))
            .addDisks(DiskFacts.newBuilder().setName("sda").setBusyMs(2500))
            .addDisks(DiskFacts.newBuilder().setName("sdb").setBusyMs(1))
            .addLogDirs(LogDirFacts.newBuilder().setPath("/d1").setDisk("sda").setSizeBytes(7))
            .addLogDirs(LogDirFacts.newBuilder().setPath("/d2").setOffline(true))
            .build();

    private final MetricsRegistry registry = new MetricsRegistry();
    private final BatchCollector collector = new BatchCollector(
            List.of(new YammerMetricSource(registry)),
            request -> HOST,
            () -> MetricBatch.newBuilder().setClusterId("c1").setBrokerId(7).setRack("sh-a"),
            request -> List.of());

    @AfterEach
    void stop() {
        registry.shutdown();
    }

    private static MetricName name(String type, String name, String tags) {
        return new MetricName("kafka.server", type, name, null, "kafka.server:type=" + type + ",name=" + name + tags);
    }

    private Scraper scraper(Duration fresh, NameFilter shown) {
        return new Scraper(collector, shown, fresh, Duration.ofMinutes(1));
    }

    private static String text(Scraper scraper, TextFormat format, NameFilter wanted) throws Exception {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        scraper.scrape().orElseThrow().write(format, wanted, out);
        return out.toString(StandardCharsets.UTF_8);
    }

    private String metricsOf(TextFormat format) throws Exception {
        return text(scraper(Duration.ZERO, NameFilter.ALL), format, NameFilter.only(List.of("kafka_")));
    }

    @Test
    void aFamilyIsDescribedOnceAndItsSamplesFollow() throws Exception {
        registry.newMeter(name("T", "BytesInPerSec", ",topic=a"), "bytes", TimeUnit.SECONDS).mark(5);
        registry.newMeter(name("T", "Other", ""), "bytes", TimeUnit.SECONDS).mark(1);
        registry.newMeter(name("T", "BytesInPerSec", ",topic=b"), "bytes", TimeUnit.SECONDS).mark(6);
        String text = metricsOf(TextFormat.PROMETHEUS);
        String family = "# TYPE kafka_server_t_bytesin_total counter\n"
                + "# HELP kafka_server_t_bytesin_total kafka.server:type=T,name=BytesInPerSec\n";
        String a = "kafka_server_t_bytesin_total{topic=\"a\"} 5\n";
        String b = "kafka_server_t_bytesin_total{topic=\"b\"} 6\n";
        assertTrue(text.contains(family + a + b) || text.contains(family + b + a), text);
        assertTrue(text.contains("# TYPE kafka_server_t_other_count untyped\n"), text);
    }

    @Test
    void openMetricsDescribesACounterWithoutItsEndingAndEnds() throws Exception {
        registry.newMeter(name("T", "BytesInPerSec", ""), "bytes", TimeUnit.SECONDS).mark(5);
        assertEquals(
                "# TYPE kafka_server_t_bytesin counter\n"
                        + "# HELP kafka_server_t_bytesin kafka.server:type=T,name=BytesInPerSec\n"
                        + "kafka_server_t_bytesin_total 5\n# EOF\n",
                metricsOf(TextFormat.OPEN_METRICS));
    }

    @Test
    void theSumOfAHistogramIsMeanTimesCount() throws Exception {
        var histogram = registry.newHistogram(name("T", "TimeMs", ""), false);
        histogram.update(10);
        histogram.update(15);
        String text = metricsOf(TextFormat.PROMETHEUS);
        assertTrue(text.contains("kafka_server_t_timems_sum 25\n"), text);
        assertTrue(text.contains("kafka_server_t_timems_count 2\n"), text);
        assertTrue(text.contains("kafka_server_t_timems{quantile=\"0.50\"} 12.5\n"), text);
    }

    @Test
    void theHostIsThereUnderTheNamesOfNodeExporter() throws Exception {
        String text = text(scraper(Duration.ZERO, NameFilter.ALL), TextFormat.PROMETHEUS, NameFilter.ALL);
        assertTrue(text.contains("guardian_broker_info{cluster_id=\"c1\",broker_id=\"7\",rack=\"sh-a\"} 1\n"), text);
        assertTrue(text.contains("node_disk_io_time_seconds_total{device=\"sda\"} 2.5\n"
                + "node_disk_io_time_seconds_total{device=\"sdb\"} 0.001\n"), text);
        assertTrue(text.contains("node_cpu_seconds_total{mode=\"user\"} 1.5\n"), text);
        assertTrue(text.contains("guardian_log_dir_size_bytes{log_dir=\"/d1\",device=\"sda\"} 7\n"), text);
        assertTrue(text.contains("guardian_log_dir_offline{log_dir=\"/d2\",device=\"\"} 1\n"), text);
        assertFalse(text.contains("guardian_log_dir_size_bytes{log_dir=\"/d2\""), text);
        assertFalse(text.contains("node_memory"), text);
    }

    @Test
    void whatIsDeniedIsNeverShownAndWhatIsAskedForIsShownAlone() throws Exception {
        registry.newCounter(name("Public", "C", "")).inc();
        registry.newCounter(name("Secret", "C", "")).inc();
        NameFilter shown = new NameFilter(List.of("kafka_", "node_disk"), List.of("kafka_server_secret"));
        String all = text(scraper(Duration.ZERO, shown), TextFormat.PROMETHEUS, NameFilter.ALL);
        assertTrue(all.contains("kafka_server_public_c_count 1\n") && all.contains("node_disk_io_now"), all);
        assertFalse(all.contains("secret") || all.contains("guardian_broker_info"), all);
        String few = text(
                scraper(Duration.ZERO, shown), TextFormat.PROMETHEUS,
                NameFilter.only(List.of("kafka_server_secret", "kafka_server_public_c")));
        assertFalse(few.contains("secret") || few.contains("node_disk"), few);
        assertTrue(few.contains("kafka_server_public_c_count 1\n"), few);
    }

    @Test
    void metricsThatComeLaterAreShownAndThoseThatGoAreNot() throws Exception {
        registry.newCounter(name("T", "A", "")).inc();
        Scraper scraper = scraper(Duration.ZERO, NameFilter.ALL);
        NameFilter kafka = NameFilter.only(List.of("kafka_"));
        assertEquals(1, samples(text(scraper, TextFormat.PROMETHEUS, kafka)));
        registry.newCounter(name("T", "B", "")).inc();
        assertEquals(2, samples(text(scraper, TextFormat.PROMETHEUS, kafka)));
        registry.removeMetric(name("T", "A", ""));
        assertEquals(1, samples(text(scraper, TextFormat.PROMETHEUS, kafka)));
    }

    private static long samples(String text) {
        return text.lines().filter(line -> !line.startsWith("#")).count();
    }

    @Test
    void scrapesThatComeSoonShareOneCollection() throws Exception {
        Scraper patient = scraper(Duration.ofHours(1), NameFilter.ALL);
        assertSame(patient.scrape().orElseThrow(), patient.scrape().orElseThrow());
        Scraper eager = scraper(Duration.ofNanos(-1), NameFilter.ALL);
        assertNotSame(eager.scrape().orElseThrow(), eager.scrape().orElseThrow());
    }

    @Test
    void numbersAreWrittenAsPrometheusReadsThem() {
        assertEquals("5", Exposition.number(5));
        assertEquals("-3", Exposition.number(-3));
        assertEquals("0.25", Exposition.number(0.25));
        assertEquals("1.0E300", Exposition.number(1e300));
        assertEquals("+Inf", Exposition.number(Double.POSITIVE_INFINITY));
        assertEquals("-Inf", Exposition.number(Double.NEGATIVE_INFINITY));
    }

    @Test
    void theAcceptHeaderChoosesTheText() {
        assertEquals(TextFormat.PROMETHEUS, TextFormat.preferred(""));
        assertEquals(TextFormat.PROMETHEUS, TextFormat.preferred("*/*"));
        assertEquals(TextFormat.OPEN_METRICS, TextFormat.preferred("application/openmetrics-text; version=1.0.0"));
        assertEquals(TextFormat.OPEN_METRICS, TextFormat.preferred(
                "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.1"));
        assertEquals(TextFormat.PROMETHEUS, TextFormat.preferred(
                "application/openmetrics-text;version=1.0.0;q=0.2,text/plain;version=0.0.4;q=0.3,*/*;q=0.1"));
        assertEquals(TextFormat.PROMETHEUS, TextFormat.preferred("application/openmetrics-text;q=0"));
    }
}

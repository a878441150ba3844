package guardian.kafka.reporter.scrape;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class PrometheusNamesTest {
    private static final List<String> METER =
            List.of("Count", "MeanRate", "OneMinuteRate", "FiveMinuteRate", "FifteenMinuteRate");
    private static final List<String> HISTOGRAM =
            List.of("Count", "Min", "Max", "Mean", "StdDev", "50thPercentile", "999thPercentile");

    private static List<String> heads(String mbean, List<String> attributes) {
        List<String> heads = new ArrayList<>();
        PrometheusNames.of(mbean, attributes).forEach(series -> heads.add(series == null ? null : series.head()));
        return heads;
    }

    private static String head(String mbean, String attribute) {
        return heads(mbean, List.of(attribute)).get(0);
    }

    private static Series.Kind kind(String mbean, String attribute) {
        return PrometheusNames.of(mbean, List.of(attribute)).get(0).kind();
    }

    @Test
    void aMeterPerSecondIsACounterAndItsRatesAreLeftOut() {
        List<String> heads = heads("kafka.server:type=BrokerTopicMetrics,name=BytesInPerSec,topic=orders.v1", METER);
        assertEquals("kafka_server_brokertopicmetrics_bytesin_total{topic=\"orders.v1\"}", heads.get(0));
        heads.subList(1, heads.size()).forEach(rate -> assertNull(rate));
        assertEquals(
                "kafka_network_requestmetrics_requests_total{request=\"Produce\",version=\"9\"}",
                head("kafka.network:type=RequestMetrics,name=RequestsPerSec,request=Produce,version=9", "Count"));
    }

    @Test
    void aGaugeHasTheNameOfItsMbeanAndItsKeysAsLabels() {
        assertEquals(
                "kafka_server_replicamanager_underreplicatedpartitions",
                head("kafka.server:type=ReplicaManager,name=UnderReplicatedPartitions", "Value"));
        assertEquals(
                "kafka_log_log_size{topic=\"orders\",partition=\"3\"}",
                head("kafka.log:type=Log,name=Size,topic=orders,partition=3", "Value"));
        assertEquals(
                "kafka_coordinator_group_groupmetadatamanager_numgroups",
                head("kafka.coordinator.group:type=GroupMetadataManager,name=NumGroups", "Value"));
        assertEquals(
                "kafka_log_log_size{topic=\"orders\",partition=\"3\",is_future=\"true\"}",
                head("kafka.log:type=Log,name=Size,topic=orders,partition=3,is-future=true", "Value"));
    }

    @Test
    void aShareOfTimeIsAPercentWithItsRates() {
        String pool = "kafka.server:type=KafkaRequestHandlerPool,name=RequestHandlerAvgIdlePercent";
        assertEquals("kafka_server_kafkarequesthandlerpool_requesthandleravgidle_percent", head(pool, "MeanRate"));
        assertEquals(
                "kafka_server_kafkarequesthandlerpool_requesthandleravgidle_percent_oneminuterate",
                head(pool, "OneMinuteRate"));
        assertEquals(
                "kafka_network_socketserver_networkprocessoravgidle_percent",
                head("kafka.network:type=SocketServer,name=NetworkProcessorAvgIdlePercent", "Value"));
    }

    @Test
    void aHistogramIsASummaryWithItsSum() {
        String mbean = "kafka.network:type=RequestMetrics,name=TotalTimeMs,request=Fetch";
        String family = "kafka_network_requestmetrics_totaltimems";
        assertEquals(
                List.of(
                        family + "_count{request=\"Fetch\"}",
                        family + "_min{request=\"Fetch\"}",
                        family + "_max{request=\"Fetch\"}",
                        family + "_sum{request=\"Fetch\"}",
                        family + "_stddev{request=\"Fetch\"}",
                        family + "{request=\"Fetch\",quantile=\"0.50\"}",
                        family + "{request=\"Fetch\",quantile=\"0.999\"}"),
                heads(mbean, HISTOGRAM));
        List<Series> series = PrometheusNames.of(mbean, HISTOGRAM);
        assertEquals(0, series.get(3).timesAttribute());
        assertEquals(Series.Kind.SUMMARY, series.get(0).kind());
        assertEquals(Series.Kind.GAUGE, series.get(1).kind());
    }

    @Test
    void kafkasOwnMetricsHaveTheirTypeAndAttribute() {
        String network = "kafka.server:type=socket-server-metrics,listener=PLAINTEXT,networkProcessor=0";
        assertEquals(
                "kafka_server_socket_server_metrics_connection_count{listener=\"PLAINTEXT\",networkProcessor=\"0\"}",
                head(network, "connection-count"));
        assertEquals(
                "kafka_server_socket_server_metrics_connection_close_total"
                        + "{listener=\"PLAINTEXT\",networkProcessor=\"0\"}",
                head(network, "connection-close-total"));
        assertEquals(Series.Kind.COUNTER, kind(network, "connection-close-total"));
        assertEquals(Series.Kind.GAUGE, kind(network, "connection-count"));
        assertEquals(
                "kafka_server_raft_metrics_commit_latency_avg",
                head("kafka.server:type=raft-metrics", "commit-latency-avg"));
    }

    @Test
    void quotasAreOneFamilyByResource() {
        assertEquals(
                "kafka_server_quota_byte_rate{resource=\"Produce\",user=\"alice\",clientId=\"app 1\"}",
                head("kafka.server:type=Produce,user=alice,client-id=\"app 1\"", "byte-rate"));
        assertEquals(
                "kafka_server_quota_throttle_time{resource=\"Fetch\",clientId=\"app\"}",
                head("kafka.server:type=Fetch,client-id=app", "throttle-time"));
    }

    @Test
    void theJvmHasTheNamesOfPrometheusJavaClients() {
        assertEquals("jvm_memory_used_bytes{area=\"heap\"}", head("java.lang:type=Memory", "HeapMemoryUsage.used"));
        assertEquals("jvm_memory_max_bytes{area=\"nonheap\"}", head("java.lang:type=Memory", "NonHeapMemoryUsage.max"));
        assertEquals(
                "jvm_gc_collection_seconds_sum{gc=\"G1 Young Generation\"}",
                head("java.lang:name=G1 Young Generation,type=GarbageCollector", "CollectionTime"));
        assertEquals("process_cpu_seconds_total", head("java.lang:type=OperatingSystem", "ProcessCpuTime"));
        assertEquals(
                "jvm_buffer_pool_used_bytes{pool=\"direct\"}",
                head("java.nio:type=BufferPool,name=direct", "MemoryUsed"));
        assertNull(head("java.lang:type=Runtime", "Uptime"));
    }

    @Test
    void quotedValuesLoseTheirQuotesAndLabelsAreEscaped() {
        assertEquals(
                "kafka_log_logmanager_logdirectoryoffline{logDirectory=\"/data,1=\\\\x\\\"y\\nz\"}",
                head(
                        "kafka.log:type=LogManager,name=LogDirectoryOffline,logDirectory=\"/data,1=\\\\x\\\"y\\nz\"",
                        "Value"));
    }

    @Test
    void namesThatAreNoneStillMakeNoBadText() {
        for (String mbean :
                List.of("", ":", "x", "a:b", "a:type=", "a:type=\"", "9:type=9,name=,\u00e4=\u00e4", "a:=,=")) {
            for (Series series : PrometheusNames.of(mbean, List.of("Count", "Value", "50thPercentile", "\u00e4"))) {
                if (series != null) {
                    assertEquals(true, series.family().matches("[a-zA-Z_][a-zA-Z0-9_]*"), mbean);
                }
            }
        }
    }
}

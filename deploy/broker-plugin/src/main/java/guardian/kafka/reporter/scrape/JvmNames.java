package guardian.kafka.reporter.scrape;

import java.util.Map;

/** The names that Prometheus' Java clients, and so jmx_exporter, give to what a JVM tells of itself. */
final class JvmNames {
    private static final double MS = 1e-3;
    private static final double NS = 1e-9;
    private static final String GC = "jvm_gc_collection_seconds";

    /** By "type:attribute", those without labels. */
    private static final Map<String, Series> PLAIN = Map.of(
            "Threading:ThreadCount", Series.gauge("jvm_threads_current", ""),
            "Threading:DaemonThreadCount", Series.gauge("jvm_threads_daemon", ""),
            "Threading:PeakThreadCount", Series.gauge("jvm_threads_peak", ""),
            "Runtime:StartTime", Series.gauge("process_start_time_seconds", "", MS),
            "OperatingSystem:ProcessCpuTime", Series.counter("process_cpu_seconds", "", NS),
            "OperatingSystem:OpenFileDescriptorCount", Series.gauge("process_open_fds", ""),
            "OperatingSystem:MaxFileDescriptorCount", Series.gauge("process_max_fds", ""));

    private JvmNames() {}

    /** Null where there is none. */
    static Series of(MbeanName name, String attribute) {
        String part = attribute.substring(attribute.indexOf('.') + 1);
        return switch (name.key("type")) {
            case "Memory" -> Series.gauge(
                    "jvm_memory_" + part + "_bytes", PrometheusNames.label("area", area(attribute)));
            case "MemoryPool" -> Series.gauge("jvm_memory_pool_" + part + "_bytes", labelled("pool", name));
            case "GarbageCollector" -> attribute.equals("CollectionCount")
                    ? Series.summary(GC, "_count", labelled("gc", name))
                    : new Series(Series.Kind.SUMMARY, GC, "_sum", labelled("gc", name), MS, -1);
            case "BufferPool" -> switch (attribute) {
                case "Count" -> Series.gauge("jvm_buffer_pool_used_buffers", labelled("pool", name));
                case "MemoryUsed" -> Series.gauge("jvm_buffer_pool_used_bytes", labelled("pool", name));
                default -> Series.gauge("jvm_buffer_pool_capacity_bytes", labelled("pool", name));
            };
            default -> PLAIN.get(name.key("type") + ":" + attribute);
        };
    }

    private static String area(String attribute) {
        return attribute.startsWith("NonHeap") ? "nonheap" : "heap";
    }

    private static String labelled(String label, MbeanName name) {
        return PrometheusNames.label(label, name.key("name"));
    }
}

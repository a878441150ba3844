package guardian.kafka.reporter.metrics;

import java.io.IOException;
import java.lang.management.BufferPoolMXBean;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryMXBean;
import java.lang.management.MemoryPoolMXBean;
import java.lang.management.MemoryUsage;
import java.lang.management.OperatingSystemMXBean;
import java.lang.management.PlatformManagedObject;
import java.lang.management.RuntimeMXBean;
import java.lang.management.ThreadMXBean;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.function.BiConsumer;

/** What the JVM tells of itself, under JMX's names; of a composite attribute, each part is "attribute.part". */
public final class JvmMetricSource implements MetricSource {
    private static final List<String> GC = List.of("CollectionCount", "CollectionTime");
    private static final List<String> HEAP = usage("HeapMemoryUsage");
    private static final List<String> NON_HEAP = usage("NonHeapMemoryUsage");
    private static final List<String> POOL = usage("Usage");
    private static final List<String> BUFFERS = List.of("Count", "MemoryUsed", "TotalCapacity");
    private static final List<String> THREADS = List.of("ThreadCount", "DaemonThreadCount", "PeakThreadCount");
    private static final List<String> RUNTIME = List.of("StartTime", "Uptime");
    private static final List<String> CPU = List.of("ProcessCpuTime");
    private static final List<String> FILES = List.of("OpenFileDescriptorCount", "MaxFileDescriptorCount");
    private static final Path FDS = Path.of("/proc/self/fd");
    private static final Duration FILES_HOLD = Duration.ofMinutes(10);

    private final MemoryMXBean memory = ManagementFactory.getMemoryMXBean();
    private final ThreadMXBean threads = ManagementFactory.getThreadMXBean();
    private final RuntimeMXBean runtime = ManagementFactory.getRuntimeMXBean();
    private final OperatingSystemMXBean system = ManagementFactory.getOperatingSystemMXBean();
    private final List<GarbageCollectorMXBean> collectors = ManagementFactory.getGarbageCollectorMXBeans();
    private final List<MemoryPoolMXBean> pools = ManagementFactory.getMemoryPoolMXBeans();
    private final List<BufferPoolMXBean> buffers = ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class);

    @Override
    public long revision() {
        return 0;
    }

    @Override
    public void list(Listing listing) {
        add(listing, memory, HEAP, (bean, values) -> put(values, bean.getHeapMemoryUsage()));
        add(listing, memory, NON_HEAP, (bean, values) -> put(values, bean.getNonHeapMemoryUsage()));
        add(listing, threads, THREADS, (bean, values) ->
                put(values, bean.getThreadCount(), bean.getDaemonThreadCount(), bean.getPeakThreadCount()));
        add(listing, runtime, RUNTIME, (bean, values) -> put(values, bean.getStartTime(), bean.getUptime()));
        for (GarbageCollectorMXBean each : collectors) {
            add(listing, each, GC, (bean, values) ->
                    put(values, bean.getCollectionCount(), bean.getCollectionTime()));
        }
        for (MemoryPoolMXBean each : pools) {
            add(listing, each, POOL, (bean, values) -> put(values, bean.getUsage()));
        }
        for (BufferPoolMXBean each : buffers) {
            add(listing, each, BUFFERS, (bean, values) ->
                    put(values, bean.getCount(), bean.getMemoryUsed(), bean.getTotalCapacity()));
        }
        if (system instanceof com.sun.management.OperatingSystemMXBean process) {
            add(listing, process, CPU, (bean, values) -> put(values, bean.getProcessCpuTime()));
        }
        if (system instanceof com.sun.management.UnixOperatingSystemMXBean process) {
            OpenFiles open = new OpenFiles(
                    process::getOpenFileDescriptorCount, JvmMetricSource::sizeOfFds, System::nanoTime, FILES_HOLD);
            add(listing, process, FILES, (bean, values) ->
                    put(values, open.count(), bean.getMaxFileDescriptorCount()));
        }
    }

    /** A bean has several lists of attributes, and a list many beans: both together are the metric. */
    private record Part(Object bean, List<String> attributes) {}

    private static <B extends PlatformManagedObject> void add(
            Listing listing, B bean, List<String> attributes, BiConsumer<B, double[]> read) {
        listing.add(new Part(bean, attributes), attributes, () -> bean.getObjectName().toString(), values -> {
            read.accept(bean, values);
            return true;
        });
    }

    private static void put(double[] values, MemoryUsage usage) {
        put(values, usage.getUsed(), usage.getCommitted(), usage.getMax());
    }

    private static void put(double[] values, double... read) {
        System.arraycopy(read, 0, values, 0, read.length);
    }

    private static long sizeOfFds() {
        try {
            return Files.size(FDS);
        } catch (IOException e) {
            return 0;
        }
    }

    private static List<String> usage(String attribute) {
        return List.of(attribute + ".used", attribute + ".committed", attribute + ".max");
    }
}

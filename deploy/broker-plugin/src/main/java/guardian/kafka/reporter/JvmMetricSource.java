package guardian.kafka.reporter;

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
import java.util.List;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What the JVM tells of itself, under JMX's names; of a composite attribute, each part is "attribute.part". */
final class JvmMetricSource implements MetricSource {
    private static final Logger LOG = LoggerFactory.getLogger(JvmMetricSource.class);

    private static final List<String> GC = List.of("CollectionCount", "CollectionTime");
    private static final List<String> HEAP = usage("HeapMemoryUsage");
    private static final List<String> NON_HEAP = usage("NonHeapMemoryUsage");
    private static final List<String> POOL = usage("Usage");
    private static final List<String> BUFFERS = List.of("Count", "MemoryUsed", "TotalCapacity");
    private static final List<String> THREADS = List.of("ThreadCount", "DaemonThreadCount", "PeakThreadCount");
    private static final List<String> RUNTIME = List.of("StartTime", "Uptime");
    private static final List<String> CPU = List.of("ProcessCpuTime");
    private static final List<String> FILES = List.of("OpenFileDescriptorCount", "MaxFileDescriptorCount");

    private final MemoryMXBean memory = ManagementFactory.getMemoryMXBean();
    private final ThreadMXBean threads = ManagementFactory.getThreadMXBean();
    private final RuntimeMXBean runtime = ManagementFactory.getRuntimeMXBean();
    private final OperatingSystemMXBean system = ManagementFactory.getOperatingSystemMXBean();
    private final List<GarbageCollectorMXBean> collectors = ManagementFactory.getGarbageCollectorMXBeans();
    private final List<MemoryPoolMXBean> pools = ManagementFactory.getMemoryPoolMXBeans();
    private final List<BufferPoolMXBean> buffers = ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class);

    @Override
    public void collect(ValueSink sink) {
        put(sink, memory, HEAP, bean -> values(bean.getHeapMemoryUsage()));
        put(sink, memory, NON_HEAP, bean -> values(bean.getNonHeapMemoryUsage()));
        put(sink, threads, THREADS, bean -> values(
                bean.getThreadCount(), bean.getDaemonThreadCount(), bean.getPeakThreadCount()));
        put(sink, runtime, RUNTIME, bean -> values(bean.getStartTime(), bean.getUptime()));
        for (GarbageCollectorMXBean each : collectors) {
            put(sink, each, GC, bean -> values(bean.getCollectionCount(), bean.getCollectionTime()));
        }
        for (MemoryPoolMXBean each : pools) {
            put(sink, each, POOL, bean -> values(bean.getUsage()));
        }
        for (BufferPoolMXBean each : buffers) {
            put(sink, each, BUFFERS, bean -> values(
                    bean.getCount(), bean.getMemoryUsed(), bean.getTotalCapacity()));
        }
        if (system instanceof com.sun.management.OperatingSystemMXBean process) {
            put(sink, process, CPU, bean -> values(bean.getProcessCpuTime()));
        }
        if (system instanceof com.sun.management.UnixOperatingSystemMXBean process) {
            put(sink, process, FILES, bean -> values(
                    bean.getOpenFileDescriptorCount(), bean.getMaxFileDescriptorCount()));
        }
    }

    /** A bean has several lists of attributes, and a list many beans: both together are the metric. */
    private record Part(Object bean, List<String> attributes) {}

    private static <B extends PlatformManagedObject> void put(
            ValueSink sink, B bean, List<String> attributes, Function<B, double[]> values) {
        try {
            NameDictionary.Entry entry = sink.wanted(
                    new Part(bean, attributes), attributes, () -> bean.getObjectName().toString());
            if (entry != null) {
                sink.put(entry, values.apply(bean));
            }
        } catch (ValueSink.Expired e) {
            throw e;
        } catch (RuntimeException | LinkageError e) {
            LOG.debug("{} has no value", bean.getObjectName(), e);
        }
    }

    private static List<String> usage(String attribute) {
        return List.of(attribute + ".used", attribute + ".committed", attribute + ".max");
    }

    private static double[] values(MemoryUsage usage) {
        return values(usage.getUsed(), usage.getCommitted(), usage.getMax());
    }

    private static double[] values(double... values) {
        return values;
    }
}

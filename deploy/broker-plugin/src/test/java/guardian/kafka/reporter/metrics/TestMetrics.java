package guardian.kafka.reporter.metrics;

import guardian.kafka.common.DaemonThreads;
import guardian.v1.HostFacts;
import guardian.v1.MetricBatch;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.IntFunction;

/** Collectors and timers as the reporter makes them. */
public final class TestMetrics {
    private TestMetrics() {}

    public static BatchCollector collector(MetricSource... sources) {
        return new BatchCollector(
                List.of(sources),
                request -> HostFacts.getDefaultInstance(),
                MetricBatch::newBuilder,
                request -> List.of());
    }

    /** Gauges whose text and whose names fill every buffer between two sockets. */
    public static MetricSource plenty() {
        return gauges(20_000);
    }

    public static MetricSource gauges(int count) {
        String padding = "x".repeat(150);
        return source(count, i -> "test:type=T,name=N,i=" + i + ",p=" + padding, i -> values -> {
            values[0] = i;
            return true;
        });
    }

    /** One metric for each. */
    public static MetricSource source(MetricReader... readers) {
        return source(readers.length, i -> "test:type=T,i=" + i, i -> readers[i]);
    }

    private static MetricSource source(int count, IntFunction<String> mbean, IntFunction<MetricReader> reader) {
        return new MetricSource() {
            @Override
            public long revision() {
                return 0;
            }

            @Override
            public void list(Listing listing) {
                for (int i = 0; i < count; i++) {
                    int number = i;
                    listing.add("metric" + i, List.of("Value"), () -> mbean.apply(number), reader.apply(i));
                }
            }
        };
    }

    /** It would take minutes to read. */
    public static MetricSource endless(Runnable begun) {
        MetricReader[] readers = new MetricReader[200_000];
        Arrays.fill(readers, (MetricReader) values -> {
            begun.run();
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(1));
            return false;
        });
        return source(readers);
    }

    public static ScheduledThreadPoolExecutor timer() {
        ScheduledThreadPoolExecutor timer = new ScheduledThreadPoolExecutor(2, new DaemonThreads("test-timer"));
        timer.setRemoveOnCancelPolicy(true);
        timer.setRejectedExecutionHandler(new ThreadPoolExecutor.DiscardPolicy());
        return timer;
    }
}

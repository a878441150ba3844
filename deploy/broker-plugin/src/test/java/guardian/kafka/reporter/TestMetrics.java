package guardian.kafka.reporter;

import guardian.v1.HostFacts;
import guardian.v1.MetricBatch;
import java.util.List;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadPoolExecutor;

/** Collectors and timers as the reporter makes them. */
final class TestMetrics {
    private TestMetrics() {}

    static BatchCollector collector(MetricSource... sources) {
        return new BatchCollector(
                List.of(sources), HostFacts::getDefaultInstance, MetricBatch::newBuilder, request -> List.of());
    }

    /** Gauges whose text and whose names fill every buffer between two sockets. */
    static MetricSource plenty() {
        return gauges(20_000);
    }

    static MetricSource gauges(int count) {
        String padding = "x".repeat(150);
        return sink -> {
            for (int i = 0; i < count; i++) {
                int number = i;
                NameDictionary.Entry entry = sink.wanted(
                        "gauge" + i, List.of("Value"), () -> "test:type=T,name=N,i=" + number + ",p=" + padding);
                if (entry != null) {
                    sink.put(entry, number);
                }
            }
        };
    }

    static ScheduledThreadPoolExecutor timer() {
        ScheduledThreadPoolExecutor timer = new ScheduledThreadPoolExecutor(2, new DaemonThreads("test-timer"));
        timer.setRemoveOnCancelPolicy(true);
        timer.setRejectedExecutionHandler(new ThreadPoolExecutor.DiscardPolicy());
        return timer;
    }
}

package guardian.kafka.reporter;

import guardian.kafka.common.DaemonThreads;
import guardian.kafka.reporter.listener.ReporterSettings;
import guardian.kafka.reporter.metrics.BatchCollector;
import guardian.kafka.reporter.metrics.ValueSink;
import guardian.v1.BrokerReporterGrpc;
import guardian.v1.CollectRequest;
import guardian.v1.MetricBatch;
import io.grpc.Context;
import io.grpc.Status;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.time.Duration;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;
import java.util.function.BooleanSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** BrokerReporter.Collect with a bound on everything: calls at once, seconds a call, threads. */
final class BrokerReporterService extends BrokerReporterGrpc.BrokerReporterImplBase implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(BrokerReporterService.class);

    private final BatchCollector collector;
    private final int maxCalls;
    private final long callLimitNs;
    private final Semaphore free;
    private final ExecutorService workers;

    BrokerReporterService(BatchCollector collector, int maxCalls, Duration callLimit) {
        this.collector = collector;
        this.maxCalls = maxCalls;
        this.callLimitNs = callLimit.toNanos();
        this.free = new Semaphore(maxCalls);
        this.workers = Executors.newFixedThreadPool(maxCalls, new DaemonThreads("guardian-reporter"));
    }

    /** Returns at once: it runs on the connection's thread, and a metric may make its reader wait. */
    @Override
    public void collect(CollectRequest request, StreamObserver<MetricBatch> answer) {
        if (!free.tryAcquire()) {
            answer.onError(Status.RESOURCE_EXHAUSTED
                    .withDescription(maxCalls + " calls run at once, which is " + ReporterSettings.MAX_CALLS
                            + ": call again later")
                    .asRuntimeException());
            return;
        }
        // With a handler, an answer to a caller that has gone is dropped instead of thrown at us.
        ((ServerCallStreamObserver<MetricBatch>) answer).setOnCancelHandler(() -> {});
        Context call = Context.current();
        long startedNs = System.nanoTime();
        workers.execute(() -> {
            try {
                answer(request, answer, () -> call.isCancelled() || System.nanoTime() - startedNs > callLimitNs);
            } finally {
                free.release();
            }
        });
    }

    private void answer(CollectRequest request, StreamObserver<MetricBatch> answer, BooleanSupplier expired) {
        try {
            answer.onNext(collector.collect(request, expired));
            answer.onCompleted();
        } catch (ValueSink.Expired e) {
            answer.onError(Status.DEADLINE_EXCEEDED.withDescription(e.getMessage()).asRuntimeException());
        } catch (RuntimeException | LinkageError | OutOfMemoryError e) {
            LOG.warn("A collection of metrics failed", e);
            answer.onError(Status.INTERNAL.withDescription(e.toString()).asRuntimeException());
        }
    }

    @Override
    public void close() {
        workers.shutdownNow();
    }
}

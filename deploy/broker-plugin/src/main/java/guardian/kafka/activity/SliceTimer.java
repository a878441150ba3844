package guardian.kafka.activity;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The thread that closes slices: at whole multiples of their length by the broker's clock, so that slices of all brokers
 * lie side by side. In between it samples bytes.
 */
final class SliceTimer implements Runnable, AutoCloseable {
    /** Well below the ten seconds over which Kafka averages. */
    static final long SAMPLE_MS = 5_000;

    private static final Logger LOG = LoggerFactory.getLogger(SliceTimer.class);

    private final ActivityLog log;
    private final long sliceMs;
    private final LongSupplier clockMs;
    private final LongSupplier elapsedNs;
    private final CountDownLatch closed = new CountDownLatch(1);
    private long sampledNs;

    SliceTimer(ActivityLog log, long sliceMs, LongSupplier clockMs, LongSupplier elapsedNs) {
        this.log = log;
        this.sliceMs = sliceMs;
        this.clockMs = clockMs;
        this.elapsedNs = elapsedNs;
        this.sampledNs = elapsedNs.getAsLong();
    }

    static SliceTimer start(ActivityLog log, int sliceSeconds) {
        SliceTimer timer =
                new SliceTimer(log, sliceSeconds * 1_000L, System::currentTimeMillis, System::nanoTime);
        Thread thread = new Thread(timer, "guardian-activity");
        thread.setDaemon(true);
        thread.start();
        return timer;
    }

    @Override
    public void run() {
        try {
            while (!closed.await(untilNextMs(), TimeUnit.MILLISECONDS)) {
                try {
                    step();
                } catch (RuntimeException | LinkageError | OutOfMemoryError e) {
                    LOG.warn("Client activity: a step failed, and the next one follows", e);
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public void close() {
        closed.countDown();
    }

    /** Until the open slice ends, or the next sample is due. */
    long untilNextMs() {
        return Math.max(1, Math.min(SAMPLE_MS, endMs() - clockMs.getAsLong()));
    }

    void step() {
        long nowNs = elapsedNs.getAsLong();
        log.sampleBytes((nowNs - sampledNs) / 1e9);
        sampledNs = nowNs;
        long nowMs = clockMs.getAsLong();
        // A clock that was set back would leave the slice open for as long again.
        if (nowMs >= endMs() || nowMs < log.openedMs()) {
            log.close(nowMs);
        }
    }

    private long endMs() {
        return (log.openedMs() / sliceMs + 1) * sliceMs;
    }
}

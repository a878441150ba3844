package guardian.kafka.metadata.store;

import java.time.Duration;
import java.util.concurrent.Executor;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The store's one thread: all of its state is touched here and nowhere else, so that nothing needs a lock.
 *
 * <p>Tasks run in the order in which they are given; after {@link #close} none runs any more.
 */
final class StoreLoop implements Executor, AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(StoreLoop.class);
    private static final Duration END_LIMIT = Duration.ofSeconds(5);

    private final OwnThreads threads;
    private final ScheduledThreadPoolExecutor thread;

    StoreLoop(String name) {
        threads = new OwnThreads(name);
        thread = new ScheduledThreadPoolExecutor(1, threads, (task, executor) -> { });
        thread.setRemoveOnCancelPolicy(true);
        thread.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
    }

    @Override
    public void execute(Runnable task) {
        thread.execute(() -> run(task));
    }

    void after(Duration pause, Runnable task) {
        thread.schedule(() -> run(task), pause.toNanos(), TimeUnit.NANOSECONDS);
    }

    void every(Duration pause, Runnable task) {
        long nanos = pause.toNanos();
        thread.scheduleWithFixedDelay(() -> run(task), nanos, nanos, TimeUnit.NANOSECONDS);
    }

    boolean isOwnThread() {
        return threads.hasCurrent();
    }

    /** Waits for the task that runs now, unless that is the caller. */
    @Override
    public void close() {
        thread.shutdownNow();
        if (!isOwnThread()) {
            threads.join(END_LIMIT);
        }
    }

    private static void run(Runnable task) {
        try {
            task.run();
        } catch (RuntimeException | LinkageError e) {
            LOG.error("A task of the segment event store failed: report it as a bug", e);
        }
    }
}

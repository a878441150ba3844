package guardian.kafka.metadata;

import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The manager's one thread for what must not hold up the broker's threads or the store's. */
final class Background implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Background.class);
    private static final long END_LIMIT_MS = 5_000;

    private final ScheduledThreadPoolExecutor executor;
    private volatile Thread thread;

    Background(String name) {
        executor = new ScheduledThreadPoolExecutor(1, task -> {
            thread = new Thread(task, name);
            thread.setDaemon(true);
            return thread;
        });
    }

    /** Nothing happens after the end. */
    void schedule(long delay, TimeUnit unit, Runnable task) {
        try {
            executor.schedule(logged(task), delay, unit);
        } catch (RejectedExecutionException closed) {
            LOG.debug("closed: nothing is begun any more");
        }
    }

    void repeat(long delay, TimeUnit unit, Runnable task) {
        executor.scheduleWithFixedDelay(logged(task), delay, delay, unit);
    }

    /** Waits for the thread itself: an executor calls itself terminated a moment before its last thread is gone. */
    @Override
    public void close() {
        executor.shutdownNow();
        Thread last = thread;
        if (last == null || last == Thread.currentThread()) {
            return;
        }
        try {
            last.join(END_LIMIT_MS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        if (last.isAlive()) {
            LOG.warn("{} has not ended within {} ms", last.getName(), END_LIMIT_MS);
        }
    }

    /** A task that fails is told of, and comes again: an executor would drop it silently. */
    private static Runnable logged(Runnable task) {
        return () -> {
            try {
                task.run();
            } catch (RuntimeException | LinkageError e) {
                LOG.error("a task of Guardian's metadata manager failed", e);
            }
        };
    }
}

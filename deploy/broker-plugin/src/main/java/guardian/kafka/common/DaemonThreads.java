package guardian.kafka.common;

import java.time.Duration;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Threads that never keep a broker from ending, numbered, under a name that tells whose they are.
 *
 * <p>They see the plugin's classes wherever they are started from.
 */
public final class DaemonThreads implements ThreadFactory {
    private final String name;
    private final AtomicInteger threads = new AtomicInteger();

    public DaemonThreads(String name) {
        this.name = name;
    }

    @Override
    public Thread newThread(Runnable work) {
        Thread thread = new Thread(work, name + "-" + threads.incrementAndGet());
        thread.setDaemon(true);
        thread.setContextClassLoader(DaemonThreads.class.getClassLoader());
        return thread;
    }

    /** Wait until all threads of an executor that was shut down have ended, or the limit has passed. */
    public static void await(ExecutorService executor, Duration limit) {
        try {
            executor.awaitTermination(limit.toMillis(), TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}

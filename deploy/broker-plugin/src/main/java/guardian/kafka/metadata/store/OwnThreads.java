package guardian.kafka.metadata.store;

import java.time.Duration;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.ThreadFactory;

/**
 * Daemon threads that can be waited for to the very end.
 *
 * <p>An executor calls itself terminated a moment before its last thread is gone; whoever counts threads then, as Kafka's
 * tests do, or unloads the plugin's classes, still sees that one.
 */
final class OwnThreads implements ThreadFactory {
    private final String name;
    private final Set<Thread> started = new HashSet<>();

    OwnThreads(String name) {
        this.name = name;
    }

    @Override
    public synchronized Thread newThread(Runnable task) {
        started.removeIf(thread -> thread.getState() == Thread.State.TERMINATED);
        Thread thread = new Thread(task, name);
        thread.setDaemon(true);
        started.add(thread);
        return thread;
    }

    boolean hasCurrent() {
        return all().contains(Thread.currentThread());
    }

    /** Returns when all have ended, or the limit has passed. The calling thread may not be one of them. */
    void join(Duration limit) {
        long deadline = System.nanoTime() + limit.toNanos();
        try {
            for (Thread thread : all()) {
                thread.join(Math.max(1, (deadline - System.nanoTime()) / 1_000_000));
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private synchronized Set<Thread> all() {
        return Set.copyOf(started);
    }
}

package guardian.kafka.reporter;

import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.AtomicInteger;

/** Threads that never keep a broker from ending, numbered, under a name that tells whose they are. */
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
        return thread;
    }
}

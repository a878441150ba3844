package guardian.kafka.metadata;

import java.util.concurrent.atomic.LongAdder;
import org.apache.kafka.server.log.remote.storage.RemoteStorageException;

/** What the manager counts, for its metrics; from any thread. */
final class ManagerCounters {
    /** Gets how long each write took, from the call until the cache had it. */
    interface WriteTimer {
        void took(long nanos);
    }

    /** A write that may be thrown back. */
    interface Write<T> {
        T run() throws RemoteStorageException;
    }

    private final int brokerId;
    private final LongAdder failed = new LongAdder();
    private final LongAdder fenced = new LongAdder();
    private final LongAdder postponed = new LongAdder();
    private final LongAdder orphansFound = new LongAdder();
    private final LongAdder orphanBytesFound = new LongAdder();
    private final LongAdder orphansSwept = new LongAdder();
    private final LongAdder orphanBytesSwept = new LongAdder();
    private volatile WriteTimer timer = nanos -> {};

    ManagerCounters(int brokerId) {
        this.brokerId = brokerId;
    }

    int brokerId() {
        return brokerId;
    }

    void setWriteTimer(WriteTimer timer) {
        this.timer = timer;
    }

    void written(long nanos, boolean isDone) {
        if (isDone) {
            timer.took(nanos);
        } else {
            failed.increment();
        }
    }

    void fenced() {
        fenced.increment();
    }

    /** Carries out a write, and counts it when it is thrown back before it went out. */
    <T> T counting(Write<T> write) throws RemoteStorageException {
        try {
            return write.run();
        } catch (RemoteStorageException | RuntimeException e) {
            postponed.increment();
            throw e;
        }
    }

    void orphanFound(long bytes) {
        orphansFound.increment();
        orphanBytesFound.add(bytes);
    }

    void orphanSwept(long bytes) {
        orphansSwept.increment();
        orphanBytesSwept.add(bytes);
    }

    long failedWrites() {
        return failed.sum();
    }

    long fencedWrites() {
        return fenced.sum();
    }

    long postponedWrites() {
        return postponed.sum();
    }

    long orphansFoundTotal() {
        return orphansFound.sum();
    }

    long orphanBytesFoundTotal() {
        return orphanBytesFound.sum();
    }

    long orphansSweptTotal() {
        return orphansSwept.sum();
    }

    long orphanBytesSweptTotal() {
        return orphanBytesSwept.sum();
    }
}

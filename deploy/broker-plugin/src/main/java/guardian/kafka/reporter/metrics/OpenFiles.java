package guardian.kafka.reporter.metrics;

import java.time.Duration;
import java.util.function.LongSupplier;

/**
 * How many files the broker has open, without a look at each.
 *
 * <p>The JVM lists them, and a broker has tens of thousands: 1 µs each. Linux says their number as the size of
 * {@code /proc/self/fd}, from 6.2 on (older ones say 0), but counts there also the number that each thread which waits
 * in accept() has taken for the file to come. Those are as many as the broker has threads that listen: the difference
 * is found by a list now and then, and by another one at once when it is not what it was: a thread may just have been
 * between two accepts.
 */
final class OpenFiles {
    /** Listed at an instant, and by how much the folder's size differed then. */
    private record Listed(long atNs, long difference, boolean isConfirmed) {}

    private final LongSupplier list;
    private final LongSupplier size;
    private final LongSupplier nanoTime;
    private final long holdsNs;
    private volatile Listed last;

    /**
     * @param list counts them one by one
     * @param size the folder's, 0 when it says nothing
     * @param holds how long a difference is trusted
     */
    OpenFiles(LongSupplier list, LongSupplier size, LongSupplier nanoTime, Duration holds) {
        this.list = list;
        this.size = size;
        this.nanoTime = nanoTime;
        this.holdsNs = holds.toNanos();
    }

    long count() {
        long before = size.getAsLong();
        long nowNs = nanoTime.getAsLong();
        Listed known = last;
        if (before > 0 && known != null && known.isConfirmed() && nowNs - known.atNs() < holdsNs) {
            return before - known.difference();
        }
        long listed = list.getAsLong();
        // When files come or go meanwhile, the two are not of the same instant.
        last = before > 0 && before == size.getAsLong() ? found(nowNs, before - listed, known) : null;
        return listed;
    }

    private static Listed found(long nowNs, long difference, Listed before) {
        return new Listed(nowNs, difference, before != null && before.difference() == difference);
    }
}

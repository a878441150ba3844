package guardian.kafka.activity;

import guardian.v1.ActivitySlice;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.kafka.server.authorizer.Action;
import org.apache.kafka.server.authorizer.AuthorizableRequestContext;
import org.apache.kafka.server.authorizer.AuthorizationResult;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** One open slice, into which all is counted, and the closed ones. It has no clock: who closes slices says when. */
final class ActivityLog {
    private static final Logger LOG = LoggerFactory.getLogger(ActivityLog.class);

    private final ActivitySettings settings;
    private final AccessCounts counts;
    private final QuotaBytes bytes;
    private final ClosedSlices closed;
    private final AtomicBoolean hasFailed = new AtomicBoolean();
    private long number = 1;
    private long lostSlices;
    private long openedMs;

    ActivityLog(ActivitySettings settings, QuotaBytes bytes, long openedMs) {
        this.settings = settings;
        this.bytes = bytes;
        this.openedMs = openedMs;
        // The open slice has half as much as the closed ones together: a closed one fits among them, whatever it holds.
        this.counts = new AccessCounts(
                () -> new Room(settings.maxEntries(), settings.memoryBytes() / 2), settings.addresses());
        this.closed = new ClosedSlices(settings.slicesKept(), settings.memoryBytes());
    }

    /** Never throws: the broker has decided already, and its client waits. */
    void record(AuthorizableRequestContext request, List<Action> actions, List<AuthorizationResult> results) {
        try {
            counts.count(request, actions, results);
        } catch (Throwable e) {
            fail(e);
        }
    }

    /** Adds the bytes of the time since the last sample. */
    void sampleBytes(double seconds) {
        bytes.sample(seconds, settings.maxEntries());
    }

    synchronized long openedMs() {
        return openedMs;
    }

    /** Closes the open slice and opens the next; one that can't be built is counted as lost. */
    synchronized void close(long nowMs) {
        long fromMs = openedMs;
        openedMs = nowMs;
        try {
            SliceBuilder slice = new SliceBuilder();
            long dropped = counts.drain(slice::add);
            bytes.drain().forEach(slice::add);
            // The clock may have been set back meanwhile.
            closed.add(slice.build(number, fromMs, Math.max(fromMs, nowMs), dropped, lostSlices));
            lostSlices = 0;
        } catch (RuntimeException | LinkageError | OutOfMemoryError e) {
            lostSlices++;
            LOG.warn("A slice of client activity is lost", e);
        }
        number++;
    }

    List<ActivitySlice> after(long number) {
        return closed.after(number);
    }

    private void fail(Throwable failure) {
        counts.failed();
        if (hasFailed.compareAndSet(false, true)) {
            LOG.warn("Client activity could not be counted; more of this is not logged", failure);
        }
    }
}

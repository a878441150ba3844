package guardian.kafka.metadata.store;

import guardian.v1.SegmentEvent;
import java.util.concurrent.CompletableFuture;
import org.apache.kafka.common.TopicIdPartition;

/** One event, from the call until its answer, of which it gets one. */
final class PendingAppend {
    final TopicIdPartition partition;
    final SegmentEvent event;
    final long token;
    final long deadlineNanos;
    final CompletableFuture<Long> done = new CompletableFuture<>();
    private final Counters counters;
    boolean isAlone; // a part of its own in its request: it was refused together with others
    private boolean isSettled;

    PendingAppend(TopicIdPartition partition, SegmentEvent event, long token, long deadlineNanos, Counters counters) {
        this.partition = partition;
        this.event = event;
        this.token = token;
        this.deadlineNanos = deadlineNanos;
        this.counters = counters;
    }

    boolean isSettled() {
        return isSettled;
    }

    boolean isExpired(long now) {
        return !isSettled && deadlineNanos - now <= 0;
    }

    void stored(long nextEventId) {
        if (settle()) {
            counters.appended.increment();
            done.complete(nextEventId);
        }
    }

    void refuse(RuntimeException why) {
        if (settle()) {
            counters.refused.increment();
            done.completeExceptionally(why);
        }
    }

    void expire(StoreUnavailableException why) {
        if (settle()) {
            counters.expired.increment();
            done.completeExceptionally(why);
        }
    }

    private boolean settle() {
        if (isSettled) {
            return false;
        }
        isSettled = true;
        counters.pending.decrementAndGet();
        return true;
    }
}

package guardian.kafka.metadata.store;

import guardian.v1.SegmentEvent;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.apache.kafka.common.TopicIdPartition;

/**
 * Segment events in Guardian, as the manager sees them: what is written is answered once, what is followed arrives in order.
 *
 * <p>Nothing here blocks. Connections are made and made again for as long as it takes; a write that fails because no
 * member answers fails with {@link StoreUnavailableException} after the write limit, and is never carried out twice.
 */
public interface SegmentEventStore extends AutoCloseable {
    /**
     * Appends one event. Many may be under way; those of one segment keep their order.
     *
     * @return the partition's next event id once the event is stored: its own id is below that. Fails with
     *     {@link FencedWriterException} (another writer has claimed the partition), {@link RefusedEventException}
     *     (malformed, or no valid transition; nothing changed), {@link StoreUnavailableException} (not known to be
     *     stored: repeating is safe)
     */
    CompletableFuture<Long> append(TopicIdPartition partition, SegmentEvent event, long fencingToken);

    /**
     * Claims partitions that this broker leads.
     *
     * @return by partition its token, or why there is none; fails with {@link StoreUnavailableException} as a whole
     */
    CompletableFuture<Map<TopicIdPartition, ClaimResult>> claim(Collection<TopicIdPartition> partitions);

    /** Says that these partitions are deleted; {@link Listener#onDeleted} follows. Fails as {@link #claim}. */
    CompletableFuture<Void> delete(Collection<TopicIdPartition> partitions);

    /**
     * Loads these partitions and follows them, until {@link #unfollow}: the listener gets one
     * {@link Listener#onLoaded} for each, then {@link Listener#onEvents} without gaps; after a gap that can't be closed,
     * onLoaded again. One that is followed already is loaded again.
     */
    void follow(Collection<TopicIdPartition> partitions);

    void unfollow(Collection<TopicIdPartition> partitions);

    /** Cheap; from any thread. */
    Status status();

    /** Ends all; what is pending fails. Nothing is called after it returns. */
    @Override
    void close();

    /**
     * What the store is busy with and how it gets on, for metrics.
     *
     * @param isReachable a member that knows a leader answered within the last seconds, or nothing failed since one did
     * @param currentAtNanos System.nanoTime() at which the member that is followed last proved to have all that was
     *     acknowledged anywhere, which it does every few seconds; 0: never yet
     * @param appended events that were stored
     * @param refused events that were answered with an error
     * @param expired events that got no answer in time, or no place
     * @param pending events that wait for an answer
     * @param retries requests that were sent again
     * @param reconnects streams that ended and were opened again
     * @param loads partitions that were loaded
     * @param followed partitions that are followed or loaded
     * @param lastError why an attempt failed last, in one sentence; empty: none did
     */
    record Status(
            boolean isReachable,
            long currentAtNanos,
            long appended,
            long refused,
            long expired,
            long pending,
            long retries,
            long reconnects,
            long loads,
            long followed,
            String lastError) {}

    /**
     * A token, or the error and whether it is worth trying again.
     *
     * @param nextEventId of the partition when the token was given out: earlier writers' events are all below
     */
    record ClaimResult(long fencingToken, long nextEventId, String error, boolean isRetriable) {
        public boolean isGranted() {
            return error.isEmpty();
        }
    }

    /** Called on one thread at a time; must not block. */
    interface Listener {
        /**
         * @param live segments that are not deleted, each with its newest state, none left out
         * @param goneHighestOffsets by leader epoch, of finished copies that are gone
         * @param nextEventId events from here on come through onEvents
         */
        void onLoaded(
                TopicIdPartition partition,
                List<SegmentEvent> live,
                Map<Integer, Long> goneHighestOffsets,
                long nextEventId);

        /** Events {@code firstEventId ...} in order; none twice. */
        void onEvents(TopicIdPartition partition, long firstEventId, List<SegmentEvent> events);

        /** The partition is deleted in Guardian; nothing more comes. */
        void onDeleted(TopicIdPartition partition);
    }
}

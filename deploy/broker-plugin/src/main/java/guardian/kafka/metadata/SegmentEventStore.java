package guardian.kafka.metadata;

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
interface SegmentEventStore extends AutoCloseable {
    /**
     * Appends one event. Many may be under way; those of one partition keep their order.
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

    /**
     * Loads these partitions and follows them, until {@link #unfollow}: the listener gets one
     * {@link Listener#onLoaded} for each, then {@link Listener#onEvents} without gaps; after a gap that can't be closed,
     * onLoaded again.
     */
    void follow(Collection<TopicIdPartition> partitions);

    void unfollow(Collection<TopicIdPartition> partitions);

    @Override
    void close();

    /** A token, or the error and whether it is worth trying again. */
    record ClaimResult(long fencingToken, String error, boolean isRetriable) {
        boolean isGranted() {
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

package guardian.kafka.metadata;

import guardian.kafka.metadata.segments.PartitionCache;
import guardian.v1.SegmentEvent;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.apache.kafka.common.TopicIdPartition;

/**
 * What this broker has heard of one partition's segments: the cache, how far in the stored events it is, and the writes
 * that are done when it is further. Guarded by the partition's monitor; look-ups in the cache need none.
 */
final class CacheFeed {
    private final TopicIdPartition partition;
    private final UnseenWrites unseen = new UnseenWrites();
    private PartitionCache cache;
    private boolean isLoaded;
    private long nextEventId;

    CacheFeed(TopicIdPartition partition) {
        this.partition = partition;
        this.cache = new PartitionCache(partition);
    }

    /** Null until it is loaded. */
    PartitionCache loadedCache() {
        return isLoaded ? cache : null;
    }

    /** The cache has all events before this one. */
    long nextEventId() {
        return nextEventId;
    }

    /** Whether the cache is loaded and has all events before this one. */
    boolean hasAllBefore(long eventId) {
        return isLoaded && nextEventId >= eventId;
    }

    /** Begins with what is stored; returns writes that are done now. */
    List<CompletableFuture<Void>> load(List<SegmentEvent> live, Map<Integer, Long> goneHighestOffsets, long next) {
        cache.load(live, goneHighestOffsets);
        unseen.earlyFrom(next).forEach(cache::apply);
        isLoaded = true;
        nextEventId = next;
        return unseen.seen(next);
    }

    /** Applies what is stored, in order, but for what came early; returns writes that are done now. */
    List<CompletableFuture<Void>> apply(long firstEventId, List<SegmentEvent> events) {
        for (SegmentEvent event : events) {
            if (!unseen.takeEarly(event)) {
                cache.apply(event);
            }
        }
        nextEventId = firstEventId + events.size();
        return unseen.seen(nextEventId);
    }

    /** Applies what is stored before it comes. */
    void applyEarly(long nextEventId, SegmentEvent event) {
        unseen.putEarly(nextEventId, event);
        cache.apply(event);
    }

    /** The write is done when the cache has all events before this one. */
    void await(long nextEventId, CompletableFuture<Void> write, long deadlineNanos) {
        unseen.await(nextEventId, write, deadlineNanos);
    }

    /** Writes that were not seen in time. */
    List<CompletableFuture<Void>> takeOverdue(long nowNanos) {
        return unseen.takeOverdue(nowNanos);
    }

    /** Forgets all; returns the writes that waited: there is no cache any more to be seen in. */
    List<CompletableFuture<Void>> drop() {
        cache = new PartitionCache(partition);
        isLoaded = false;
        nextEventId = 0;
        return unseen.clear();
    }
}

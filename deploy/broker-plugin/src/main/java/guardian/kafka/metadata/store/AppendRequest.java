package guardian.kafka.metadata.store;

import guardian.v1.AppendSegmentEventsRequest;
import guardian.v1.PartitionEvents;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;

/**
 * Events that are sent together, and the number under which the session knows them.
 *
 * <p>What is sent again is the same to the byte: Guardian may answer it with what it answered the first time.
 */
final class AppendRequest {
    private final List<Part> parts = new ArrayList<>();
    private final AppendSegmentEventsRequest.Builder builder = AppendSegmentEventsRequest.newBuilder();
    long sequence; // 0: none of the present session yet
    long sentAtNanos;

    /** Events of one partition and one token, which are stored together or not at all. */
    record Part(AppendQueue.Line line, List<PendingAppend> events) {}

    void add(AppendQueue.Line line, List<PendingAppend> events) {
        PartitionEvents.Builder part = PartitionEvents.newBuilder()
                .setPartition(line.name())
                .setFencingToken(events.get(0).token);
        events.forEach(pending -> part.addEvents(pending.event));
        builder.addPartitions(part);
        parts.add(new Part(line, events));
    }

    List<Part> parts() {
        return parts;
    }

    AppendSegmentEventsRequest message() {
        return builder.build();
    }

    /** Whether nobody waits for the answer any longer. */
    boolean isSettled() {
        return parts.stream().allMatch(part -> part.events.stream().allMatch(PendingAppend::isSettled));
    }

    void expire(Predicate<PendingAppend> isDue, StoreUnavailableException why) {
        for (Part part : parts) {
            part.events.stream().filter(isDue).forEach(pending -> pending.expire(why));
        }
    }
}

package guardian.kafka.metadata.segments;

import guardian.v1.SegmentEvent;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentState;

/**
 * PartitionCache's rules, written to be obviously right: Kafka's own objects in a map, and every answer by looking at
 * all.
 */
final class ReferenceCache {
    private static final Comparator<RemoteLogSegmentMetadata> BY_ID = Comparator.comparingLong(
                    (RemoteLogSegmentMetadata one) -> one.remoteLogSegmentId().id().getMostSignificantBits())
            .thenComparingLong(one -> one.remoteLogSegmentId().id().getLeastSignificantBits());
    private static final Comparator<RemoteLogSegmentMetadata> DELETIONS_FIRST =
            Comparator.comparing(one -> one.state() != RemoteLogSegmentState.DELETE_SEGMENT_STARTED);
    private static final Comparator<RemoteLogSegmentMetadata> BY_START_OFFSET = Comparator.comparingLong(
                    RemoteLogSegmentMetadata::startOffset)
            .thenComparing(DELETIONS_FIRST)
            .thenComparing(BY_ID);

    private final TopicIdPartition partition;
    private final Map<Uuid, RemoteLogSegmentMetadata> live = new TreeMap<>();
    private final Map<Integer, Long> highest = new TreeMap<>();
    private long ignored;

    ReferenceCache(TopicIdPartition partition) {
        this.partition = partition;
    }

    void load(List<SegmentEvent> events, Map<Integer, Long> goneHighestOffsets) {
        live.clear();
        highest.clear();
        highest.putAll(goneHighestOffsets);
        events.forEach(event -> put(SegmentEvents.metadata(partition, event)));
    }

    void apply(SegmentEvent event) {
        try {
            RemoteLogSegmentState state = SegmentEvents.state(event.getState());
            RemoteLogSegmentMetadata before = live.get(SegmentEvents.uuid(event.getSegmentId()));
            if (before == null && state == RemoteLogSegmentState.COPY_SEGMENT_STARTED) {
                put(SegmentEvents.metadata(partition, event));
            } else if (before == null || !RemoteLogSegmentState.isValidTransition(before.state(), state)) {
                ignored++;
            } else if (before.state() != state) {
                SegmentEvent.Builder changed = SegmentEvents.of(before).toBuilder()
                        .setState(event.getState())
                        .setBrokerId(event.getBrokerId())
                        .setEventTimestampMs(event.getEventTimestampMs());
                if (!event.getCustomMetadata().isEmpty()) {
                    changed.setCustomMetadata(event.getCustomMetadata());
                }
                put(SegmentEvents.metadata(partition, changed.build()));
            }
        } catch (IllegalArgumentException malformed) {
            ignored++;
        }
    }

    private void put(RemoteLogSegmentMetadata now) {
        live.put(now.remoteLogSegmentId().id(), now);
        if (now.state() == RemoteLogSegmentState.DELETE_SEGMENT_FINISHED) {
            live.remove(now.remoteLogSegmentId().id());
        }
        if (now.state() == RemoteLogSegmentState.COPY_SEGMENT_FINISHED) {
            now.segmentLeaderEpochs().keySet().forEach(epoch -> highest.merge(epoch, end(now, epoch), Math::max));
        }
    }

    Optional<RemoteLogSegmentMetadata> segment(int epoch, long offset) {
        List<RemoteLogSegmentMetadata> finished = of(epoch)
                .filter(one -> one.state() == RemoteLogSegmentState.COPY_SEGMENT_FINISHED)
                .toList();
        return finished.stream()
                .filter(one -> finished.stream().noneMatch(other -> covers(other, one, epoch)))
                .filter(one -> start(one, epoch) <= offset)
                .max(Comparator.comparingLong(one -> start(one, epoch)))
                .filter(one -> end(one, epoch) >= offset);
    }

    /** Whether any finished copy has the offset, whichever it is. */
    boolean has(int epoch, long offset) {
        return of(epoch)
                .filter(one -> one.state() == RemoteLogSegmentState.COPY_SEGMENT_FINISHED)
                .anyMatch(one -> start(one, epoch) <= offset && offset <= end(one, epoch));
    }

    Optional<RemoteLogSegmentMetadata> nextSegmentWithTxnIndex(int epoch, long offset) {
        Optional<RemoteLogSegmentMetadata> found = segment(epoch, offset);
        while (found.isPresent() && found.get().isTxnIdxEmpty()) {
            found = segment(epoch, found.get().endOffset() + 1);
        }
        return found;
    }

    Optional<Long> highestOffset(int epoch) {
        return Optional.ofNullable(highest.get(epoch));
    }

    List<RemoteLogSegmentMetadata> segments() {
        return live.values().stream().sorted(BY_START_OFFSET).toList();
    }

    List<RemoteLogSegmentMetadata> segments(int epoch) {
        return of(epoch).sorted(BY_START_OFFSET).toList();
    }

    List<RemoteLogSegmentMetadata> segmentsForExpiry(int epoch) {
        return of(epoch).sorted(DELETIONS_FIRST.thenComparing(BY_START_OFFSET)).toList();
    }

    long size(int epoch) {
        return of(epoch).mapToLong(RemoteLogSegmentMetadata::segmentSizeInBytes).sum();
    }

    int count() {
        return live.size();
    }

    long ignoredEvents() {
        return ignored;
    }

    /** What the store would send of it. */
    List<SegmentEvent> liveEvents() {
        return new ArrayList<>(live.values().stream().map(SegmentEvents::of).toList());
    }

    /** What the store knows about copies whose deletion has begun; for epochs where others tell more, that. */
    Map<Integer, Long> highestOffsets() {
        return new TreeMap<>(highest);
    }

    private Stream<RemoteLogSegmentMetadata> of(int epoch) {
        return live.values().stream().filter(one -> one.segmentLeaderEpochs().containsKey(epoch));
    }

    private static boolean covers(RemoteLogSegmentMetadata one, RemoteLogSegmentMetadata other, int epoch) {
        long startsEarlier = start(other, epoch) - start(one, epoch);
        long endsLater = end(one, epoch) - end(other, epoch);
        if (startsEarlier == 0 && endsLater == 0) {
            long newer = one.eventTimestampMs() - other.eventTimestampMs();
            return newer > 0 || newer == 0 && BY_ID.compare(one, other) > 0;
        }
        return startsEarlier >= 0 && endsLater >= 0;
    }

    private static long start(RemoteLogSegmentMetadata one, int epoch) {
        return one.segmentLeaderEpochs().get(epoch);
    }

    private static long end(RemoteLogSegmentMetadata one, int epoch) {
        Map.Entry<Integer, Long> next = one.segmentLeaderEpochs().higherEntry(epoch);
        return next == null ? one.endOffset() : Math.min(one.endOffset(), next.getValue() - 1);
    }
}

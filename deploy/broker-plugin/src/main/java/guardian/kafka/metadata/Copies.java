package guardian.kafka.metadata;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;

/**
 * The copies of one partition that this instance has started, and the orphans: copies that nobody can finish any more.
 *
 * <p>A copy belongs to the leadership under which it was started. Later ones give it up, as they do with copies of other
 * brokers; and the same one gives it up when Kafka has copied the same offsets again, under a new id. Guarded by the
 * partition's monitor.
 */
final class Copies {
    private record Copy(Leadership leadership, long startOffset, long endOffset, long bytes, long startedAtNanos) {
        boolean covers(Copy other) {
            return leadership == other.leadership && startOffset <= other.startOffset && other.endOffset <= endOffset;
        }
    }

    /** A copy that can't be finished any more. */
    record Orphan(Uuid segment, long bytes) {}

    private final Map<Uuid, Copy> started = new HashMap<>();
    private final Map<Uuid, Orphan> orphans = new HashMap<>();

    void start(RemoteLogSegmentMetadata segment, Leadership under, long nowNanos) {
        started.put(
                segment.remoteLogSegmentId().id(),
                new Copy(under, segment.startOffset(), segment.endOffset(), segment.segmentSizeInBytes(), nowNanos));
    }

    /** It is refused, deleted, or not this instance's. */
    void forget(Uuid segment) {
        started.remove(segment);
    }

    /** Empty when this instance did not start it, or has given it up. */
    Optional<Leadership> leadershipOf(Uuid segment) {
        return Optional.ofNullable(started.get(segment)).map(Copy::leadership);
    }

    /** The copy is finished; returns the copies of the same offsets that were given up for it. */
    List<Orphan> finish(Uuid segment) {
        Copy done = started.remove(segment);
        if (done == null) {
            return List.of();
        }
        return adopt(started.entrySet().stream()
                .filter(each -> done.covers(each.getValue()))
                .map(each -> new Orphan(each.getKey(), each.getValue().bytes()))
                .toList());
    }

    /** Of copies that are not finished: those that the leadership did not start, and that are not given up already. */
    List<Orphan> giveUpOthers(Collection<RemoteLogSegmentMetadata> unfinished, Leadership leadership) {
        return adopt(unfinished.stream()
                .map(each -> new Orphan(each.remoteLogSegmentId().id(), each.segmentSizeInBytes()))
                .filter(each -> leadershipOf(each.segment()).orElse(null) != leadership)
                .filter(each -> !orphans.containsKey(each.segment()))
                .toList());
    }

    void noOrphan(Uuid segment) {
        orphans.remove(segment);
    }

    boolean isEmpty() {
        return started.isEmpty() && orphans.isEmpty();
    }

    /** The segment is deleted, whoever started it; returns the orphan that it was. */
    Optional<Orphan> gone(Uuid segment) {
        started.remove(segment);
        return Optional.ofNullable(orphans.remove(segment));
    }

    /** Only these are not deleted; returns the orphans that are. */
    List<Orphan> goneExcept(Set<Uuid> there) {
        List<Orphan> gone = new ArrayList<>();
        orphans.values().removeIf(each -> !there.contains(each.segment()) && gone.add(each));
        return gone;
    }

    void clear() {
        started.clear();
        orphans.clear();
    }

    long underWay(Leadership leadership) {
        return of(leadership).count();
    }

    /** Since when the longest copy goes on; empty: none does. */
    Optional<Long> oldestNanos(Leadership leadership) {
        return of(leadership).map(Copy::startedAtNanos).min(Comparator.naturalOrder());
    }

    private Stream<Copy> of(Leadership leadership) {
        return started.values().stream().filter(each -> each.leadership() == leadership);
    }

    private List<Orphan> adopt(List<Orphan> found) {
        for (Orphan orphan : found) {
            started.remove(orphan.segment());
            orphans.put(orphan.segment(), orphan);
        }
        return found;
    }
}

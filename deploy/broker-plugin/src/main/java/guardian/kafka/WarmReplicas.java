package guardian.kafka;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.replica.ReplicaView;

/**
 * Who has been a replica long enough to be read from, as this leader has seen it: those that were there when it saw the
 * partition for the first time, and those that it has known since the warm-up time.
 *
 * <p>A replica that is away, as while its broker restarts, stays known; one that was missed for longer than the warm-up
 * time is new again when it comes back. Memory is bounded: beyond {@code maxPartitions}, those that nobody has read from for
 * an hour make room, and while there is none only the leader of a further partition is read from. Safe for many threads.
 */
final class WarmReplicas {
    static final int MAX_PARTITIONS = 65_536;
    static final long IDLE_MS = 3_600_000;

    private final long warmUpMs;
    private final int maxPartitions;
    private final Map<TopicPartition, Sightings> sightings = new ConcurrentHashMap<>();

    WarmReplicas(long warmUpMs, int maxPartitions) {
        this.warmUpMs = warmUpMs;
        this.maxPartitions = maxPartitions;
    }

    /** The warm ones of the replicas, which are noted as seen now. The leader is always warm. */
    List<ReplicaView> among(
            TopicPartition partition, Collection<ReplicaView> replicas, ReplicaView leader, long nowMs) {
        Sightings known = sightings.get(partition);
        if (known == null) {
            if (!hasRoom(nowMs)) {
                return List.of(leader);
            }
            known = sightings.computeIfAbsent(partition, name -> new Sightings(replicas, nowMs - warmUpMs, nowMs));
        }
        return known.warm(replicas, leader, nowMs, warmUpMs);
    }

    int partitions() {
        return sightings.size();
    }

    private boolean hasRoom(long nowMs) {
        if (sightings.size() >= maxPartitions) {
            sightings.values().removeIf(seen -> seen.isIdle(nowMs));
        }
        return sightings.size() < maxPartitions;
    }

    /** Of one partition: since when each broker is a replica, and since when it is missed. */
    private static final class Sightings {
        private final Map<Integer, Span> spans = new HashMap<>();
        private long lastLookMs;

        Sightings(Collection<ReplicaView> replicas, long sinceMs, long nowMs) {
            replicas.forEach(replica -> spans.put(replica.endpoint().id(), new Span(sinceMs)));
            lastLookMs = nowMs;
        }

        synchronized List<ReplicaView> warm(
                Collection<ReplicaView> replicas, ReplicaView leader, long nowMs, long warmUpMs) {
            List<ReplicaView> warm = new ArrayList<>(replicas.size());
            for (ReplicaView replica : replicas) {
                Span span = spans.computeIfAbsent(replica.endpoint().id(), id -> new Span(nowMs));
                span.isHere = true;
                if (nowMs - span.sinceMs >= warmUpMs || replica.endpoint().id() == leader.endpoint().id()) {
                    warm.add(replica);
                }
            }
            lastLookMs = nowMs;
            spans.values().removeIf(span -> span.missedForMs(nowMs) > warmUpMs);
            return warm;
        }

        synchronized boolean isIdle(long nowMs) {
            return nowMs - lastLookMs > IDLE_MS;
        }
    }

    private static final class Span {
        private final long sinceMs;
        private boolean isHere;
        private boolean isMissed;
        private long missedSinceMs;

        Span(long sinceMs) {
            this.sinceMs = sinceMs;
        }

        /** From the first look at which it was not there: hours in which nobody looks make nobody new. */
        long missedForMs(long nowMs) {
            if (isHere || !isMissed) {
                missedSinceMs = nowMs;
            }
            isMissed = !isHere;
            isHere = false;
            return isMissed ? nowMs - missedSinceMs : 0;
        }
    }
}

package guardian.kafka.metadata.store;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/**
 * Which member to ask: the leader for changes, all in turn for reads, those that failed of late last.
 *
 * <p>Pure: the clock comes in as {@code now}, in nanoseconds. Endpoints that were given are never forgotten.
 */
final class Members {
    static final long FIRST_PENALTY_NANOS = TimeUnit.MILLISECONDS.toNanos(500);
    static final long MAX_PENALTY_NANOS = TimeUnit.SECONDS.toNanos(10);

    private static final Standing GOOD = new Standing(0, 0);

    private final List<String> given;
    private Map<String, Standing> standings = new LinkedHashMap<>();
    private String leader = "";
    private int turn;

    private record Standing(int failures, long shunnedUntil) {
        boolean isShunned(long now) {
            return failures > 0 && shunnedUntil - now > 0;
        }
    }

    /**
     * @param turn says whose turn it is first, so that many brokers do not all begin with the same member
     */
    Members(Collection<String> given, int turn) {
        this.given = List.copyOf(new LinkedHashSet<>(given));
        this.turn = turn;
        this.given.forEach(endpoint -> standings.put(endpoint, GOOD));
    }

    /** All that are known, those that were given first. */
    List<String> endpoints() {
        return List.copyOf(standings.keySet());
    }

    /**
     * What a member said of the group; {@code leader} is empty when it knows none. A name that no channel can be made to is
     * passed over: members know each other by names of their own, and pass changes on.
     */
    void learn(Collection<String> endpoints, String leader) {
        Set<String> known = new LinkedHashSet<>(given);
        endpoints.stream().filter(Endpoints::isUsable).forEach(known::add);
        boolean isLeaderUsable = Endpoints.isUsable(leader);
        if (isLeaderUsable) {
            known.add(leader);
        }
        Map<String, Standing> kept = new LinkedHashMap<>();
        known.forEach(endpoint -> kept.put(endpoint, standings.getOrDefault(endpoint, GOOD)));
        standings = kept;
        this.leader = isLeaderUsable ? leader : "";
    }

    /** Asked last for a while, twice as long each time. */
    void failed(String endpoint, long now) {
        if (endpoint.equals(leader)) {
            leader = "";
        }
        standings.computeIfPresent(endpoint, (name, standing) -> {
            long penalty = FIRST_PENALTY_NANOS << Math.min(standing.failures, 10);
            return new Standing(standing.failures + 1, now + Math.min(penalty, MAX_PENALTY_NANOS));
        });
    }

    void answered(String endpoint) {
        standings.computeIfPresent(endpoint, (name, standing) -> GOOD);
    }

    /** The leader, which saves the way through another member; any other one passes a change on. */
    String forChange(long now) {
        return isLeaderKnown(now) ? leader : forRead(now);
    }

    /** Whether changes that go to this member had better go to another one. */
    boolean isLeaderElsewhere(String endpoint, long now) {
        return isLeaderKnown(now) && !leader.equals(endpoint);
    }

    /** The next member in turn that did not fail of late; if all did, the one that is shunned for the shortest time. */
    String forRead(long now) {
        List<String> inTurn = new ArrayList<>(standings.keySet());
        Collections.rotate(inTurn, -(turn++ & Integer.MAX_VALUE) % inTurn.size());
        return inTurn.stream()
                .min(Comparator.comparingLong(endpoint -> shunnedFor(endpoint, now)))
                .orElseThrow();
    }

    private boolean isLeaderKnown(long now) {
        return !leader.isEmpty() && shunnedFor(leader, now) == 0;
    }

    private long shunnedFor(String endpoint, long now) {
        Standing standing = standings.get(endpoint);
        return standing.isShunned(now) ? standing.shunnedUntil - now : 0;
    }
}

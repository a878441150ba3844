package guardian.kafka.metadata.store;

import guardian.v1.GetRaftStatusRequest;
import guardian.v1.RaftGrpc;
import guardian.v1.RaftMember;
import guardian.v1.RaftStatus;
import io.grpc.Channel;
import io.grpc.Status;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.ThreadLocalRandom;

/**
 * Knows which member leads, by asking all of them at once every now and then, and soon after one has failed.
 *
 * <p>The first answer that names a leader is believed: a wrong one costs a detour, since members pass changes on.
 */
final class LeaderFinder implements AutoCloseable {
    static final Duration UNREACHABLE_AFTER = Duration.ofSeconds(5);

    private static final Duration LEARN_EVERY = Duration.ofSeconds(30);
    private static final Duration LEARN_AGAIN = Duration.ofMillis(500);
    private static final int PROBE_MS = 1_000;

    private final Connections connections;
    private final Members members;
    private final Counters counters;
    private Round round = new Round(0);
    private long learnAt = System.nanoTime();
    private volatile long failingSince; // 0: nothing failed since a member answered

    LeaderFinder(Connections connections, List<String> given, Counters counters) {
        this.connections = connections;
        this.counters = counters;
        members = new Members(given, ThreadLocalRandom.current().nextInt(1 << 16));
    }

    /** Where changes go: to the leader, or to another member while there is none. */
    String leader() {
        return members.forChange(System.nanoTime());
    }

    /** Where reads go. */
    String anyMember() {
        return members.forRead(System.nanoTime());
    }

    boolean isLeaderElsewhere(String endpoint) {
        return members.isLeaderElsewhere(endpoint, System.nanoTime());
    }

    Channel channel(String endpoint) {
        return connections.to(endpoint);
    }

    void answered(String endpoint) {
        failingSince = 0;
        members.answered(endpoint);
    }

    /** The member did not answer, or not as it should: others come first for a while. */
    void failed(String endpoint, Status why) {
        long now = System.nanoTime();
        members.failed(endpoint, now);
        noteFailure(endpoint + ": " + sentence(why), now);
        learnAt = Math.min(learnAt, now);
        tick(now);
    }

    /** From any thread. */
    boolean isReachable() {
        long since = failingSince;
        return since == 0 || System.nanoTime() - since < UNREACHABLE_AFTER.toNanos();
    }

    String endpoints() {
        return String.join(", ", members.endpoints());
    }

    void tick(long now) {
        if (now - learnAt < 0 || round.waiting > 0) {
            return;
        }
        learnAt = now + LEARN_EVERY.toNanos();
        List<String> endpoints = members.endpoints();
        round = new Round(endpoints.size());
        endpoints.forEach(this::probe);
    }

    @Override
    public void close() {
        connections.close();
    }

    static String sentence(Status status) {
        String details = status.getDescription() == null ? "" : ": " + status.getDescription();
        Throwable cause = status.getCause();
        return status.getCode() + details + (cause == null ? "" : " (" + cause.getMessage() + ")");
    }

    private void probe(String endpoint) {
        Round asked = round;
        RaftGrpc.newStub(connections.to(endpoint))
                .withDeadlineAfter(PROBE_MS, TimeUnit.MILLISECONDS)
                .getRaftStatus(
                        GetRaftStatusRequest.getDefaultInstance(),
                        new OneReply<>(status -> asked.take(status), why -> asked.miss(endpoint, why)));
    }

    private void noteFailure(String sentence, long now) {
        counters.lastError = sentence;
        if (failingSince == 0) {
            failingSince = now == 0 ? 1 : now;
        }
    }

    /** All members, asked at once. */
    private final class Round {
        private int waiting;
        private boolean isLeaderFound;

        Round(int waiting) {
            this.waiting = waiting;
        }

        void take(RaftStatus status) {
            waiting--;
            if (!isLeaderFound && !status.getLeaderEndpoint().isEmpty()) {
                isLeaderFound = true;
                failingSince = 0;
                members.learn(voters(status), status.getLeaderEndpoint());
            }
            end();
        }

        void miss(String endpoint, Status why) {
            waiting--;
            if (!isLeaderFound) {
                noteFailure(endpoint + ": " + sentence(why), System.nanoTime());
            }
            end();
        }

        private void end() {
            if (waiting == 0 && !isLeaderFound) {
                learnAt = System.nanoTime() + LEARN_AGAIN.toNanos();
                noteFailure("no member knows a leader", System.nanoTime());
            }
        }

        private static List<String> voters(RaftStatus status) {
            return status.getMembersList().stream()
                    .filter(member -> member.getIsVoter() && !member.getEndpoint().isEmpty())
                    .map(RaftMember::getEndpoint)
                    .toList();
        }
    }
}

package guardian.kafka.metadata;

import guardian.kafka.metadata.store.SegmentEventStore;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.common.TopicIdPartition;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Gets this broker's tokens, for all partitions of a change of leadership in one call.
 *
 * <p>What can't be verified yet, or not asked, is tried again, ever more slowly, as long as Kafka names no other leader. What
 * is refused is left until Kafka says something new.
 */
final class PartitionClaims {
    private static final Logger LOG = LoggerFactory.getLogger(PartitionClaims.class);
    private static final long FIRST_RETRY_MS = 200;
    private static final long LAST_RETRY_MS = 20_000;
    private static final int DOUBLINGS = 7;

    /** Told when a partition has got its token. */
    interface Granted {
        void granted(ManagedPartition partition);
    }

    private final SegmentEventStore store;
    private final Background background;
    private final Granted granted;
    private volatile String lastComplaint = "";

    PartitionClaims(SegmentEventStore store, Background background, Granted granted) {
        this.store = store;
        this.background = background;
        this.granted = granted;
    }

    /** Claims these; each one's leadership counts the claim already. */
    void claim(Map<ManagedPartition, Leadership> wanted) {
        claim(wanted, 0);
    }

    private void claim(Map<ManagedPartition, Leadership> wanted, int attempt) {
        if (wanted.isEmpty()) {
            return;
        }
        List<TopicIdPartition> partitions = wanted.keySet().stream().map(ManagedPartition::id).toList();
        store.claim(partitions).whenComplete((results, failure) -> answered(wanted, attempt, results, failure));
    }

    private void answered(
            Map<ManagedPartition, Leadership> wanted,
            int attempt,
            Map<TopicIdPartition, SegmentEventStore.ClaimResult> results,
            Throwable failure) {
        Map<ManagedPartition, Leadership> again = new LinkedHashMap<>();
        List<ManagedPartition> successes = new ArrayList<>();
        wanted.forEach((partition, leadership) -> {
            SegmentEventStore.ClaimResult result = failure == null
                    ? results.getOrDefault(partition.id(), noAnswer("Guardian's answer lacks the partition"))
                    : noAnswer(Failures.cause(failure).getMessage());
            partition.claimed(leadership, result).forEach(Runnable::run);
            if (result.isGranted()) {
                successes.add(partition);
            } else {
                complain(partition, result);
                if (result.isRetriable()) {
                    again.put(partition, leadership);
                }
            }
        });
        LOG.debug("claimed {} partitions: {} granted, {} to be tried again", wanted.size(), successes.size(), again.size());
        successes.forEach(granted::granted);
        claimLater(again, attempt + 1);
    }

    private void claimLater(Map<ManagedPartition, Leadership> wanted, int attempt) {
        if (wanted.isEmpty()) {
            return;
        }
        long delayMs = Math.min(LAST_RETRY_MS, FIRST_RETRY_MS << Math.min(attempt - 1, DOUBLINGS));
        background.schedule(delayMs, TimeUnit.MILLISECONDS, () -> {
            Map<ManagedPartition, Leadership> still = new LinkedHashMap<>();
            wanted.forEach((partition, leadership) -> {
                if (partition.claimAgain(leadership)) {
                    still.put(partition, leadership);
                }
            });
            claim(still, attempt);
        });
    }

    /** Once for each new reason, however many partitions have it: names of partitions begin the sentence. */
    private void complain(ManagedPartition partition, SegmentEventStore.ClaimResult result) {
        if (!result.error().equals(lastComplaint)) {
            lastComplaint = result.error();
            LOG.warn("{} has no fencing token{}: {}", partition.id(), result.isRetriable() ? " yet" : "", result.error());
        }
    }

    private static SegmentEventStore.ClaimResult noAnswer(String why) {
        return new SegmentEventStore.ClaimResult(0, 0, why == null ? "no answer" : why, true);
    }
}

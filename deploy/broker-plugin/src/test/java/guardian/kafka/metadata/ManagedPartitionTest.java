package guardian.kafka.metadata;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import guardian.kafka.metadata.segments.SegmentEvents;
import guardian.kafka.metadata.store.FencedWriterException;
import guardian.kafka.metadata.store.SegmentEventStore;
import guardian.v1.SegmentEvent;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentId;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteStorageException;
import org.junit.jupiter.api.Test;

/** What the manager's own tests can't bring about in a certain order. */
class ManagedPartitionTest {
    private static final TopicIdPartition ID = new TopicIdPartition(Uuid.randomUuid(), new TopicPartition("orders", 0));
    private static final Uuid SEGMENT = Uuid.randomUuid();

    private final ManagedPartition partition = new ManagedPartition(ID);

    private ManagedPartition.Permit lead(long token) {
        Leadership leadership = partition.lead().orElseThrow();
        partition.claimed(leadership, new SegmentEventStore.ClaimResult(token, 0, "", false));
        return partition.permitOf(leadership);
    }

    private void load() {
        partition.loaded(List.of(), Map.of(), 0, new ArrayList<>());
    }

    private void start(ManagedPartition.Permit permit) {
        partition.started(
                new RemoteLogSegmentMetadata(new RemoteLogSegmentId(ID, SEGMENT), 0, 99, 1, 1, 1, 100, Map.of(0, 0L)), permit);
    }

    @Test
    void aCopyIsFinishedWithTheTokenOfItsLeadershipEvenBeforeItIsSwept() throws Exception {
        ManagedPartition.Permit first = lead(1);
        load();
        start(first);
        assertEquals(1, partition.finishing(SEGMENT, first).token());
        partition.followOnly();
        assertEquals(1, partition.finishing(SEGMENT, first).token());
        ManagedPartition.Permit second = lead(3);
        RemoteStorageException refused =
                assertThrows(RemoteStorageException.class, () -> partition.finishing(SEGMENT, second));
        assertTrue(refused.getMessage().contains(SEGMENT.toString()), refused.getMessage());
    }

    @Test
    void aCopyOfALostLeadershipIsForgottenOnceItsSegmentIsDeletedByWhoeverLeadsNow() throws Exception {
        ManagedPartition.Permit first = lead(1);
        load();
        start(first);
        partition.followOnly();
        SegmentEvent deleted = SegmentEvent.newBuilder()
                .setSegmentId(SegmentEvents.bytes(SEGMENT))
                .setState(guardian.v1.RemoteLogSegmentState.DELETE_SEGMENT_FINISHED)
                .build();
        partition.apply(0, List.of(deleted), new ArrayList<>());
        assertThrows(RemoteStorageException.class, () -> partition.finishing(SEGMENT, first));
    }

    @Test
    void aStaleAnswerToAClaimGivesNoToken() {
        Leadership earlier = partition.lead().orElseThrow();
        partition.followOnly();
        Leadership later = partition.lead().orElseThrow();
        load();
        partition.claimed(earlier, new SegmentEventStore.ClaimResult(1, 0, "", false));
        assertFalse(partition.isReady());
        partition.claimed(later, new SegmentEventStore.ClaimResult(2, 0, "", false));
        assertTrue(partition.isReady());
    }

    @Test
    void aClaimThatSucceedsAfterTheFenceBeginsANewLeadership() throws Exception {
        ManagedPartition.Permit first = lead(1);
        load();
        start(first);
        FencedWriterException fence = new FencedWriterException(ID, 1, 2, "another writer has claimed the partition");
        partition.fenced(first, fence, () -> {});
        assertFalse(partition.isReady());
        assertTrue(partition.claimAgain(first.leadership()));
        partition.claimed(first.leadership(), new SegmentEventStore.ClaimResult(3, 0, "", false));
        assertTrue(partition.isReady());
        assertThrows(RemoteStorageException.class, () -> partition.finishing(SEGMENT, first));
    }

    @Test
    void aWriteThatNeverComesBackIsOverdue() {
        lead(1);
        load();
        partition.followOnly();
        CompletableFuture<Void> write = new CompletableFuture<>();
        guardian.v1.SegmentEvent deletion = guardian.v1.SegmentEvent.newBuilder()
                .setState(guardian.v1.RemoteLogSegmentState.DELETE_SEGMENT_STARTED)
                .build();
        assertFalse(partition.isSeen(1, deletion, write, 1_000));
        assertEquals(List.of(), partition.takeOverdue(1_000));
        assertEquals(List.of(write), partition.takeOverdue(1_001));
        assertEquals(List.of(), partition.takeOverdue(1_002));
    }

    @Test
    void aPartitionIsForgottenSomeTimeAfterItWasStopped() {
        lead(1);
        assertFalse(partition.isForgettable(Long.MAX_VALUE / 2));
        partition.stop(100);
        assertFalse(partition.isForgettable(100));
        assertTrue(partition.isForgettable(101));
    }
}

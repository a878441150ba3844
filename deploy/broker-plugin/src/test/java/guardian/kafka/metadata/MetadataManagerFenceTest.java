package guardian.kafka.metadata;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import guardian.kafka.metadata.store.SegmentEventStore;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentState;
import org.apache.kafka.server.log.remote.storage.RemoteStorageException;
import org.apache.kafka.server.log.remote.storage.RetriableRemoteStorageException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
class MetadataManagerFenceTest extends ManagerTestBase {
    // Tokens and outages ----------------------------------------------------------------------------------------------

    @Test
    void aWriteWithoutATokenIsThrownBackAsRetriable() {
        Broker leader = impatientBroker(1);
        leader.store.holdClaims();
        leader.lead(ORDERS);
        assertFalse(leader.manager.isReady(ORDERS));
        RetriableRemoteStorageException thrown =
                assertThrows(RetriableRemoteStorageException.class, () -> leader.add(segment(0, 99)));
        assertTrue(thrown.getMessage().contains("fencing token"), thrown.getMessage());
        assertTrue(shared.events(ORDERS).isEmpty());
        assertEquals(1L, leader.metric("WritesPostponed"));
    }

    @Test
    void aWriteWaitsForTheTokenAndGoesOn() throws Exception {
        Broker leader = broker(1);
        leader.store.holdClaims();
        leader.lead(ORDERS);
        CompletableFuture<CompletableFuture<Void>> write = CompletableFuture.supplyAsync(() -> {
            try {
                return leader.add(segment(0, 99));
            } catch (RemoteStorageException e) {
                throw new IllegalStateException(e);
            }
        });
        assertFalse(write.isDone());
        leader.store.release();
        write.get().get();
        assertTrue(leader.manager.isReady(ORDERS));
    }

    @Test
    void allPartitionsOfAChangeAreClaimedInOneCall() {
        Broker leader = broker(1);
        leader.lead(ORDERS, OTHERS);
        assertEquals(1, leader.store.claims());
        assertTrue(leader.manager.isReady(ORDERS));
        assertTrue(leader.manager.isReady(OTHERS));
    }

    @Test
    void aClaimThatCouldNotBeVerifiedIsMadeAgain() throws Exception {
        Broker leader = broker(1);
        leader.store.answerClaims(new SegmentEventStore.ClaimResult(0, 0, "no other broker says so yet", true));
        leader.lead(ORDERS);
        assertFalse(leader.manager.isReady(ORDERS));
        leader.store.answerClaims(null);
        eventually(() -> leader.manager.isReady(ORDERS));
    }

    @Test
    void aClaimThatWasRefusedIsNotMadeAgainUntilKafkaSpeaks() throws Exception {
        Broker leader = impatientBroker(1);
        leader.store.answerClaims(new SegmentEventStore.ClaimResult(0, 0, "epoch 3 does not come after epoch 4", false));
        leader.lead(ORDERS);
        RetriableRemoteStorageException thrown =
                assertThrows(RetriableRemoteStorageException.class, () -> leader.add(segment(0, 99)));
        assertTrue(thrown.getMessage().contains("epoch 3 does not come after epoch 4"), thrown.getMessage());
        assertEquals(1, leader.store.claims());
        leader.store.answerClaims(null);
        leader.lead(ORDERS);
        leader.copy(segment(0, 99));
    }

    @Test
    void inAnOutageWritesAreThrownBackAtOnceAndLookUpsGoOn() throws Exception {
        Broker leader = broker(1);
        leader.lead(ORDERS);
        leader.copy(segment(0, 99));
        leader.store.setUnreachable(true);
        assertThrows(RetriableRemoteStorageException.class, () -> leader.add(segment(100, 199)));
        assertTrue(leader.manager.segment(ORDERS, 0, 50).isPresent());
        assertTrue(leader.manager.isReady(ORDERS));
        leader.store.setUnreachable(false);
        leader.copy(segment(100, 199));
    }

    @Test
    void aWriteThatIsUnderWayInAnOutageFailsAsRetriable() throws Exception {
        Broker leader = broker(1);
        leader.lead(ORDERS);
        leader.store.holdAppends();
        CompletableFuture<Void> write = leader.add(segment(0, 99));
        leader.store.setUnreachable(true);
        leader.store.releaseAppends();
        failure(RetriableRemoteStorageException.class, write);
        assertEquals(1L, leader.metric("WritesFailed"));
    }

    @Test
    void anInterruptEndsTheWaitAndStaysSet() throws Exception {
        Broker leader = broker(1);
        leader.store.holdClaims();
        leader.lead(ORDERS);
        CompletableFuture<Boolean> wasInterrupted = new CompletableFuture<>();
        Thread copier = new Thread(() -> {
            try {
                leader.add(segment(0, 99));
            } catch (RemoteStorageException e) {
                wasInterrupted.complete(e instanceof RetriableRemoteStorageException && Thread.currentThread().isInterrupted());
            }
        });
        copier.start();
        copier.interrupt();
        assertTrue(wasInterrupted.get());
    }

    // The fence -------------------------------------------------------------------------------------------------------

    @Test
    void aReplacedLeaderChangesNothingAndIsToldBothTokens() throws Exception {
        Broker stale = broker(1);
        Broker leader = broker(2);
        stale.lead(ORDERS);
        RemoteLogSegmentMetadata half = segment(0, 99);
        stale.add(half).get();
        leader.lead(ORDERS);
        RemoteLogSegmentMetadata good = segment(0, 99);
        leader.copy(good);
        eventually(() -> leader.metric("OrphansFound").equals(1L));
        int stored = shared.events(ORDERS).size();

        RemoteStorageException thrown = refusal(() -> stale.finish(half));
        assertFalse(thrown instanceof RetriableRemoteStorageException);
        assertTrue(thrown.getMessage().contains("token 1") && thrown.getMessage().contains("token 2"), thrown.getMessage());
        assertEquals(stored, shared.events(ORDERS).size());
        assertFalse(stale.manager.isReady(ORDERS));
        assertEquals(1L, stale.metric("PartitionsFenced"));

        // What Kafka does before it deletes anything from the remote storage: announce it. That is refused at once now.
        assertThrows(RemoteStorageException.class, () -> stale.update(good, RemoteLogSegmentState.DELETE_SEGMENT_STARTED));
        assertThrows(RemoteStorageException.class, () -> stale.update(half, RemoteLogSegmentState.DELETE_SEGMENT_STARTED));
        assertThrows(RemoteStorageException.class, () -> stale.add(segment(100, 199)));
        assertEquals(stored, shared.events(ORDERS).size());
        assertEquals(good.remoteLogSegmentId(), stale.manager.segment(ORDERS, 0, 50).orElseThrow().remoteLogSegmentId());
    }

    @Test
    void aFencedLeaderClaimsAgainOnlyWhenKafkaNamesIt() throws Exception {
        Broker broker = broker(1);
        broker.lead(ORDERS);
        broker.add(segment(0, 99)).get();
        shared.claimByAnother(ORDERS);
        refusal(() -> broker.add(segment(100, 199)));
        refusal(() -> broker.add(segment(100, 199)));
        assertEquals(1, broker.store.claims());
        broker.lead(ORDERS);
        broker.copy(segment(100, 199));
        assertEquals(3, shared.token(ORDERS));
    }

    @Test
    void copiesGoOnWhenKafkaNamesTheSameLeaderAgain() throws Exception {
        Broker leader = broker(1);
        leader.lead(ORDERS);
        RemoteLogSegmentMetadata segment = segment(0, 99);
        leader.add(segment).get();
        leader.lead(ORDERS);
        assertEquals(2, shared.token(ORDERS));
        leader.finish(segment).get();
        assertEquals(List.of(RemoteLogSegmentState.COPY_SEGMENT_FINISHED), states(leader));
        assertEquals(0L, leader.metric("OrphansFound"));
    }

    @Test
    void aWriteThatItsOwnClaimOvertakesIsSentAgain() throws Exception {
        Broker leader = broker(1);
        leader.lead(ORDERS);
        leader.store.holdAppends();
        CompletableFuture<Void> write = leader.add(segment(0, 99));
        leader.lead(ORDERS);
        leader.store.releaseAppends();
        write.get();
        assertEquals(List.of(RemoteLogSegmentState.COPY_SEGMENT_STARTED), states(leader));
        assertEquals(0L, leader.metric("PartitionsFenced"));
    }

    @Test
    void aWriteThatIsFencedWhileAClaimIsUnderWayWaitsForIt() throws Exception {
        Broker leader = broker(1);
        leader.lead(ORDERS);
        shared.claimByAnother(ORDERS);
        leader.store.holdClaims();
        leader.lead(ORDERS);
        CompletableFuture<Void> write = leader.add(segment(0, 99));
        assertFalse(write.isDone());
        leader.store.releaseClaims();
        write.get();
    }

    @Test
    void aCopyOfAnEarlierLeadershipCanNotBeFinishedByTheSameBroker() throws Exception {
        Broker broker = broker(1);
        broker.lead(ORDERS);
        RemoteLogSegmentMetadata old = segment(0, 99);
        broker.add(old).get();
        broker.follow(ORDERS);
        shared.claimByAnother(ORDERS);
        broker.lead(ORDERS);
        assertThrows(RemoteStorageException.class, () -> broker.finish(old));
        eventually(() -> storedStates().contains(guardian.v1.RemoteLogSegmentState.DELETE_SEGMENT_STARTED));
        assertFalse(storedStates().contains(guardian.v1.RemoteLogSegmentState.COPY_SEGMENT_FINISHED));
    }

    @Test
    void aLeaderThatBecameAFollowerMayFinishItsCopyUntilAnotherClaims() throws Exception {
        Broker broker = broker(1);
        broker.lead(ORDERS);
        RemoteLogSegmentMetadata first = segment(0, 99);
        RemoteLogSegmentMetadata second = segment(100, 199);
        broker.add(first).get();
        broker.add(second).get();
        broker.follow(ORDERS);
        broker.finish(first).get();
        shared.claimByAnother(ORDERS);
        failure(RemoteStorageException.class, broker.finish(second));
        assertThrows(RemoteStorageException.class, () -> broker.add(segment(200, 299)));
    }
}

package guardian.kafka.metadata;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentState;
import org.apache.kafka.server.log.remote.storage.RemotePartitionDeleteMetadata;
import org.apache.kafka.server.log.remote.storage.RemotePartitionDeleteState;
import org.apache.kafka.server.log.remote.storage.RemoteResourceNotFoundException;
import org.apache.kafka.server.log.remote.storage.RemoteStorageException;
import org.apache.kafka.server.log.remote.storage.RetriableRemoteStorageException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
class MetadataManagerTest extends ManagerTestBase {
    // Look-ups ------------------------------------------------------------------------------------------------------

    @Test
    void aFinishedCopyIsFoundWhenItsFutureIsDone() throws Exception {
        Broker leader = broker(1);
        leader.lead(ORDERS);
        RemoteLogSegmentMetadata segment = segment(0, 99);
        leader.add(segment).get();
        assertTrue(leader.manager.segment(ORDERS, 0, 50).isEmpty());
        leader.finish(segment).get();
        assertEquals(segment.remoteLogSegmentId(), leader.manager.segment(ORDERS, 0, 50).orElseThrow().remoteLogSegmentId());
        assertEquals(Optional.of(99L), leader.manager.highestOffset(ORDERS, 0));
        assertEquals(100, leader.manager.size(ORDERS, 0));
    }

    @Test
    void aLeaderSeesItsOwnCopiesBeforeTheyComeBack() throws Exception {
        Broker leader = broker(1);
        leader.lead(ORDERS);
        leader.store.holdStream();
        leader.copy(segment(0, 99));
        assertTrue(leader.manager.segment(ORDERS, 0, 50).isPresent());
        leader.store.release();
        assertTrue(leader.manager.segment(ORDERS, 0, 50).isPresent());
        assertEquals(0L, leader.metric("IgnoredEvents"));
    }

    @Test
    void whatIsAcknowledgedSurvivesALoadThatIsOlder() throws Exception {
        Broker leader = broker(1);
        leader.lead(ORDERS);
        leader.store.holdStream();
        leader.copy(segment(0, 99));
        leader.store.loadNothing(ORDERS);
        assertTrue(leader.manager.segment(ORDERS, 0, 50).isPresent());
        leader.store.release();
        assertTrue(leader.manager.segment(ORDERS, 0, 50).isPresent());
        assertEquals(0L, leader.metric("IgnoredEvents"));
    }

    @Test
    void aDeletionIsNotDoneBeforeItComesBack() throws Exception {
        Broker leader = broker(1);
        leader.lead(ORDERS);
        RemoteLogSegmentMetadata segment = segment(0, 99);
        leader.copy(segment);
        leader.store.holdStream();
        CompletableFuture<Void> write = leader.update(segment, RemoteLogSegmentState.DELETE_SEGMENT_STARTED);
        assertEquals(3, shared.events(ORDERS).size());
        assertFalse(write.isDone());
        leader.store.release();
        write.get();
        assertEquals(List.of(RemoteLogSegmentState.DELETE_SEGMENT_STARTED), states(leader));
    }

    @Test
    void beforeThePartitionIsLoadedNothingIsSaidToBeEmpty() throws Exception {
        Broker follower = impatientBroker(1);
        follower.store.holdStream();
        follower.follow(ORDERS);
        assertThrows(RetriableRemoteStorageException.class, () -> follower.manager.segment(ORDERS, 0, 0));
        assertThrows(RetriableRemoteStorageException.class, () -> follower.manager.nextSegmentWithTxnIndex(ORDERS, 0, 0));
        assertThrows(RetriableRemoteStorageException.class, () -> follower.manager.highestOffset(ORDERS, 0));
        assertThrows(RetriableRemoteStorageException.class, () -> follower.manager.segments(ORDERS));
        assertThrows(RetriableRemoteStorageException.class, () -> follower.manager.segments(ORDERS, 0));
        assertThrows(RetriableRemoteStorageException.class, () -> follower.manager.size(ORDERS, 0));
        assertFalse(follower.manager.isReady(ORDERS));
        follower.store.release();
        assertTrue(follower.manager.segment(ORDERS, 0, 0).isEmpty());
        assertTrue(follower.manager.isReady(ORDERS));
    }

    @Test
    void aPartitionOfOtherBrokersIsNotFound() {
        Broker broker = broker(1);
        broker.lead(ORDERS);
        assertThrows(RemoteResourceNotFoundException.class, () -> broker.manager.segment(OTHERS, 0, 0));
        assertThrows(RemoteResourceNotFoundException.class, () -> broker.manager.segments(OTHERS));
        assertThrows(RemoteResourceNotFoundException.class, () -> broker.manager.size(OTHERS, 0));
        assertThrows(RemoteResourceNotFoundException.class, () -> broker.add(segment(OTHERS, 0, 99)));
        assertFalse(broker.manager.isReady(OTHERS));
    }

    @Test
    void theWholeListWaitsForTheLoad() throws Exception {
        Broker follower = broker(1);
        follower.store.holdStream();
        follower.follow(ORDERS);
        CompletableFuture<Boolean> listed = CompletableFuture.supplyAsync(() -> {
            try {
                return follower.manager.segments(ORDERS).hasNext();
            } catch (RemoteStorageException e) {
                throw new IllegalStateException(e);
            }
        });
        assertFalse(listed.isDone());
        follower.store.release();
        assertFalse(listed.get());
    }

    @Test
    void onlyTheThreadThatListedThePartitionGetsItsDeletionsFirst() throws Exception {
        Broker leader = broker(1);
        leader.lead(ORDERS);
        RemoteLogSegmentMetadata first = segment(0, 99);
        RemoteLogSegmentMetadata doomed = segment(100, 199);
        leader.copy(first);
        leader.copy(doomed);
        leader.update(doomed, RemoteLogSegmentState.DELETE_SEGMENT_STARTED).get();
        assertEquals(0, leader.manager.segments(ORDERS, 0).next().startOffset());
        leader.manager.segments(ORDERS);
        assertEquals(100, leader.manager.segments(ORDERS, 0).next().startOffset());
        assertEquals(0, CompletableFuture.supplyAsync(() -> firstOffset(leader)).get());
        leader.follow(OTHERS);
        leader.manager.segments(OTHERS);
        assertEquals(0, leader.manager.segments(ORDERS, 0).next().startOffset());
    }

    private static long firstOffset(Broker broker) {
        try {
            return broker.manager.segments(ORDERS, 0).next().startOffset();
        } catch (RemoteStorageException e) {
            throw new IllegalStateException(e);
        }
    }

    // Stop and delete ---------------------------------------------------------------------------------------------------

    @Test
    void aStoppedPartitionIsDroppedAndItsLastDeletesComeThrough() throws Exception {
        Broker broker = broker(1);
        broker.lead(ORDERS);
        RemoteLogSegmentMetadata segment = segment(0, 99);
        broker.copy(segment);
        broker.update(segment, RemoteLogSegmentState.DELETE_SEGMENT_STARTED).get();
        broker.manager.onStop(Set.of(ORDERS));
        assertFalse(broker.store.follows(ORDERS));
        assertThrows(RemoteResourceNotFoundException.class, () -> broker.manager.segment(ORDERS, 0, 50));
        assertFalse(broker.manager.isReady(ORDERS));
        broker.update(segment, RemoteLogSegmentState.DELETE_SEGMENT_FINISHED).get();
        assertEquals(4, shared.events(ORDERS).size());
        broker.follow(ORDERS);
        assertTrue(broker.manager.isReady(ORDERS));
        assertTrue(states(broker).isEmpty());
    }

    @Test
    void aWriteThatIsStoredIsDoneWhenThePartitionIsStopped() throws Exception {
        Broker broker = broker(1);
        broker.lead(ORDERS);
        RemoteLogSegmentMetadata segment = segment(0, 99);
        broker.copy(segment);
        broker.store.holdStream();
        CompletableFuture<Void> write = broker.update(segment, RemoteLogSegmentState.DELETE_SEGMENT_STARTED);
        broker.manager.onStop(Set.of(ORDERS));
        write.get();
    }

    @Test
    void aTopicThatIsDeletedIsListedMarkedAndEmptied() throws Exception {
        Broker broker = broker(1);
        broker.lead(ORDERS);
        broker.copy(segment(0, 99));
        broker.copy(segment(100, 199));
        List<RemoteLogSegmentMetadata> all = new ArrayList<>();
        broker.manager.segments(ORDERS).forEachRemaining(all::add);
        for (RemoteLogSegmentState state :
                List.of(RemoteLogSegmentState.DELETE_SEGMENT_STARTED, RemoteLogSegmentState.DELETE_SEGMENT_FINISHED)) {
            for (RemoteLogSegmentMetadata each : all) {
                broker.update(each, state).get();
            }
        }
        assertFalse(broker.manager.segments(ORDERS).hasNext());
        assertEquals(Optional.of(199L), broker.manager.highestOffset(ORDERS, 0));
    }

    @Test
    void aDeletedPartitionIsReadableUntilItsDeletionIsFinished() throws Exception {
        Broker broker = broker(1);
        broker.lead(ORDERS);
        broker.copy(segment(0, 99));
        for (RemotePartitionDeleteState state : RemotePartitionDeleteState.values()) {
            assertTrue(broker.manager.segment(ORDERS, 0, 50).isPresent());
            broker.manager.delete(new RemotePartitionDeleteMetadata(ORDERS, state, 1, 1)).get();
        }
        assertThrows(RemoteResourceNotFoundException.class, () -> broker.manager.segment(ORDERS, 0, 50));
        assertThrows(RemoteResourceNotFoundException.class, () -> broker.add(segment(0, 99)));
        assertFalse(broker.manager.isReady(ORDERS));
    }

    @Test
    void aDeletionDoesNotGoBack() throws Exception {
        Broker broker = broker(1);
        broker.lead(ORDERS);
        broker.manager.delete(deletion(RemotePartitionDeleteState.DELETE_PARTITION_STARTED)).get();
        assertThrows(
                IllegalArgumentException.class,
                () -> broker.manager.delete(deletion(RemotePartitionDeleteState.DELETE_PARTITION_MARKED)));
    }

    private static RemotePartitionDeleteMetadata deletion(RemotePartitionDeleteState state) {
        return new RemotePartitionDeleteMetadata(ORDERS, state, 1, 1);
    }

    // The end -----------------------------------------------------------------------------------------------------------

    @Test
    void closingFailsWhatIsPendingAndWakesWhoWaits() throws Exception {
        Broker leader = broker(1);
        leader.lead(ORDERS);
        leader.store.holdAppends();
        CompletableFuture<Void> pending = leader.add(segment(0, 99));
        leader.store.holdClaims();
        leader.lead(OTHERS);
        CompletableFuture<Exception> waiting = new CompletableFuture<>();
        Thread copier = new Thread(() -> waiting.complete(
                assertThrows(RemoteStorageException.class, () -> leader.add(segment(OTHERS, 0, 99)))));
        copier.start();
        leader.manager.close();
        assertTrue(leader.store.isClosed());
        failure(RemoteStorageException.class, pending);
        waiting.get();
        assertTrue(leader.registry.allMetrics().isEmpty());
        leader.lead(ORDERS);
    }
}

package guardian.kafka.metadata;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentState;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
class MetadataManagerOrphansTest extends ManagerTestBase {
    @Test
    void aNewLeaderGivesUpCopiesOfOthersAndCountsWhatIsSwept() throws Exception {
        Broker died = broker(1);
        died.lead(ORDERS);
        RemoteLogSegmentMetadata orphan = segment(100, 199);
        died.copy(segment(0, 99));
        died.add(orphan).get();
        Broker leader = broker(2);
        leader.lead(ORDERS);
        eventually(() -> leader.metric("OrphansFound").equals(1L));
        assertEquals(100L, leader.metric("OrphanBytesFound"));
        assertEquals(2, storedStates().indexOf(guardian.v1.RemoteLogSegmentState.COPY_SEGMENT_STARTED) + 2);
        leader.manager.segments(ORDERS);
        assertEquals(orphan.remoteLogSegmentId(), leader.manager.segments(ORDERS, 0).next().remoteLogSegmentId());
        assertEquals(0L, leader.metric("OrphansSwept"));
        leader.update(orphan, RemoteLogSegmentState.DELETE_SEGMENT_STARTED).get();
        leader.update(orphan, RemoteLogSegmentState.DELETE_SEGMENT_FINISHED).get();
        assertEquals(1L, leader.metric("OrphansSwept"));
        assertEquals(100L, leader.metric("OrphanBytesSwept"));
        assertEquals(List.of(RemoteLogSegmentState.COPY_SEGMENT_FINISHED), states(leader));
    }

    @Test
    void aCopyThatWasFinishedJustBeforeTheClaimIsNoOrphan() throws Exception {
        Broker leader = broker(2);
        leader.follow(ORDERS);
        RemoteLogSegmentMetadata segment = segment(0, 99);
        shared.appendByAnother(ORDERS, event(segment, guardian.v1.RemoteLogSegmentState.COPY_SEGMENT_STARTED));
        leader.store.holdStream();
        shared.appendByAnother(ORDERS, event(segment, guardian.v1.RemoteLogSegmentState.COPY_SEGMENT_FINISHED));
        leader.lead(ORDERS);
        assertFalse(leader.manager.isReady(ORDERS));
        leader.store.release();
        assertTrue(leader.manager.isReady(ORDERS));
        leader.copy(segment(100, 199));
        assertEquals(0L, leader.metric("OrphansFound"));
        assertTrue(leader.manager.segment(ORDERS, 0, 50).isPresent());
    }

    @Test
    void aFollowerSweepsNothing() throws Exception {
        shared.appendByAnother(ORDERS, event(segment(0, 99), guardian.v1.RemoteLogSegmentState.COPY_SEGMENT_STARTED));
        Broker follower = broker(1);
        follower.follow(ORDERS);
        Broker leader = broker(2);
        leader.lead(ORDERS);
        eventually(() -> leader.metric("OrphansFound").equals(1L));
        assertEquals(0L, follower.metric("OrphansFound"));
    }

    @Test
    void aCopyThatWasGivenUpAndMadeAgainIsSwept() throws Exception {
        Broker leader = broker(1);
        leader.lead(ORDERS);
        RemoteLogSegmentMetadata givenUp = segment(0, 99);
        RemoteLogSegmentMetadata unrelated = segment(100, 199);
        leader.add(givenUp).get();
        leader.add(unrelated).get();
        leader.copy(segment(0, 99));
        assertEquals(1L, leader.metric("OrphansFound"));
        assertEquals(1L, leader.metric("CopiesUnderWay"));
        leader.finish(unrelated).get();
        assertEquals(0L, leader.metric("CopiesUnderWay"));
        assertEquals(
                List.of(RemoteLogSegmentState.DELETE_SEGMENT_STARTED),
                states(leader).stream().filter(each -> each != RemoteLogSegmentState.COPY_SEGMENT_FINISHED).toList());
    }

    @Test
    void anotherLeaderThatCameInBetweenUnheardLeavesNoOrphan() throws Exception {
        shared.appendByAnother(ORDERS, event(segment(0, 9), guardian.v1.RemoteLogSegmentState.COPY_SEGMENT_STARTED));
        Broker broker = broker(1);
        broker.lead(ORDERS);
        eventually(() -> broker.metric("OrphansFound").equals(1L));
        RemoteLogSegmentMetadata own = segment(0, 99);
        broker.add(own).get();
        shared.claimByAnother(ORDERS);
        shared.appendByAnother(ORDERS, event(segment(0, 99), guardian.v1.RemoteLogSegmentState.COPY_SEGMENT_STARTED));
        broker.lead(ORDERS);
        eventually(() -> broker.metric("OrphansFound").equals(2L));
        broker.finish(own).get();
    }

    @Test
    void anOrphanThatCouldNotBeMarkedIsMarkedLater() throws Exception {
        shared.appendByAnother(ORDERS, event(segment(0, 99), guardian.v1.RemoteLogSegmentState.COPY_SEGMENT_STARTED));
        Broker leader = broker(1);
        leader.store.failDeletions(1);
        leader.lead(ORDERS);
        eventually(() -> leader.metric("WritesFailed").equals(1L));
        leader.copy(segment(100, 199));
        eventually(() -> leader.metric("OrphansFound").equals(1L));
        assertTrue(storedStates().contains(guardian.v1.RemoteLogSegmentState.DELETE_SEGMENT_STARTED));
    }

    @Test
    void aCopyThatWasMadeAgainButCouldNotBeMarkedIsMarkedLater() throws Exception {
        Broker leader = broker(1);
        leader.lead(ORDERS);
        RemoteLogSegmentMetadata again = segment(0, 99);
        leader.add(segment(0, 99)).get();
        leader.add(again).get();
        leader.store.failDeletions(1);
        leader.finish(again).get();
        eventually(() -> leader.metric("WritesFailed").equals(1L));
        leader.copy(segment(100, 199));
        eventually(() -> leader.metric("OrphansFound").equals(1L));
    }

    @Test
    void whatWasSweptDuringAGapCountsToo() throws Exception {
        RemoteLogSegmentMetadata orphan = segment(0, 99);
        shared.appendByAnother(ORDERS, event(orphan, guardian.v1.RemoteLogSegmentState.COPY_SEGMENT_STARTED));
        Broker leader = broker(1);
        leader.lead(ORDERS);
        eventually(() -> leader.metric("OrphansFound").equals(1L));
        leader.store.disconnect(ORDERS);
        shared.appendByAnother(ORDERS, event(orphan, guardian.v1.RemoteLogSegmentState.DELETE_SEGMENT_FINISHED));
        leader.store.load(ORDERS);
        assertEquals(1L, leader.metric("OrphansSwept"));
    }
}

package guardian.kafka.metadata.store;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import guardian.v1.EventGroup;
import guardian.v1.FollowSegmentEventsReply;
import guardian.v1.SegmentEvent;
import guardian.v1.TopicIdPartition;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class GrpcSegmentEventStoreFollowTest extends StoreTestBase {
    private static final TopicIdPartition NAME0 = NAMES.name(P0);

    private void waitForEvents(SegmentEvent... expected) throws InterruptedException {
        waitUntil("events " + expected.length, () -> listener.events(P0).size() >= expected.length);
        assertEquals(List.of(expected), listener.events(P0));
    }

    @Test
    void aPartitionIsLoadedAndThenHeardOf() throws Exception {
        FakeGroup guardian = guardian(3);
        guardian.store(NAME0, started(1));
        guardian.change(NAME0, stored -> stored.goneHighestOffsets.put(4, 77L));
        SegmentEventStore store = store(guardian);
        store.follow(List.of(P0, P1));
        waitForEvents(started(1));
        guardian.store(NAME0, finished(1), started(2));
        waitForEvents(started(1), finished(1), started(2));
        assertEquals(Map.of(4, 77L), listener.gone(P0));
        assertEquals(1, listener.loads(P0));
        waitUntil("the load of the other one", () -> listener.loads(P1) == 1);
        assertEquals(2, store.status().followed());
    }

    @Test
    void manyPartitionsAreLoadedAFewAtATime() throws Exception {
        FakeGroup guardian = guardian(3);
        SegmentEventStore store = store(guardian);
        List<org.apache.kafka.common.TopicIdPartition> all =
                IntStream.range(0, 500).mapToObj(StoreTestBase::partition).toList();
        store.follow(all);
        waitUntil("500 loads", () -> all.stream().allMatch(each -> listener.loads(each) == 1));
        assertEquals(500, store.status().loads());
        guardian.members.forEach(member -> assertTrue(member.loads.get() > 100, "loads are spread"));
        guardian.store(NAMES.name(partition(499)), started(1));
        waitUntil("news of the last", () -> !listener.events(partition(499)).isEmpty());
    }

    @Test
    void eventsOfAGroupThatBeginsEarlierAreNotHeardTwice() throws Exception {
        FakeGroup guardian = guardian(1);
        guardian.store(NAME0, started(1), started(2), started(3));
        SegmentEventStore store = store(guardian);
        store.follow(List.of(P0));
        waitUntil("the stream", () -> guardian.members.get(0).followStreams.get() == 1);
        guardian.members.get(0).send(page(1, started(2), started(3), started(4)));
        waitForEvents(started(1), started(2), started(3), started(4));
    }

    @Test
    void aGapIsClosedByAnotherLoad() throws Exception {
        FakeGroup guardian = guardian(1);
        guardian.store(NAME0, started(1));
        SegmentEventStore store = store(guardian);
        store.follow(List.of(P0));
        waitUntil("the stream", () -> guardian.members.get(0).followStreams.get() == 1);
        guardian.members.get(0).send(page(5, started(9)));
        waitUntil("another load", () -> listener.loads(P0) == 2);
        guardian.store(NAME0, started(2));
        waitForEvents(started(1), started(2));
    }

    private static FollowSegmentEventsReply page(long first, SegmentEvent... events) {
        return FollowSegmentEventsReply.newBuilder()
                .setPartition(NAME0)
                .addGroups(EventGroup.newBuilder().setFirstEventId(first).addAllEvents(List.of(events)))
                .setNextEventId(first + events.length)
                .build();
    }

    @Test
    void whatIsNotKeptAnyLongerIsLoadedAgain() throws Exception {
        FakeGroup guardian = guardian(2);
        guardian.store(NAME0, started(1));
        SegmentEventStore store = store(guardian);
        store.follow(List.of(P0));
        waitForEvents(started(1));
        FakeMember followed = whoIsFollowed(guardian);
        followed.isSilent = true;
        guardian.store(NAME0, started(2), started(3));
        guardian.change(NAME0, stored -> stored.first = 3);
        followed.kill(); // the other one keeps events from 3 on
        waitUntil("another load", () -> listener.loads(P0) == 2);
        waitForEvents(started(1), started(2), started(3));
        guardian.store(NAME0, started(4));
        waitForEvents(started(1), started(2), started(3), started(4));
    }

    private FakeMember whoIsFollowed(FakeGroup guardian) throws InterruptedException {
        waitUntil("a stream", () -> guardian.members.stream().anyMatch(member -> member.followStreams.get() > 0));
        return guardian.members.stream()
                .filter(member -> member.followStreams.get() > 0)
                .findFirst()
                .orElseThrow();
    }

    @Test
    void afterTheDeathOfAMemberAnotherOneGoesOnFromTheSameId() throws Exception {
        FakeGroup guardian = guardian(3);
        SegmentEventStore store = store(guardian);
        store.follow(List.of(P0));
        guardian.store(NAME0, started(1));
        waitForEvents(started(1));
        whoIsFollowed(guardian).kill();
        guardian.store(NAME0, started(2));
        waitForEvents(started(1), started(2));
        assertEquals(1, listener.loads(P0));
        assertTrue(store.status().reconnects() >= 1);
    }

    @Test
    void aMemberThatTellsNothingAnyMoreIsFoundOut() throws Exception {
        FakeGroup guardian = guardian(2);
        SegmentEventStore store = store(guardian, LIMITS.withSilenceLimit(Duration.ofMillis(500)));
        store.follow(List.of(P0));
        waitUntil("a proof that it is current", () -> store.status().currentAtNanos() != 0);
        whoIsFollowed(guardian).isSilent = true;
        guardian.store(NAME0, started(1));
        waitForEvents(started(1));
    }

    @Test
    void aDeletedPartitionIsSaidToBe() throws Exception {
        FakeGroup guardian = guardian(1);
        SegmentEventStore store = store(guardian);
        guardian.change(NAMES.name(P1), stored -> stored.isDeleted = true);
        store.follow(List.of(P0, P1));
        waitUntil("the end of the one that was deleted before", () -> listener.isDeleted(P1));
        waitUntil("the load of the other", () -> listener.loads(P0) == 1);
        answer(store.delete(List.of(P0)));
        waitUntil("the end of the one that is deleted now", () -> listener.isDeleted(P0));
        assertEquals(0, store.status().followed());
    }

    @Test
    void whatIsNotFollowedAnyLongerIsNotHeardOf() throws Exception {
        FakeGroup guardian = guardian(1);
        SegmentEventStore store = store(guardian);
        store.follow(List.of(P0, P1));
        waitUntil("both", () -> listener.loads(P0) == 1 && listener.loads(P1) == 1);
        store.unfollow(List.of(P0));
        waitUntil("one", () -> store.status().followed() == 1);
        guardian.store(NAME0, started(1));
        guardian.store(NAMES.name(P1), started(2));
        waitUntil("news of the other", () -> !listener.events(P1).isEmpty());
        assertEquals(List.of(), listener.events(P0));
        store.follow(List.of(P0));
        waitForEvents(started(1));
    }

    @Test
    void whatIsFollowedAlreadyIsLoadedAgain() throws Exception {
        FakeGroup guardian = guardian(1);
        SegmentEventStore store = store(guardian);
        store.follow(List.of(P0));
        waitUntil("a load", () -> listener.loads(P0) == 1);
        store.follow(List.of(P0));
        waitUntil("another load", () -> listener.loads(P0) == 2);
        guardian.store(NAME0, started(1));
        waitForEvents(started(1));
    }

    @Test
    void loadsWaitForMembersThatAreNotThereYet() throws Exception {
        FakeGroup guardian = guardian(1);
        guardian.members.get(0).kill();
        SegmentEventStore store = store(guardian);
        store.follow(List.of(P0));
        waitUntil("a failure", () -> store.status().retries() > 0);
        guardian.members.get(0).restart();
        waitUntil("a load", () -> listener.loads(P0) == 1);
    }
}

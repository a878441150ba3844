package guardian.kafka.metadata.store;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import guardian.v1.AppendErrorKind;
import guardian.v1.PartitionAppendResult;
import guardian.v1.PartitionEvents;
import guardian.v1.SegmentEvent;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.stream.IntStream;
import org.apache.kafka.common.TopicIdPartition;
import org.junit.jupiter.api.Test;

class AppendQueueTest {
    private static final TopicIdPartition P0 = StoreTestBase.P0;
    private static final TopicIdPartition P1 = StoreTestBase.P1;
    private static final PartitionAppendResult GOOD =
            PartitionAppendResult.newBuilder().setNextEventId(1).build();
    private static final PartitionAppendResult BAD = PartitionAppendResult.newBuilder()
            .setError("no")
            .setErrorKind(AppendErrorKind.INVALID_TRANSITION)
            .build();

    private final AppendQueue queue = new AppendQueue(StoreTestBase.NAMES, 4, 1 << 20);

    private static SegmentEvent event(int segment) {
        return StoreTestBase.started(segment);
    }

    private static SegmentEvent finished(int segment) {
        return StoreTestBase.finished(segment);
    }

    private PendingAppend add(TopicIdPartition partition, SegmentEvent event, long token, long deadline) {
        PendingAppend pending = new PendingAppend(partition, event, token, deadline, new Counters());
        queue.add(pending);
        return pending;
    }

    private PendingAppend add(TopicIdPartition partition, SegmentEvent event) {
        return add(partition, event, 0, 100);
    }

    private PendingAppend add(TopicIdPartition partition, int segment) {
        return add(partition, event(segment));
    }

    /** Each to a partition of its own. */
    private void addAll(int from, int to) {
        for (int number = from; number < to; number++) {
            add(StoreTestBase.partition(number), number);
        }
    }

    private static List<PartitionAppendResult> results(AppendRequest request) {
        return Collections.nCopies(request.parts().size(), GOOD);
    }

    private static List<List<SegmentEvent>> parts(AppendRequest request) {
        return request.message().getPartitionsList().stream().map(PartitionEvents::getEventsList).toList();
    }

    @Test
    void aPartitionIsInSeveralRequestsAtOnce() {
        add(P0, 1);
        AppendRequest first = queue.next();
        add(P0, 2);
        add(P0, 3);
        AppendRequest second = queue.next();
        assertEquals(List.of(List.of(event(1))), parts(first));
        assertEquals(List.of(List.of(event(2), event(3))), parts(second));
        assertTrue(queue.answered(second, List.of(GOOD)));
        assertTrue(queue.answered(first, List.of(GOOD)));
        assertNull(queue.next());
    }

    @Test
    void aSegmentIsInOneRequestAtATime() {
        add(P0, 1);
        add(P0, 2);
        AppendRequest first = queue.next();
        add(P0, finished(1));
        add(P0, 3);
        assertTrue(queue.isEmpty());
        assertNull(queue.next());
        add(P1, 4);
        AppendRequest other = queue.next();
        assertEquals(List.of(List.of(event(4))), parts(other));
        assertTrue(queue.answered(first, List.of(GOOD)));
        assertEquals(List.of(List.of(finished(1), event(3))), parts(queue.next()));
    }

    @Test
    void aSegmentsEventsThatWaitTogetherGoTogether() {
        add(P0, 1);
        add(P0, finished(1));
        assertEquals(List.of(List.of(event(1), finished(1))), parts(queue.next()));
    }

    @Test
    void aRequestWaitsUntilItIsAsLargeAsWhatIsUnderWay() {
        addAll(0, 3);
        AppendRequest first = queue.next();
        addAll(3, 5);
        assertNull(queue.next());
        addAll(5, 6);
        AppendRequest second = queue.next();
        assertEquals(3, second.parts().size());
        addAll(6, 9);
        assertNull(queue.next());
        queue.answered(first, results(first));
        assertEquals(3, queue.next().parts().size());
    }

    @Test
    void aRequestThatIsFullDoesNotWait() {
        addAll(0, 20);
        for (int request = 0; request < 5; request++) {
            assertEquals(4, queue.next().parts().size());
        }
        assertNull(queue.next());
    }

    @Test
    void aLoneEventGoesWhenNothingIsUnderWay() {
        addAll(0, 4);
        AppendRequest first = queue.next();
        addAll(4, 5);
        assertNull(queue.next());
        queue.answered(first, results(first));
        assertEquals(1, queue.next().parts().size());
    }

    @Test
    void whatWasRefusedTakenBackOrGivenUpIsNotUnderWay() {
        addAll(0, 4);
        queue.refused(queue.next(), "no");
        add(P0, 1);
        add(P0, 2);
        AppendRequest refused = queue.next();
        queue.answered(refused, List.of(BAD));
        queue.expire(pending -> true, new StoreUnavailableException("late"));
        addAll(5, 9);
        queue.release(queue.next());
        addAll(9, 10);
        assertEquals(1, queue.next().parts().size());
    }

    @Test
    void aRequestHasAsManyEventsAsItMay() {
        for (int i = 0; i < 8; i++) {
            add(i < 3 ? P0 : P1, i);
        }
        assertEquals(List.of(List.of(event(0), event(1), event(2)), List.of(event(3))), parts(queue.next()));
        assertEquals(List.of(List.of(event(4), event(5), event(6), event(7))), parts(queue.next()));
    }

    @Test
    void partitionsTakeTurnsWhenThereIsNoRoomForAll() {
        for (int i = 0; i < 8; i++) {
            add(P0, i);
        }
        add(P1, 8);
        assertEquals(4, parts(queue.next()).get(0).size());
        assertEquals(List.of(List.of(event(8)), List.of(event(4), event(5), event(6))), parts(queue.next()));
    }

    @Test
    void anEventOfAnySizeIsSentAloneAtLeast() {
        AppendQueue narrow = new AppendQueue(StoreTestBase.NAMES, 10, 3);
        for (int i = 0; i < 2; i++) {
            narrow.add(new PendingAppend(P0, event(i), 0, 100, new Counters()));
        }
        assertEquals(List.of(List.of(event(0))), parts(narrow.next()));
    }

    @Test
    void eventsOfAnotherTokenGoInAnotherRequest() {
        add(P0, event(1), 7, 100);
        add(P0, event(2), 8, 100);
        AppendRequest first = queue.next();
        assertEquals(7, first.message().getPartitions(0).getFencingToken());
        assertEquals(List.of(List.of(event(1))), parts(first));
        assertEquals(8, queue.next().message().getPartitions(0).getFencingToken());
    }

    @Test
    void eventsThatWereRefusedTogetherAreTriedOneByOneBeforeThoseThatCameLater() {
        List<PendingAppend> all = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            all.add(add(P0, i));
        }
        AppendRequest first = queue.next();
        all.add(add(P0, 3));
        queue.answered(first, List.of(BAD));
        AppendRequest second = queue.next();
        assertEquals(
                List.of(List.of(event(0)), List.of(event(1)), List.of(event(2)), List.of(event(3))), parts(second));
        queue.answered(second, List.of(GOOD, BAD, GOOD, GOOD));
        assertEquals(
                List.of(false, true, false, false),
                all.stream().map(each -> each.done.isCompletedExceptionally()).toList());
        assertTrue(queue.isEmpty());
    }

    @Test
    void severalRefusedRequestsAreTriedOneByOne() {
        for (int i = 0; i < 8; i++) {
            add(P0, i);
        }
        AppendRequest first = queue.next();
        AppendRequest second = queue.next();
        queue.answered(first, List.of(BAD));
        queue.answered(second, List.of(BAD));
        add(P0, 8);
        add(P0, 9);
        List<List<SegmentEvent>> tried = new ArrayList<>();
        for (AppendRequest next = queue.next(); next != null; next = queue.next()) {
            tried.addAll(parts(next));
            queue.answered(next, results(next));
        }
        List<List<SegmentEvent>> alone = new ArrayList<>();
        IntStream.of(4, 5, 6, 7, 0, 1, 2, 3).forEach(segment -> alone.add(List.of(event(segment))));
        alone.add(List.of(event(8), event(9)));
        assertEquals(alone, tried);
    }

    @Test
    void eventsThatWereRefusedTogetherGoBeforeLaterOnesOfTheirSegments() {
        add(P0, 1);
        add(P0, 2);
        AppendRequest first = queue.next();
        PendingAppend later = add(P0, finished(1));
        assertNull(queue.next());
        queue.answered(first, List.of(BAD));
        assertEquals(
                List.of(List.of(event(1)), List.of(event(2)), List.of(finished(1))), parts(queue.next()));
        assertFalse(later.done.isDone());
    }

    @Test
    void resultsThatDoNotFitTheRequestAreNone() {
        PendingAppend pending = add(P0, 1);
        AppendRequest request = queue.next();
        assertFalse(queue.answered(request, List.of()));
        assertFalse(pending.done.isDone());
    }

    @Test
    void whatIsOutOfTimeIsForgottenAndNotSent() {
        PendingAppend late = add(P0, event(1), 0, 10);
        PendingAppend good = add(P0, event(2), 0, 30);
        PendingAppend alsoLate = add(P1, event(3), 0, 10);
        queue.expire(pending -> pending.isExpired(20), new StoreUnavailableException("late"));
        assertTrue(late.done.isCompletedExceptionally());
        assertTrue(alsoLate.done.isCompletedExceptionally());
        assertFalse(good.done.isDone());
        assertEquals(List.of(List.of(event(2))), parts(queue.next()));
        assertTrue(queue.isEmpty());
        add(P1, 4);
        assertEquals(List.of(List.of(event(4))), parts(queue.next()));
    }

    @Test
    void whatIsOutOfTimeDoesNotStandInTheWayOfItsPartition() {
        add(P0, 1);
        AppendRequest first = queue.next();
        add(P0, finished(1), 0, 10);
        add(P0, event(2), 0, 30);
        assertTrue(queue.isEmpty());
        queue.expire(pending -> pending.isExpired(20), new StoreUnavailableException("late"));
        assertEquals(List.of(List.of(event(2))), parts(queue.next()));
        queue.answered(first, List.of(GOOD));
        assertNull(queue.next());
    }

    @Test
    void whatIsOutOfTimeMayUncoverWhatHasToWait() {
        add(P0, 1);
        AppendRequest first = queue.next();
        add(P0, event(2), 0, 10);
        PendingAppend waits = add(P0, finished(1), 0, 30);
        assertFalse(queue.isEmpty());
        queue.expire(pending -> pending.isExpired(20), new StoreUnavailableException("late"));
        assertTrue(queue.isEmpty());
        assertNull(queue.next());
        queue.release(first);
        assertEquals(List.of(List.of(waits.event)), parts(queue.next()));
    }
}

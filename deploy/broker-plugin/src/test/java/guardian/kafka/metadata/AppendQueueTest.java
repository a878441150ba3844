package guardian.kafka.metadata;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import guardian.v1.AppendErrorKind;
import guardian.v1.PartitionAppendResult;
import guardian.v1.PartitionEvents;
import guardian.v1.SegmentEvent;
import java.util.ArrayList;
import java.util.List;
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

    private PendingAppend add(TopicIdPartition partition, int segment, long token, long deadline) {
        PendingAppend pending = new PendingAppend(partition, event(segment), token, deadline, new Counters());
        queue.add(pending);
        return pending;
    }

    private PendingAppend add(TopicIdPartition partition, int segment) {
        return add(partition, segment, 0, 100);
    }

    private static List<List<SegmentEvent>> parts(AppendRequest request) {
        return request.message().getPartitionsList().stream().map(PartitionEvents::getEventsList).toList();
    }

    @Test
    void aPartitionIsInOneRequestAtATime() {
        add(P0, 1);
        AppendRequest first = queue.next();
        add(P0, 2);
        add(P0, 3);
        assertNull(queue.next());
        add(P1, 4);
        AppendRequest other = queue.next();
        assertEquals(List.of(List.of(event(4))), parts(other));
        assertTrue(queue.answered(first, List.of(GOOD)));
        assertEquals(List.of(List.of(event(2), event(3))), parts(queue.next()));
    }

    @Test
    void aRequestHasAsManyEventsAsItMay() {
        for (int i = 0; i < 6; i++) {
            add(i < 3 ? P0 : P1, i);
        }
        AppendRequest first = queue.next();
        assertEquals(List.of(List.of(event(0), event(1), event(2)), List.of(event(3))), parts(first));
        assertNull(queue.next());
        queue.answered(first, List.of(GOOD, GOOD));
        assertEquals(List.of(List.of(event(4), event(5))), parts(queue.next()));
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
        add(P0, 1, 7, 100);
        add(P0, 2, 8, 100);
        AppendRequest first = queue.next();
        assertEquals(7, first.message().getPartitions(0).getFencingToken());
        assertEquals(List.of(List.of(event(1))), parts(first));
        queue.answered(first, List.of(GOOD));
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
    void resultsThatDoNotFitTheRequestAreNone() {
        PendingAppend pending = add(P0, 1);
        AppendRequest request = queue.next();
        assertFalse(queue.answered(request, List.of()));
        assertFalse(pending.done.isDone());
    }

    @Test
    void whatIsOutOfTimeIsForgottenAndNotSent() {
        PendingAppend late = add(P0, 1, 0, 10);
        PendingAppend good = add(P0, 2, 0, 30);
        PendingAppend alsoLate = add(P1, 3, 0, 10);
        queue.expire(pending -> pending.isExpired(20), new StoreUnavailableException("late"));
        assertTrue(late.done.isCompletedExceptionally());
        assertTrue(alsoLate.done.isCompletedExceptionally());
        assertFalse(good.done.isDone());
        assertEquals(List.of(List.of(event(2))), parts(queue.next()));
        assertTrue(queue.isEmpty());
        add(P1, 4);
        assertEquals(List.of(List.of(event(4))), parts(queue.next()));
    }
}

package guardian.kafka.metadata.store;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import guardian.v1.AppendErrorKind;
import guardian.v1.SegmentEvent;
import io.grpc.Status;
import java.net.ServerSocket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.IntStream;
import org.apache.kafka.common.TopicIdPartition;
import org.junit.jupiter.api.Test;

class GrpcSegmentEventStoreAppendTest extends StoreTestBase {
    private static List<CompletableFuture<Long>> append(
            SegmentEventStore store, TopicIdPartition partition, int from, int to) {
        return IntStream.range(from, to)
                .mapToObj(segment -> store.append(partition, started(segment), 0))
                .toList();
    }

    private static List<SegmentEvent> startedUpTo(int count) {
        return IntStream.range(0, count).mapToObj(StoreTestBase::started).toList();
    }

    /** Other segments' events may have overtaken those that were refused or repeated. */
    private static void assertStoredOnce(List<SegmentEvent> events, List<SegmentEvent> stored) {
        assertEquals(events.size(), stored.size());
        assertEquals(Set.copyOf(events), Set.copyOf(stored));
    }

    private static void answerAll(List<CompletableFuture<Long>> appends) throws Exception {
        for (CompletableFuture<Long> append : appends) {
            answer(append);
        }
    }

    @Test
    void anEventIsStoredAndAnsweredWithTheNextId() throws Exception {
        FakeGroup guardian = guardian(1);
        SegmentEventStore store = store(guardian);
        assertEquals(1, answer(store.append(P0, started(1), 0)));
        assertEquals(2, answer(store.append(P0, finished(1), 0)));
        assertEquals(List.of(started(1), finished(1)), guardian.events(NAMES.name(P0)));
        assertEquals(2, store.status().appended());
        assertEquals(0, store.status().pending());
    }

    @Test
    void whatQueuesWhileOthersAreUnderWayIsSentTogetherAndInOrder() throws Exception {
        FakeGroup guardian = guardian(1);
        SegmentEventStore store = store(guardian);
        answerAll(append(store, P0, 0, 200));
        assertEquals(startedUpTo(200), guardian.events(NAMES.name(P0)));
        assertTrue(guardian.appendsSeen().size() < 100, () -> guardian.appendsSeen().size() + " requests");
    }

    @Test
    void oneThreadAnswersAll() throws Exception {
        SegmentEventStore store = store(guardian(1));
        AtomicReference<Thread> thread = new AtomicReference<>();
        answer(store.append(P0, started(1), 0).thenRun(() -> thread.set(Thread.currentThread())));
        waitUntil("a callback", () -> thread.get() != null);
        assertTrue(thread.get().isDaemon() || thread.get() == Thread.currentThread());
    }

    @Test
    void whatAMemberStoredBeforeItDiedIsNotStoredAgain() throws Exception {
        FakeGroup guardian = guardian(3);
        SegmentEventStore store = store(guardian);
        appendAtLeader(store, guardian, 0);
        FakeMember first = guardian.leader();
        first.diesAfterStoring = true;
        List<CompletableFuture<Long>> appends = append(store, P0, 1, 50);
        waitUntil("the leader's death", () -> !first.diesAfterStoring);
        guardian.elect(guardian.members.get(2));
        answerAll(appends);
        assertStoredOnce(startedUpTo(50), guardian.events(NAMES.name(P0)));
        assertEquals(1, guardian.sessionsOpened());
        List<FakeGroup.AppendRequestSeen> seen = guardian.appendsSeen();
        long repeated = seen.stream()
                .map(each -> each.request().getSession().getSequence())
                .filter(sequence -> seen.stream()
                                .filter(other -> other.request().getSession().getSequence() == sequence)
                                .count()
                        > 1)
                .distinct()
                .count();
        assertTrue(repeated >= 1, "a request is sent again under its number");
    }

    @Test
    void appendsGoToTheLeaderAndFollowItWhenItChanges() throws Exception {
        FakeGroup guardian = guardian(3);
        SegmentEventStore store = store(List.of(guardian.endpoints().get(1)), LIMITS); // it learns of the others
        appendAtLeader(store, guardian, 1);
        guardian.leader().kill();
        guardian.elect(guardian.members.get(2));
        appendAtLeader(store, guardian, 2);
        assertEquals(List.of(started(1), started(2)), guardian.events(NAMES.name(P0)));
    }

    /** The same event again and again, which is stored once, until it is the leader that takes it. */
    private static void appendAtLeader(SegmentEventStore store, FakeGroup guardian, int segment) throws Exception {
        waitUntil("an append at the leader", () -> {
            store.append(P0, started(segment), 0).orTimeout(30, TimeUnit.SECONDS).join();
            return lastEndpoint(guardian).equals(guardian.leaderEndpoint());
        });
    }

    private static String lastEndpoint(FakeGroup guardian) {
        List<FakeGroup.AppendRequestSeen> seen = guardian.appendsSeen();
        return seen.get(seen.size() - 1).endpoint();
    }

    @Test
    void aMemberThatHangsIsLeft() throws Exception {
        FakeGroup guardian = guardian(2);
        SegmentEventStore store = store(guardian, LIMITS.withSilenceLimit(Duration.ofSeconds(1)));
        appendAtLeader(store, guardian, 0);
        guardian.leader().isSilent = true;
        CompletableFuture<Long> append = store.append(P0, started(1), 0);
        assertEquals(2, answer(append));
        assertEquals(List.of(started(0), started(1)), guardian.events(NAMES.name(P0)));
        assertTrue(store.status().reconnects() > 0);
    }

    @Test
    void aSegmentsEventsKeepTheirOrderWhateverIsRefusedOnTheWay() throws Exception {
        FakeGroup guardian = guardian(1);
        SegmentEventStore store = store(guardian);
        guardian.refuseNext(
                FakeGroup.refusal(Status.Code.RESOURCE_EXHAUSTED, "too much is waiting", 1),
                FakeGroup.refusal(Status.Code.UNAVAILABLE, "no leader", 0));
        List<CompletableFuture<Long>> appends = new ArrayList<>();
        for (int segment = 0; segment < 200; segment++) {
            appends.add(store.append(P0, started(segment), 0));
            appends.add(store.append(P0, finished(segment), 0));
        }
        answerAll(appends);
        List<SegmentEvent> stored = guardian.events(NAMES.name(P0));
        assertEquals(400, stored.size());
        for (int segment = 0; segment < 200; segment++) {
            assertTrue(stored.indexOf(started(segment)) < stored.indexOf(finished(segment)));
        }
        assertEquals(0, store.status().refused());
    }

    @Test
    void aForgottenSessionIsReplacedAndWhatWasUnderWayRepeatedUnderNewNumbers() throws Exception {
        FakeGroup guardian = guardian(1);
        SegmentEventStore store = store(guardian);
        answer(store.append(P0, started(0), 0));
        guardian.forgetSessions();
        List<CompletableFuture<Long>> appends = new ArrayList<>();
        for (int segment = 1; segment < 20; segment++) {
            for (int number = 0; number < 30; number++) {
                appends.add(store.append(partition(number), started(100 * number + segment), 0));
            }
        }
        answerAll(appends);
        assertStoredOnce(startedUpTo(20), guardian.events(NAMES.name(P0)));
        for (int number = 1; number < 30; number++) {
            int first = 100 * number;
            List<SegmentEvent> expected =
                    IntStream.range(1, 20).mapToObj(segment -> started(first + segment)).toList();
            assertStoredOnce(expected, guardian.events(NAMES.name(partition(number))));
        }
        assertEquals(2, guardian.sessionsOpened());
    }

    @Test
    void anOverloadedMemberIsAskedAgain() throws Exception {
        FakeGroup guardian = guardian(1);
        SegmentEventStore store = store(guardian);
        guardian.refuseNext(
                FakeGroup.refusal(Status.Code.RESOURCE_EXHAUSTED, "too much is waiting", 20),
                FakeGroup.refusal(Status.Code.RESOURCE_EXHAUSTED, "too much is waiting", 20));
        List<CompletableFuture<Long>> appends = new ArrayList<>(append(store, P0, 0, 20));
        appends.addAll(append(store, P1, 0, 20));
        answerAll(appends);
        assertStoredOnce(startedUpTo(20), guardian.events(NAMES.name(P0)));
        assertStoredOnce(startedUpTo(20), guardian.events(NAMES.name(P1)));
        assertTrue(store.status().retries() >= 1);
        assertEquals(0, store.status().reconnects());
    }

    @Test
    void aRequestThatAMemberCouldNotPassOnIsRepeated() throws Exception {
        FakeGroup guardian = guardian(2);
        SegmentEventStore store = store(guardian);
        guardian.refuseNext(FakeGroup.refusal(Status.Code.UNAVAILABLE, "no leader", 0));
        answerAll(append(store, P0, 0, 20));
        assertStoredOnce(startedUpTo(20), guardian.events(NAMES.name(P0)));
    }

    @Test
    void oneBadEventDoesNotFailThoseThatWereSentWithIt() throws Exception {
        FakeGroup guardian = guardian(1);
        SegmentEventStore store = store(guardian);
        CompletableFuture<Long> first = store.append(P0, started(0), 0);
        CompletableFuture<Long> good = store.append(P0, started(1), 0);
        CompletableFuture<Long> bad = store.append(P0, finished(99), 0);
        CompletableFuture<Long> after = store.append(P0, finished(1), 0);
        CompletableFuture<Long> elsewhere = store.append(P1, started(5), 0);
        CompletableFuture<Long> last = store.append(P0, started(2), 0);
        assertEquals(AppendErrorKind.INVALID_TRANSITION, failure(RefusedEventException.class, bad).kind());
        answerAll(List.of(first, good, after, elsewhere, last));
        assertStoredOnce(
                List.of(started(0), started(1), finished(1), started(2)), guardian.events(NAMES.name(P0)));
        assertEquals(1, store.status().refused());
    }

    @Test
    void aFencedWriterHearsBothTokens() throws Exception {
        FakeGroup guardian = guardian(1);
        SegmentEventStore store = store(guardian);
        guardian.change(NAMES.name(P0), stored -> stored.token = 9);
        CompletableFuture<Long> stale = store.append(P0, started(0), 8);
        CompletableFuture<Long> alsoStale = store.append(P0, started(1), 8);
        CompletableFuture<Long> fresh = store.append(P0, started(2), 9);
        FencedWriterException fenced = failure(FencedWriterException.class, stale);
        failure(FencedWriterException.class, alsoStale);
        answer(fresh);
        assertEquals(P0, fenced.partition());
        assertEquals(8, fenced.ownToken());
        assertEquals(9, fenced.highestToken());
        assertTrue(fenced.getMessage().contains("fenced"));
        assertEquals(List.of(started(2)), guardian.events(NAMES.name(P0)));
    }

    @Test
    void aRequestThatIsRefusedAsAWholeFailsItsEventsOnly() throws Exception {
        FakeGroup guardian = guardian(1);
        SegmentEventStore store = store(guardian);
        guardian.refuseNext(FakeGroup.refusal(Status.Code.INVALID_ARGUMENT, "no request", 0));
        failure(RefusedEventException.class, store.append(P0, started(0), 0));
        answer(store.append(P0, started(1), 0));
        assertEquals(List.of(started(1)), guardian.events(NAMES.name(P0)));
    }

    @Test
    void withoutAnyMemberAppendsFailAtTheLimitAndNothingIsKept() throws Exception {
        String nobody;
        try (ServerSocket socket = new ServerSocket(0)) {
            nobody = "127.0.0.1:" + socket.getLocalPort();
        }
        StoreSettings.Limits limits =
                LIMITS.withWriteLimit(Duration.ofMillis(300)).withPendingEvents(10);
        SegmentEventStore store = store(List.of(nobody), limits);
        List<CompletableFuture<Long>> appends = append(store, P0, 0, 10);
        CompletableFuture<Long> tooMany = store.append(P1, started(0), 0);
        assertTrue(tooMany.isCompletedExceptionally());
        failure(StoreUnavailableException.class, tooMany);
        for (CompletableFuture<Long> append : appends) {
            assertTrue(failure(StoreUnavailableException.class, append).getMessage().contains(nobody));
        }
        assertEquals(0, store.status().pending());
        assertEquals(11, store.status().expired());
        assertNotEquals("", store.status().lastError());
    }

    @Test
    void aGroupThatComesBackIsFoundAndWhatExpiredDoesNotStandInTheWay() throws Exception {
        FakeGroup guardian = guardian(1);
        SegmentEventStore store = store(guardian, LIMITS.withWriteLimit(Duration.ofSeconds(1)));
        appendUntilItSucceeds(store, 0);
        guardian.members.get(0).kill();
        failure(StoreUnavailableException.class, store.append(P0, started(1), 0));
        guardian.members.get(0).restart();
        appendUntilItSucceeds(store, 2);
        assertTrue(guardian.events(NAMES.name(P0)).contains(started(2)));
        assertTrue(store.status().isReachable());
    }

    private static void appendUntilItSucceeds(SegmentEventStore store, int segment) throws InterruptedException {
        waitUntil("an append that succeeds", () -> {
            try {
                store.append(P0, started(segment), 0).orTimeout(30, TimeUnit.SECONDS).join();
                return true;
            } catch (CompletionException e) {
                return false;
            }
        });
    }

    @Test
    void closeFailsWhatIsPendingAndWhatComesAfter() throws Exception {
        FakeGroup guardian = guardian(1);
        SegmentEventStore store = store(guardian);
        answer(store.append(P0, started(0), 0));
        guardian.leader().isSilent = true;
        CompletableFuture<Long> pending = store.append(P0, started(1), 0);
        store.close();
        failure(StoreUnavailableException.class, pending);
        failure(StoreUnavailableException.class, store.append(P0, started(2), 0));
        failure(StoreUnavailableException.class, store.claim(List.of(P0)));
        assertEquals(0, store.status().pending());
        List<String> left = Thread.getAllStackTraces().keySet().stream()
                .map(Thread::getName)
                .filter(name -> name.startsWith("guardian-"))
                .toList();
        assertEquals(List.of(), left);
    }
}

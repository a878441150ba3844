package guardian.kafka.metadata;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import com.yammer.metrics.core.MetricsRegistry;
import guardian.v1.FenceMode;
import guardian.v1.SegmentEvent;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentId;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadataUpdate;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentState;
import org.apache.kafka.server.log.remote.storage.RemotePartitionDeleteMetadata;
import org.apache.kafka.server.log.remote.storage.RemotePartitionDeleteState;
import org.apache.kafka.server.log.remote.storage.RemoteResourceNotFoundException;
import org.apache.kafka.server.log.remote.storage.RemoteStorageException;
import org.apache.kafka.server.log.remote.storage.RetriableRemoteStorageException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
class MetadataManagerTest {
    private static final TopicIdPartition ORDERS = new TopicIdPartition(Uuid.randomUuid(), new TopicPartition("orders", 0));
    private static final TopicIdPartition OTHERS = new TopicIdPartition(Uuid.randomUuid(), new TopicPartition("others", 0));
    private static final Duration SHORT = Duration.ofMillis(50);
    private static final Duration LONG = Duration.ofSeconds(20);

    private final FakeGuardian shared = new FakeGuardian();
    private final List<Broker> brokers = new ArrayList<>();

    /** A manager and its connection. */
    private final class Broker {
        private final MetricsRegistry registry = new MetricsRegistry();
        private final MetadataManager manager;
        private FakeGuardian.Store store;

        private Broker(int id, Duration waitLimit) {
            ManagerSettings settings = new ManagerSettings(List.of("guardian:9400"), Optional.empty(), "cluster", id,
                    FenceMode.CLAIM_ORDER, waitLimit, LONG, 1_000, SHORT, SHORT, Set.of());
            manager = new MetadataManager(settings, listener -> store = shared.store(listener), registry);
            brokers.add(this);
        }

        void lead(TopicIdPartition... partitions) {
            manager.onLeadershipChanges(Set.of(partitions), Set.of());
        }

        void follow(TopicIdPartition... partitions) {
            manager.onLeadershipChanges(Set.of(), Set.of(partitions));
        }

        CompletableFuture<Void> add(RemoteLogSegmentMetadata segment) throws RemoteStorageException {
            return manager.add(segment);
        }

        CompletableFuture<Void> update(RemoteLogSegmentMetadata segment, RemoteLogSegmentState state)
                throws RemoteStorageException {
            return manager.update(
                    new RemoteLogSegmentMetadataUpdate(segment.remoteLogSegmentId(), 2, Optional.empty(), state, 1));
        }

        CompletableFuture<Void> finish(RemoteLogSegmentMetadata segment) throws RemoteStorageException {
            return update(segment, RemoteLogSegmentState.COPY_SEGMENT_FINISHED);
        }

        void copy(RemoteLogSegmentMetadata segment) throws Exception {
            add(segment).get();
            finish(segment).get();
        }

        Object metric(String name) {
            return registry.allMetrics().entrySet().stream()
                    .filter(each -> each.getKey().getName().equals(name))
                    .map(each -> ((com.yammer.metrics.core.Gauge<?>) each.getValue()).value())
                    .findFirst()
                    .orElseThrow();
        }
    }

    private Broker broker(int id) {
        return new Broker(id, LONG);
    }

    private Broker impatientBroker(int id) {
        return new Broker(id, SHORT);
    }

    @AfterEach
    void closeAll() {
        brokers.forEach(each -> {
            each.manager.close();
            each.registry.shutdown();
        });
    }

    private static RemoteLogSegmentMetadata segment(long startOffset, long endOffset) {
        return segment(ORDERS, startOffset, endOffset);
    }

    private static RemoteLogSegmentMetadata segment(TopicIdPartition partition, long startOffset, long endOffset) {
        return new RemoteLogSegmentMetadata(new RemoteLogSegmentId(partition, Uuid.randomUuid()), startOffset, endOffset, 1, 1,
                1, 100, Map.of(0, startOffset));
    }

    private static SegmentEvent event(RemoteLogSegmentMetadata segment, guardian.v1.RemoteLogSegmentState state) {
        return SegmentEvents.of(segment).toBuilder().setState(state).build();
    }

    private static <T extends Throwable> T failure(Class<T> kind, CompletableFuture<?> future) {
        return assertInstanceOf(kind, assertThrows(ExecutionException.class, () -> future.get(10, TimeUnit.SECONDS)).getCause());
    }

    /** How a write was refused: by the call, or, when it was under way, by its future. */
    private static RemoteStorageException refusal(Callable<CompletableFuture<Void>> write) {
        Exception thrown = assertThrows(Exception.class, () -> write.call().get(10, TimeUnit.SECONDS));
        return assertInstanceOf(
                RemoteStorageException.class, thrown instanceof ExecutionException ? thrown.getCause() : thrown);
    }

    private static void eventually(BooleanSupplier condition) throws InterruptedException {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() > deadline) {
                fail("it has not come true in 20 s");
            }
            Thread.sleep(5);
        }
    }

    private List<RemoteLogSegmentState> states(Broker broker) throws RemoteStorageException {
        List<RemoteLogSegmentState> states = new ArrayList<>();
        Iterator<RemoteLogSegmentMetadata> all = broker.manager.segments(ORDERS);
        all.forEachRemaining(each -> states.add(each.state()));
        return states;
    }

    private List<guardian.v1.RemoteLogSegmentState> storedStates() {
        return shared.events(ORDERS).stream().map(SegmentEvent::getState).toList();
    }

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

    // Orphans ---------------------------------------------------------------------------------------------------------

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

package guardian.kafka.metadata.store;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import guardian.kafka.metadata.store.SegmentEventStore.ClaimResult;
import guardian.v1.AppendErrorKind;
import guardian.v1.Claim;
import guardian.v1.ClaimPartitionsRequest;
import guardian.v1.FenceMode;
import io.grpc.Status;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.apache.kafka.common.TopicIdPartition;
import org.junit.jupiter.api.Test;

class GrpcSegmentEventStoreClaimTest extends StoreTestBase {
    private static Claim refused(AppendErrorKind kind) {
        return Claim.newBuilder().setError("no: " + kind).setErrorKind(kind).build();
    }

    @Test
    void aClaimSaysWhoAsksForWhatAndBringsTokens() throws Exception {
        FakeGroup guardian = guardian(3);
        guardian.store(NAMES.name(P1), started(1));
        SegmentEventStore store = store(guardian);
        Map<TopicIdPartition, ClaimResult> claims = answer(store.claim(List.of(P0, P1)));
        assertEquals(1, claims.get(P1).nextEventId());
        assertTrue(claims.get(P0).isGranted());
        assertEquals(1, claims.get(P1).fencingToken());
        ClaimPartitionsRequest request = guardian.claimsSeen().get(0);
        assertEquals(List.of("orders", "orders"), request.getTopicsList());
        assertEquals(BROKER, request.getBrokerId());
        assertEquals("writer", request.getWriter());
        assertEquals(FenceMode.VERIFIED, request.getMode());
    }

    @Test
    void aRefusalIsItsPartitionsOwnAndSaysWhetherToTryAgain() throws Exception {
        FakeGroup guardian = guardian(1);
        Map<Integer, AppendErrorKind> kinds = Map.of(
                0, AppendErrorKind.NOT_VERIFIED,
                1, AppendErrorKind.FENCED_LEADER_EPOCH,
                2, AppendErrorKind.PARTITION_DELETED,
                3, AppendErrorKind.BELONGS_ELSEWHERE);
        guardian.answerClaims(partition -> refused(kinds.get(partition.getPartition())));
        List<TopicIdPartition> all = IntStream.range(0, 4).mapToObj(StoreTestBase::partition).toList();
        Map<TopicIdPartition, ClaimResult> verified = answer(store(guardian).claim(all));
        assertEquals(
                List.of(true, true, false, false),
                all.stream().map(each -> verified.get(each).isRetriable()).toList());
        assertFalse(verified.get(P0).isGranted());
        Map<TopicIdPartition, ClaimResult> inOrder =
                answer(store(guardian.endpoints(), LIMITS, FenceMode.CLAIM_ORDER).claim(all));
        assertEquals(
                List.of(true, false, false, false),
                all.stream().map(each -> inOrder.get(each).isRetriable()).toList());
    }

    @Test
    void aClaimIsRepeatedUntilAMemberAnswers() throws Exception {
        FakeGroup guardian = guardian(2);
        SegmentEventStore store = store(guardian);
        guardian.refuseNextClaim(Status.UNAVAILABLE.withDescription("no leader"));
        guardian.refuseNextClaim(Status.RESOURCE_EXHAUSTED.withDescription("too much is waiting"));
        assertTrue(answer(store.claim(List.of(P0))).get(P0).isGranted());
        assertEquals(3, guardian.claimsSeen().size());
    }

    @Test
    void aClaimOfAForgottenSessionIsMadeInANewOne() throws Exception {
        FakeGroup guardian = guardian(1);
        SegmentEventStore store = store(guardian);
        answer(store.claim(List.of(P0)));
        guardian.forgetSessions();
        assertEquals(2, answer(store.claim(List.of(P0))).get(P0).fencingToken());
        assertEquals(2, guardian.sessionsOpened());
    }

    @Test
    void aCallThatIsRefusedIsTheAnswerForEachPartition() throws Exception {
        FakeGroup guardian = guardian(1);
        SegmentEventStore store = store(guardian);
        guardian.refuseNextClaim(Status.INVALID_ARGUMENT.withDescription("use CLAIM_ORDER"));
        ClaimResult final1 = answer(store.claim(List.of(P0, P1))).get(P1);
        assertFalse(final1.isRetriable());
        assertTrue(final1.error().contains("use CLAIM_ORDER"));
        guardian.refuseNextClaim(Status.FAILED_PRECONDITION.withDescription("the cluster can't be asked"));
        assertTrue(answer(store.claim(List.of(P0))).get(P0).isRetriable());
    }

    @Test
    void moreThanOneCallTakesIsClaimedInSeveral() throws Exception {
        FakeGroup guardian = guardian(1);
        List<TopicIdPartition> all =
                IntStream.range(0, Claimer.MAX_CLAIMS + 1).mapToObj(StoreTestBase::partition).toList();
        Map<TopicIdPartition, ClaimResult> claims = answer(store(guardian).claim(all));
        assertEquals(all.size(), claims.size());
        assertTrue(claims.values().stream().allMatch(ClaimResult::isGranted));
        assertEquals(2, guardian.claimsSeen().size());
    }

    @Test
    void manyClaimsAtOnceFindRoomInSessions() throws Exception {
        FakeGroup guardian = guardian(1);
        SegmentEventStore store = store(guardian);
        List<CompletableFuture<Map<TopicIdPartition, ClaimResult>>> claims = IntStream.range(0, 200)
                .mapToObj(number -> store.claim(List.of(partition(number))))
                .toList();
        for (CompletableFuture<Map<TopicIdPartition, ClaimResult>> claim : claims) {
            assertTrue(answer(claim).values().iterator().next().isGranted());
        }
    }

    @Test
    void withoutAnyMemberAClaimFailsAtTheLimit() throws Exception {
        FakeGroup guardian = guardian(1);
        guardian.members.get(0).kill();
        SegmentEventStore store = store(guardian, LIMITS.withWriteLimit(Duration.ofMillis(300)));
        failure(StoreUnavailableException.class, store.claim(List.of(P0)));
    }
}

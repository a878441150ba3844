package guardian.kafka.metadata.store;

import guardian.kafka.metadata.store.SegmentEventStore.ClaimResult;
import guardian.v1.AppendErrorKind;
import guardian.v1.Claim;
import guardian.v1.ClaimPartitionsReply;
import guardian.v1.ClaimPartitionsRequest;
import guardian.v1.FenceMode;
import guardian.v1.SessionRef;
import guardian.v1.TieringGrpc;
import io.grpc.Channel;
import io.grpc.ClientInterceptor;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.MetadataUtils;
import io.grpc.stub.StreamObserver;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.common.TopicIdPartition;

/**
 * Claims partitions, and says of each that was not granted whether another try may be.
 *
 * <p>Worth another try: other brokers don't see this one as the leader yet; they still see an earlier epoch of it than
 * the one that was claimed last (verified mode); their cluster can't be asked now. Whoever is no leader any longer hears
 * so from Kafka, and gives up then. In claim order a refusal means that the partition was claimed in verified mode,
 * which no repetition changes.
 *
 * <p>A claim has a session of its own kind: in claim order each one gets a new token, so one that is carried out late,
 * after its repetition, would fence the writer that made it.
 */
final class Claimer {
    static final int MAX_CLAIMS = 10_000;

    private static final Metadata.Key<byte[]> SESSION =
            Metadata.Key.of("guardian-session-bin", Metadata.BINARY_BYTE_MARSHALLER);

    private final LeaderCalls calls;
    private final Sessions sessions;
    private final StoreSettings settings;
    private final PartitionNames names;
    private final Duration patience;
    private CompletableFuture<Session> present;

    Claimer(LeaderCalls calls, Sessions sessions, StoreSettings settings, PartitionNames names) {
        this.calls = calls;
        this.sessions = sessions;
        this.settings = settings;
        this.names = names;
        patience = settings.limits().writeLimit().multipliedBy(2).dividedBy(3); // the member itself asks Kafka
    }

    CompletableFuture<Map<TopicIdPartition, ClaimResult>> claim(Collection<TopicIdPartition> partitions) {
        List<TopicIdPartition> all = List.copyOf(partitions);
        Map<TopicIdPartition, ClaimResult> results = new HashMap<>();
        List<CompletableFuture<Void>> chunks = new ArrayList<>();
        for (int from = 0; from < all.size(); from += MAX_CLAIMS) {
            List<TopicIdPartition> chunk = all.subList(from, Math.min(from + MAX_CLAIMS, all.size()));
            chunks.add(claimChunk(chunk, true).thenAccept(results::putAll));
        }
        return CompletableFuture.allOf(chunks.toArray(CompletableFuture[]::new)).thenApply(nothing -> results);
    }

    private CompletableFuture<Map<TopicIdPartition, ClaimResult>> claimChunk(
            List<TopicIdPartition> partitions, boolean mayRepeat) {
        ClaimPartitionsRequest request = ClaimPartitionsRequest.newBuilder()
                .addAllPartitions(partitions.stream().map(names::name).toList())
                .addAllTopics(partitions.stream().map(TopicIdPartition::topic).toList())
                .setBrokerId(settings.brokerId())
                .setWriter(settings.writer())
                .setMode(settings.fence())
                .build();
        return session().thenCompose(session -> send(request, session)
                .thenApply(reply -> results(partitions, reply))
                .exceptionallyCompose(failure -> {
                    if (mayRepeat && isSessionExpired(failure)) {
                        forget(session);
                        return claimChunk(partitions, false);
                    }
                    return refused(partitions, failure);
                }));
    }

    private CompletableFuture<ClaimPartitionsReply> send(ClaimPartitionsRequest request, Session session) {
        long sequence = session.take();
        return calls.<ClaimPartitionsReply>call(
                        patience,
                        (member, limit, reply) -> sendOnce(request, session.ref(sequence), member, limit, reply))
                .whenComplete((reply, failure) -> session.release(sequence));
    }

    private static void sendOnce(
            ClaimPartitionsRequest request,
            SessionRef session,
            Channel member,
            Duration limit,
            StreamObserver<ClaimPartitionsReply> reply) {
        Metadata headers = new Metadata();
        headers.put(SESSION, session.toByteArray());
        ClientInterceptor withSession = MetadataUtils.newAttachHeadersInterceptor(headers);
        TieringGrpc.newStub(member)
                .withInterceptors(withSession)
                .withDeadlineAfter(limit.toNanos(), TimeUnit.NANOSECONDS)
                .claimPartitions(request, reply);
    }

    /** One with room; those before it keep what is under way. */
    private CompletableFuture<Session> session() {
        if (present == null || present.isCompletedExceptionally() || present.isDone() && !present.join().hasRoom()) {
            present = sessions.open();
        }
        return present.thenCompose(
                session -> session.hasRoom() ? CompletableFuture.completedFuture(session) : session());
    }

    private void forget(Session session) {
        if (present.isDone() && !present.isCompletedExceptionally() && present.join() == session) {
            present = null;
        }
    }

    private Map<TopicIdPartition, ClaimResult> results(List<TopicIdPartition> partitions, ClaimPartitionsReply reply) {
        Map<TopicIdPartition, ClaimResult> results = new HashMap<>();
        for (int i = 0; i < partitions.size(); i++) {
            results.put(partitions.get(i), i < reply.getClaimsCount()
                    ? result(reply.getClaims(i))
                    : new ClaimResult(0, 0, "Guardian gave no answer for the partition: retry", true));
        }
        return results;
    }

    private ClaimResult result(Claim claim) {
        return new ClaimResult(
                claim.getFencingToken(), claim.getNextEventId(), claim.getError(), isRetriable(claim.getErrorKind()));
    }

    private boolean isRetriable(AppendErrorKind kind) {
        return kind == AppendErrorKind.NOT_VERIFIED
                || kind == AppendErrorKind.FENCED_LEADER_EPOCH && settings.fence() == FenceMode.VERIFIED;
    }

    /** A call that Guardian refused is its answer for each partition; without any answer the claim fails. */
    private static CompletableFuture<Map<TopicIdPartition, ClaimResult>> refused(
            List<TopicIdPartition> partitions, Throwable failure) {
        Status refusal = refusal(failure);
        if (refusal == null) {
            return CompletableFuture.failedFuture(causeOf(failure));
        }
        boolean isRetriable = refusal.getCode() != Status.Code.INVALID_ARGUMENT;
        ClaimResult result = new ClaimResult(0, 0, LeaderFinder.sentence(refusal), isRetriable);
        Map<TopicIdPartition, ClaimResult> results = new HashMap<>();
        partitions.forEach(partition -> results.put(partition, result));
        return CompletableFuture.completedFuture(results);
    }

    private static boolean isSessionExpired(Throwable failure) {
        Status refusal = refusal(failure);
        return refusal != null && refusal.getCode() == Status.Code.DATA_LOSS;
    }

    private static Status refusal(Throwable failure) {
        return causeOf(failure) instanceof StatusRuntimeException refusal ? refusal.getStatus() : null;
    }

    private static Throwable causeOf(Throwable failure) {
        return failure instanceof CompletionException ? failure.getCause() : failure;
    }
}

package guardian.kafka.metadata.store;

import com.google.protobuf.ByteString;
import guardian.v1.AppendErrorKind;
import guardian.v1.AppendSegmentEventsReply;
import guardian.v1.Claim;
import guardian.v1.ClaimPartitionsReply;
import guardian.v1.ClaimPartitionsRequest;
import guardian.v1.EventGroup;
import guardian.v1.FollowSegmentEventsReply;
import guardian.v1.ListLiveSegmentsReply;
import guardian.v1.PartitionAppendResult;
import guardian.v1.PartitionEvents;
import guardian.v1.RemoteLogSegmentState;
import guardian.v1.SegmentEvent;
import guardian.v1.SessionRef;
import guardian.v1.StreamSegmentEventsReply;
import guardian.v1.StreamSegmentEventsRequest;
import guardian.v1.TopicIdPartition;
import io.grpc.Status;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * Guardian in one process: members that share one store, keep the store's rules, and misbehave when they are told to.
 *
 * <p>Its lock is held while a call is served; what a test reads of it, it reads through methods.
 */
final class FakeGroup implements AutoCloseable {
    /** One partition: groups of events under ids without gaps, from {@code first} on. */
    static final class Stored {
        final List<EventGroup> groups = new ArrayList<>();
        final Map<ByteString, SegmentEvent> live = new LinkedHashMap<>();
        final Map<Integer, Long> goneHighestOffsets = new HashMap<>();
        long first;
        long next;
        long token;
        boolean isDeleted;

        boolean has(SegmentEvent event) {
            return groups.stream().flatMap(group -> group.getEventsList().stream()).anyMatch(event::equals);
        }
    }

    final List<FakeMember> members = new ArrayList<>();
    private final Map<TopicIdPartition, Stored> partitions = new HashMap<>();
    private final Map<Long, Map<Long, AppendSegmentEventsReply>> sessions = new HashMap<>();
    private final List<AppendRequestSeen> seen = new ArrayList<>();
    private final List<ClaimPartitionsRequest> claims = new ArrayList<>();
    private final Deque<StreamSegmentEventsReply> refusals = new ArrayDeque<>();
    private final Deque<Status> claimRefusals = new ArrayDeque<>();
    private Function<TopicIdPartition, Claim> claimRule;
    private String leader = "";
    private long lastSession;

    record AppendRequestSeen(String endpoint, StreamSegmentEventsRequest request) {}

    FakeGroup(int count) throws IOException {
        for (int i = 0; i < count; i++) {
            members.add(new FakeMember(this));
        }
        leader = members.get(0).endpoint();
        claimRule = this::grant;
    }

    List<String> endpoints() {
        return members.stream().map(FakeMember::endpoint).toList();
    }

    FakeMember leader() {
        return members.stream().filter(member -> member.endpoint().equals(leaderEndpoint())).findFirst().orElseThrow();
    }

    synchronized String leaderEndpoint() {
        return leader;
    }

    synchronized void elect(FakeMember member) {
        leader = member == null ? "" : member.endpoint();
    }

    /** The next requests get these answers, and are not carried out. */
    synchronized void refuseNext(StreamSegmentEventsReply... replies) {
        refusals.addAll(List.of(replies));
    }

    synchronized void refuseNextClaim(Status status) {
        claimRefusals.add(status);
    }

    synchronized void answerClaims(Function<TopicIdPartition, Claim> rule) {
        claimRule = rule;
    }

    synchronized void forgetSessions() {
        sessions.clear();
    }

    synchronized int sessionsOpened() {
        return (int) lastSession;
    }

    synchronized List<AppendRequestSeen> appendsSeen() {
        return List.copyOf(seen);
    }

    synchronized List<ClaimPartitionsRequest> claimsSeen() {
        return List.copyOf(claims);
    }

    synchronized List<SegmentEvent> events(TopicIdPartition partition) {
        return stored(partition).groups.stream().flatMap(group -> group.getEventsList().stream()).toList();
    }

    synchronized void change(TopicIdPartition partition, Consumer<Stored> how) {
        how.accept(stored(partition));
        members.forEach(member -> member.tell(partition));
    }

    /** As another writer would: one group. */
    synchronized void store(TopicIdPartition partition, SegmentEvent... events) {
        put(stored(partition), List.of(events));
        members.forEach(member -> member.tell(partition));
    }

    synchronized long openSession() {
        sessions.put(++lastSession, new HashMap<>());
        return lastSession;
    }

    synchronized StreamSegmentEventsReply append(String endpoint, StreamSegmentEventsRequest request) {
        seen.add(new AppendRequestSeen(endpoint, request));
        if (!refusals.isEmpty()) {
            return refusals.poll();
        }
        SessionRef ref = request.getSession();
        Map<Long, AppendSegmentEventsReply> answers = sessions.get(ref.getId());
        if (answers == null) {
            return refusal(Status.Code.DATA_LOSS, "the session is forgotten", 0);
        }
        if (ref.getSequence() < ref.getAnsweredBelow()
                || ref.getSequence() >= ref.getAnsweredBelow() + FakeMember.WINDOW) {
            return refusal(Status.Code.INVALID_ARGUMENT, "the sequence is outside of the window", 0);
        }
        answers.keySet().removeIf(sequence -> sequence < ref.getAnsweredBelow());
        AppendSegmentEventsReply answer = answers.computeIfAbsent(ref.getSequence(), sequence -> carryOut(request));
        return StreamSegmentEventsReply.newBuilder().setAppend(answer).build();
    }

    static StreamSegmentEventsReply refusal(Status.Code code, String sentence, int retryAfterMs) {
        return StreamSegmentEventsReply.newBuilder()
                .setCode(code.value())
                .setError(sentence)
                .setRetryAfterMs(retryAfterMs)
                .build();
    }

    synchronized ClaimPartitionsReply claim(ClaimPartitionsRequest request, SessionRef session) {
        claims.add(request);
        if (!claimRefusals.isEmpty()) {
            throw claimRefusals.poll().asRuntimeException();
        }
        if (!sessions.containsKey(session.getId())) {
            throw Status.DATA_LOSS.withDescription("the session is forgotten").asRuntimeException();
        }
        return ClaimPartitionsReply.newBuilder()
                .addAllClaims(request.getPartitionsList().stream().map(claimRule).toList())
                .build();
    }

    synchronized void delete(List<TopicIdPartition> deleted) {
        deleted.forEach(partition -> change(partition, stored -> stored.isDeleted = true));
    }

    /** Null when the partition is deleted. */
    synchronized ListLiveSegmentsReply live(TopicIdPartition partition) {
        Stored stored = stored(partition);
        return stored.isDeleted ? null : ListLiveSegmentsReply.newBuilder()
                .addAllSegments(stored.live.values())
                .setNextEventId(stored.next)
                .putAllGoneHighestOffsets(stored.goneHighestOffsets)
                .build();
    }

    synchronized FollowSegmentEventsReply page(TopicIdPartition partition, long from) {
        Stored stored = stored(partition);
        FollowSegmentEventsReply.Builder page = FollowSegmentEventsReply.newBuilder().setPartition(partition);
        if (stored.isDeleted) {
            return page.setDeleted(true).build();
        }
        if (from < stored.first || from > stored.next) {
            return page.setOutOfRange(true).build();
        }
        stored.groups.stream()
                .filter(group -> group.getFirstEventId() + group.getEventsCount() > from)
                .forEach(page::addGroups);
        return page.setNextEventId(stored.next).setCaughtUp(true).build();
    }

    @Override
    public void close() {
        members.forEach(FakeMember::kill);
    }

    private Stored stored(TopicIdPartition partition) {
        return partitions.computeIfAbsent(partition, name -> new Stored());
    }

    private Claim grant(TopicIdPartition partition) {
        Stored stored = stored(partition);
        return Claim.newBuilder()
                .setPartition(partition)
                .setFencingToken(++stored.token)
                .setNextEventId(stored.next)
                .build();
    }

    private AppendSegmentEventsReply carryOut(StreamSegmentEventsRequest request) {
        AppendSegmentEventsReply.Builder reply = AppendSegmentEventsReply.newBuilder();
        for (PartitionEvents part : request.getAppend().getPartitionsList()) {
            reply.addResults(carryOut(part, stored(part.getPartition())));
        }
        request.getAppend().getPartitionsList().forEach(part ->
                members.forEach(member -> member.tell(part.getPartition())));
        return reply.build();
    }

    private static PartitionAppendResult carryOut(PartitionEvents part, Stored stored) {
        PartitionAppendResult.Builder result = PartitionAppendResult.newBuilder().setPartition(part.getPartition());
        if (stored.isDeleted) {
            return result.setError("is deleted").setErrorKind(AppendErrorKind.PARTITION_DELETED).build();
        }
        if (part.getFencingToken() < stored.token) {
            return result.setError("fenced")
                    .setErrorKind(AppendErrorKind.FENCED_LEADER_EPOCH)
                    .setFencingToken(stored.token)
                    .build();
        }
        Map<ByteString, SegmentEvent> begun = new HashMap<>(stored.live);
        List<SegmentEvent> news = new ArrayList<>();
        for (SegmentEvent event : part.getEventsList()) {
            if (stored.has(event)) {
                continue;
            }
            if (event.getState() != RemoteLogSegmentState.COPY_SEGMENT_STARTED
                    && !begun.containsKey(event.getSegmentId())) {
                return result.setError("no such transition")
                        .setErrorKind(AppendErrorKind.INVALID_TRANSITION)
                        .build();
            }
            begun.put(event.getSegmentId(), event);
            news.add(event);
        }
        put(stored, news);
        return result.setNextEventId(stored.next).build();
    }

    private static void put(Stored stored, List<SegmentEvent> events) {
        if (events.isEmpty()) {
            return;
        }
        stored.groups.add(EventGroup.newBuilder()
                .setFirstEventId(stored.next)
                .addAllEvents(events)
                .build());
        stored.next += events.size();
        events.forEach(event -> stored.live.put(event.getSegmentId(), event));
    }
}

package guardian.kafka.metadata.store;

import guardian.kafka.common.Tls;
import guardian.v1.DeletePartitionsReply;
import guardian.v1.DeletePartitionsRequest;
import guardian.v1.SegmentEvent;
import guardian.v1.TieringGrpc;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;
import org.apache.kafka.common.TopicIdPartition;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Segment events in a group of Guardian members, over gRPC.
 *
 * <pre>
 *     any thread ─▶ inbox ─▶ one thread: queue ─▶ append stream ──▶ the leader
 *                                        claims, deletions ───────▶ the leader
 *                            listener ◀─ follower ◀─ loads, stream ◀── any member
 * </pre>
 */
public final class GrpcSegmentEventStore implements SegmentEventStore {
    private static final Logger LOG = LoggerFactory.getLogger(GrpcSegmentEventStore.class);
    private static final Duration TICK = Duration.ofMillis(100);
    private static final int CLOSE_S = 5;

    private final StoreSettings settings;
    private final Counters counters = new Counters();
    private final StoreLoop loop = new StoreLoop("guardian-segment-events");
    private final Connections connections;
    private final LeaderFinder finder;
    private final LeaderCalls calls;
    private final PartitionNames names;
    private final AppendQueue queue;
    private final AppendStream stream;
    private final Claimer claimer;
    private final Follower follower;
    private final ConcurrentLinkedQueue<PendingAppend> inbox = new ConcurrentLinkedQueue<>();
    private final AtomicBoolean isInboxNoticed = new AtomicBoolean();
    private volatile boolean isClosed;

    /**
     * Connects when there is something to do; never fails for want of a member.
     *
     * @throws IllegalArgumentException when the certificates can't be used
     */
    public GrpcSegmentEventStore(StoreSettings settings, Listener listener) {
        this.settings = settings;
        StoreSettings.Limits limits = settings.limits();
        names = new PartitionNames(settings.clusterId());
        connections = new Connections(loop, settings.tls().map(Tls::new));
        finder = new LeaderFinder(connections, settings.endpoints(), counters);
        calls = new LeaderCalls(loop, finder, limits, counters);
        Sessions sessions = new Sessions(calls, settings);
        queue = new AppendQueue(names, limits.requestEvents(), limits.requestBytes());
        stream = new AppendStream(loop, finder, sessions, queue, limits, counters);
        claimer = new Claimer(calls, sessions, settings, names);
        follower = new Follower(
                loop, finder, new Loader(loop, finder, limits, counters), names, limits, counters, listener);
        loop.every(TICK, this::tick);
        loop.execute(() -> finder.tick(System.nanoTime()));
    }

    @Override
    public CompletableFuture<Long> append(TopicIdPartition partition, SegmentEvent event, long fencingToken) {
        StoreSettings.Limits limits = settings.limits();
        if (isClosed) {
            return CompletableFuture.failedFuture(closed());
        }
        if (counters.pending.incrementAndGet() > limits.pendingEvents()) {
            counters.pending.decrementAndGet();
            counters.expired.increment();
            return CompletableFuture.failedFuture(new StoreUnavailableException(
                    limits.pendingEvents() + " events wait for Guardian already: retry later"));
        }
        long deadline = System.nanoTime() + limits.writeLimit().toNanos();
        PendingAppend pending = new PendingAppend(partition, event, fencingToken, deadline, counters);
        inbox.add(pending);
        if (isInboxNoticed.compareAndSet(false, true)) {
            loop.execute(this::takeInbox);
        }
        if (isClosed) {
            takeInbox();
        }
        return pending.done;
    }

    @Override
    public CompletableFuture<Map<TopicIdPartition, ClaimResult>> claim(Collection<TopicIdPartition> partitions) {
        List<TopicIdPartition> claimed = List.copyOf(partitions);
        return onLoop(() -> claimer.claim(claimed));
    }

    @Override
    public CompletableFuture<Void> delete(Collection<TopicIdPartition> partitions) {
        DeletePartitionsRequest request = DeletePartitionsRequest.newBuilder()
                .addAllPartitions(partitions.stream().map(names::name).toList())
                .build();
        return onLoop(() -> calls.<DeletePartitionsReply>call(
                        settings.limits().silenceLimit(),
                        (member, limit, reply) -> TieringGrpc.newStub(member)
                                .withDeadlineAfter(limit.toNanos(), TimeUnit.NANOSECONDS)
                                .deletePartitions(request, reply))
                .thenApply(reply -> null));
    }

    @Override
    public void follow(Collection<TopicIdPartition> partitions) {
        List<TopicIdPartition> added = List.copyOf(partitions);
        loop.execute(() -> follower.follow(added));
    }

    @Override
    public void unfollow(Collection<TopicIdPartition> partitions) {
        List<TopicIdPartition> dropped = List.copyOf(partitions);
        loop.execute(() -> follower.unfollow(dropped));
    }

    @Override
    public Status status() {
        return new Status(
                finder.isReachable(),
                counters.currentAtNanos,
                counters.appended.sum(),
                counters.refused.sum(),
                counters.expired.sum(),
                counters.pending.get(),
                counters.retries.sum(),
                counters.reconnects.sum(),
                counters.loads.sum(),
                counters.followed,
                counters.lastError);
    }

    @Override
    public void close() {
        if (isClosed) {
            return;
        }
        isClosed = true;
        CompletableFuture<Void> ended = new CompletableFuture<>();
        if (loop.isOwnThread()) {
            end(ended);
        } else {
            loop.execute(() -> end(ended));
            await(ended);
        }
        loop.close();
        connections.awaitEnd();
        takeInbox();
    }

    /** Not completeOnTimeout: the JVM's thread for that would outlive the plugin. */
    private static void await(CompletableFuture<Void> ended) {
        try {
            ended.get(CLOSE_S, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (ExecutionException | TimeoutException e) {
            LOG.warn("the segment event store has not ended in order within {} s", CLOSE_S);
        }
    }

    private void end(CompletableFuture<Void> ended) {
        takeInbox();
        stream.close();
        follower.close();
        calls.close();
        finder.close();
        ended.complete(null);
    }

    /** The future fails when the store is closed before its call could begin. */
    private <T> CompletableFuture<T> onLoop(Supplier<CompletableFuture<T>> call) {
        CompletableFuture<T> done = new CompletableFuture<>();
        loop.execute(() -> called(call).whenComplete((result, failure) -> {
            if (failure == null) {
                done.complete(result);
            } else {
                done.completeExceptionally(failure instanceof CompletionException ? failure.getCause() : failure);
            }
        }));
        if (isClosed) {
            done.completeExceptionally(closed());
        }
        return done;
    }

    /** A call that can't even be begun has failed: whoever waits for it must hear so. */
    private static <T> CompletableFuture<T> called(Supplier<CompletableFuture<T>> call) {
        try {
            return call.get();
        } catch (RuntimeException e) {
            return CompletableFuture.failedFuture(e);
        }
    }

    private void tick() {
        long now = System.nanoTime();
        finder.tick(now);
        stream.tick(now);
        follower.tick(now);
    }

    /** On the loop, and once it has ended on the thread that found the store closed. */
    private void takeInbox() {
        isInboxNoticed.set(false);
        PendingAppend pending;
        while ((pending = inbox.poll()) != null) {
            if (isClosed) {
                pending.expire(closed());
            } else {
                queue.add(pending);
            }
        }
        if (!isClosed) {
            stream.pump();
        }
    }

    private static StoreUnavailableException closed() {
        return new StoreUnavailableException("the store is closed");
    }
}

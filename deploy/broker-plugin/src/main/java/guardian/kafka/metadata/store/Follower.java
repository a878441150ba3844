package guardian.kafka.metadata.store;

import guardian.kafka.common.BackOff;
import guardian.kafka.metadata.store.PartitionNames.Key;
import guardian.v1.EventGroup;
import guardian.v1.FollowPartition;
import guardian.v1.FollowSegmentEventsReply;
import guardian.v1.FollowSegmentEventsRequest;
import guardian.v1.SegmentEvent;
import guardian.v1.TieringGrpc;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.stub.ClientCallStreamObserver;
import io.grpc.stub.ClientResponseObserver;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.common.TopicIdPartition;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps a listener up to date with many partitions over one stream from any member.
 *
 * <pre>
 *     follow ─▶ load ─▶ add to the stream, from the next event id ─▶ events ─▶ listener
 *                ▲                    ▲                                │
 *                │                    └── the stream breaks: again, from the own next id, at another member
 *                └── out of range, or a gap
 * </pre>
 *
 * <p>Whatever arrives, and however late, is judged by event ids: below the next one it is known, at it it is news, above
 * it something is missing.
 *
 * <p>A member that is cut off from its group keeps its streams open and is silent. So one partition is added again every
 * now and then, which a member answers only with all that was acknowledged anywhere.
 */
final class Follower implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Follower.class);
    private static final int ADDED_AT_ONCE = 1_000;

    private final StoreLoop loop;
    private final LeaderFinder finder;
    private final Loader loader;
    private final PartitionNames names;
    private final StoreSettings.Limits limits;
    private final Counters counters;
    private final SegmentEventStore.Listener listener;
    private final BackOff backOff;
    private final Map<Key, Followed> followed = new LinkedHashMap<>();
    private final Set<Key> toAdd = new LinkedHashSet<>();
    private final Set<Key> toDrop = new LinkedHashSet<>();
    private Stream stream; // null: none
    private boolean isFlushDue;
    private boolean isPaused;
    private boolean isClosed;

    /** One partition. While it is loaded, nothing from the stream is for it. */
    private final class Followed implements Loader.Target {
        private final TopicIdPartition partition;
        private final guardian.v1.TopicIdPartition name;
        private Loader.Load load;
        private long nextEventId;

        Followed(TopicIdPartition partition) {
            this.partition = partition;
            name = names.name(partition);
        }

        boolean isLoading() {
            return load != null;
        }

        void reload() {
            if (load == null) {
                load = loader.load(name, this);
            }
        }

        @Override
        public void loaded(List<SegmentEvent> live, Map<Integer, Long> goneHighestOffsets, long next) {
            load = null;
            nextEventId = next;
            tell(() -> listener.onLoaded(partition, live, goneHighestOffsets, next));
            toAdd.add(Key.of(partition));
            flushSoon();
        }

        @Override
        public void deleted() {
            load = null;
            end(this);
        }
    }

    Follower(
            StoreLoop loop,
            LeaderFinder finder,
            Loader loader,
            PartitionNames names,
            StoreSettings.Limits limits,
            Counters counters,
            SegmentEventStore.Listener listener) {
        this.loop = loop;
        this.finder = finder;
        this.loader = loader;
        this.names = names;
        this.limits = limits;
        this.counters = counters;
        this.listener = listener;
        backOff = limits.newBackOff();
    }

    /** One that is followed already is loaded again. */
    void follow(Collection<TopicIdPartition> partitions) {
        partitions.forEach(partition ->
                followed.computeIfAbsent(Key.of(partition), key -> new Followed(partition)).reload());
        counters.followed = followed.size();
    }

    void unfollow(Collection<TopicIdPartition> partitions) {
        for (TopicIdPartition partition : partitions) {
            Key key = Key.of(partition);
            Followed dropped = followed.remove(key);
            if (dropped != null && dropped.isLoading()) {
                dropped.load.cancel();
            }
            toAdd.remove(key);
            toDrop.add(key);
        }
        counters.followed = followed.size();
        flushSoon();
    }

    void tick(long now) {
        if (stream == null) {
            return;
        }
        if (stream.isHanging(now)) {
            stream.fail(Status.DEADLINE_EXCEEDED.withDescription("nothing of what was asked for came"), null);
        } else if (stream.isPulseDue(now)) {
            stream.pulse(now);
        }
    }

    @Override
    public void close() {
        isClosed = true;
        loader.close();
        if (stream != null) {
            stream.cancel();
        }
    }

    private void flushSoon() {
        if (!isFlushDue) {
            isFlushDue = true;
            loop.execute(() -> {
                isFlushDue = false;
                flush();
            });
        }
    }

    private void flush() {
        if (isClosed || isPaused) {
            return;
        }
        if (stream == null) {
            open();
            return;
        }
        stream.drop(toDrop);
        toDrop.clear();
        stream.add(toAdd);
        toAdd.clear();
    }

    private void open() {
        toDrop.clear();
        toAdd.clear();
        List<Key> all = followed.entrySet().stream()
                .filter(entry -> !entry.getValue().isLoading())
                .map(Map.Entry::getKey)
                .toList();
        if (!all.isEmpty()) {
            stream = new Stream(finder.anyMember());
            stream.open();
            stream.add(all);
        }
    }

    private void take(FollowSegmentEventsReply reply) {
        Key key = Key.of(reply.getPartition());
        Followed partition = followed.get(key);
        if (partition == null || partition.isLoading()) {
            return;
        }
        if (reply.getDeleted()) {
            end(partition);
        } else if (reply.getOutOfRange() || !takeGroups(partition, reply.getGroupsList())) {
            toAdd.remove(key);
            partition.reload();
        }
    }

    /** False when events are missing in between. */
    private boolean takeGroups(Followed partition, List<EventGroup> groups) {
        List<SegmentEvent> news = new ArrayList<>();
        long first = partition.nextEventId;
        for (EventGroup group : groups) {
            long known = first + news.size() - group.getFirstEventId();
            if (known < 0) {
                LOG.warn("{}: events {} to {} are missing: it is loaded again", partition.partition,
                        first + news.size(), group.getFirstEventId() - 1);
                return false;
            }
            if (known < group.getEventsCount()) {
                news.addAll(group.getEventsList().subList((int) known, group.getEventsCount()));
            }
        }
        if (!news.isEmpty()) {
            partition.nextEventId = first + news.size();
            tell(() -> listener.onEvents(partition.partition, first, news));
        }
        return true;
    }

    private void end(Followed deleted) {
        Key key = Key.of(deleted.partition);
        followed.remove(key);
        toAdd.remove(key);
        counters.followed = followed.size();
        tell(() -> listener.onDeleted(deleted.partition));
    }

    private static void tell(Runnable what) {
        try {
            what.run();
        } catch (RuntimeException e) {
            LOG.error("The listener of segment events failed: report it as a bug", e);
        }
    }

    private void pause(long askedForMs) {
        if (isPaused || isClosed) {
            return;
        }
        isPaused = true;
        loop.after(backOff.next(askedForMs), () -> {
            isPaused = false;
            flush();
        });
    }

    /** One stream from one member. What it says after it is no longer the present one is not heard. */
    private final class Stream
            implements ClientResponseObserver<FollowSegmentEventsRequest, FollowSegmentEventsReply> {
        private final String endpoint;
        private final Set<Key> unanswered = new LinkedHashSet<>();
        private ClientCallStreamObserver<FollowSegmentEventsRequest> requests;
        private long aliveNanos = System.nanoTime();
        private long pulsedNanos = System.nanoTime();
        private Key pulsed;

        Stream(String endpoint) {
            this.endpoint = endpoint;
        }

        void open() {
            TieringGrpc.newStub(finder.channel(endpoint)).followSegmentEvents(this);
        }

        @Override
        public void beforeStart(ClientCallStreamObserver<FollowSegmentEventsRequest> call) {
            requests = call;
        }

        /** Each is answered at once, be it without events. */
        void add(Collection<Key> keys) {
            FollowSegmentEventsRequest.Builder request = FollowSegmentEventsRequest.newBuilder();
            for (Key key : keys) {
                Followed partition = followed.get(key);
                if (partition == null || partition.isLoading()) {
                    continue;
                }
                request.addAdd(FollowPartition.newBuilder()
                        .setPartition(partition.name)
                        .setFromEventId(partition.nextEventId));
                await(key);
                if (request.getAddCount() == ADDED_AT_ONCE) {
                    requests.onNext(request.build());
                    request.clear();
                }
            }
            if (request.getAddCount() > 0) {
                requests.onNext(request.build());
            }
        }

        void drop(Collection<Key> keys) {
            FollowSegmentEventsRequest.Builder request = FollowSegmentEventsRequest.newBuilder();
            for (Key key : keys) {
                request.addDrop(names.name(key));
                unanswered.remove(key);
            }
            if (request.getDropCount() > 0) {
                requests.onNext(request.build());
            }
        }

        boolean isHanging(long now) {
            return !unanswered.isEmpty()
                    && now - aliveNanos > limits.silenceLimit().toNanos();
        }

        boolean isPulseDue(long now) {
            return unanswered.isEmpty() && now - pulsedNanos > limits.silenceLimit().toNanos();
        }

        /** Asks for the partition that was asked for longest ago. */
        void pulse(long now) {
            Iterator<Map.Entry<Key, Followed>> all = followed.entrySet().iterator();
            while (all.hasNext()) {
                Map.Entry<Key, Followed> each = all.next();
                if (!each.getValue().isLoading()) {
                    all.remove();
                    followed.put(each.getKey(), each.getValue());
                    pulsedNanos = now;
                    pulsed = each.getKey();
                    add(List.of(each.getKey()));
                    return;
                }
            }
        }

        private void await(Key key) {
            if (unanswered.isEmpty()) {
                aliveNanos = System.nanoTime();
            }
            unanswered.add(key);
        }

        @Override
        public void onNext(FollowSegmentEventsReply reply) {
            if (stream != this) {
                return;
            }
            aliveNanos = System.nanoTime();
            Key key = Key.of(reply.getPartition());
            if (unanswered.remove(key) && unanswered.isEmpty()) {
                backOff.reset();
                finder.answered(endpoint);
            }
            take(reply);
            if (key.equals(pulsed) && reply.getCaughtUp() && unanswered.isEmpty()) {
                counters.currentAtNanos = pulsedNanos;
                pulsed = null;
            }
        }

        @Override
        public void onError(Throwable error) {
            fail(Status.fromThrowable(error), Status.trailersFromThrowable(error));
        }

        /** A member ends it when nothing is followed any more on its side, too. */
        @Override
        public void onCompleted() {
            fail(Status.UNAVAILABLE.withDescription("the member ended the stream"), null);
        }

        void cancel() {
            stream = null;
            counters.reconnects.increment();
            requests.cancel("another stream takes over", null);
        }

        void fail(Status status, Metadata trailers) {
            if (stream != this || isClosed) {
                return;
            }
            cancel();
            finder.failed(endpoint, status);
            pause(LeaderCalls.retryAfterMs(trailers));
        }
    }
}

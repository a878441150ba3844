package guardian.kafka.metadata;

import com.google.protobuf.ByteString;
import guardian.kafka.metadata.store.FencedWriterException;
import guardian.kafka.metadata.store.RefusedEventException;
import guardian.kafka.metadata.store.SegmentEventStore;
import guardian.kafka.metadata.store.StoreUnavailableException;
import guardian.v1.AppendErrorKind;
import guardian.v1.RemoteLogSegmentState;
import guardian.v1.SegmentEvent;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.apache.kafka.common.TopicIdPartition;

/**
 * Guardian in memory, for claims in claim order: the rules of metastore/tables/segments.py and claims.py. Each broker has a
 * {@link Store} of its own, which answers at once and in the caller's thread unless it is told to hold back.
 */
final class FakeGuardian {
    private final Map<TopicIdPartition, Log> logs = new HashMap<>();
    private final List<Store> stores = new ArrayList<>();

    private static final class Log {
        private final List<SegmentEvent> events = new ArrayList<>();
        private final Map<ByteString, SegmentEvent> segments = new LinkedHashMap<>();
        private long token;
        private boolean isDeleted;
    }

    synchronized Store store(SegmentEventStore.Listener listener) {
        Store store = new Store(listener);
        stores.add(store);
        return store;
    }

    synchronized List<SegmentEvent> events(TopicIdPartition partition) {
        return List.copyOf(log(partition).events);
    }

    synchronized long token(TopicIdPartition partition) {
        return log(partition).token;
    }

    /** Another broker's claim. */
    synchronized long claimByAnother(TopicIdPartition partition) {
        return ++log(partition).token;
    }

    /** Another broker's event, with the highest token. */
    synchronized void appendByAnother(TopicIdPartition partition, SegmentEvent event) {
        append(partition, event, log(partition).token);
    }

    private Log log(TopicIdPartition partition) {
        return logs.computeIfAbsent(partition, name -> new Log());
    }

    private synchronized long append(TopicIdPartition partition, SegmentEvent event, long token) {
        Log log = log(partition);
        if (log.isDeleted) {
            throw new RefusedEventException(partition, AppendErrorKind.PARTITION_DELETED, "the partition is deleted");
        } else if (token < log.token) {
            throw new FencedWriterException(partition, token, log.token, "another writer has claimed the partition");
        } else if (token > log.token) {
            throw new RefusedEventException(partition, AppendErrorKind.APPEND_INVALID, "no such token: " + token);
        }
        SegmentEvent known = log.segments.get(event.getSegmentId());
        if (known != null && event.getState().getNumber() <= known.getState().getNumber()) {
            return log.events.size();
        }
        if (!mayGo(known, event.getState())) {
            throw new RefusedEventException(partition, AppendErrorKind.INVALID_TRANSITION, "send its events in order");
        }
        log.events.add(event);
        log.segments.put(
                event.getSegmentId(),
                known == null ? event : known.toBuilder().setState(event.getState()).build());
        long id = log.events.size() - 1;
        stores.forEach(store -> store.stored(partition, id, event));
        return id + 1;
    }

    private static boolean mayGo(SegmentEvent known, RemoteLogSegmentState next) {
        RemoteLogSegmentState from =
                known == null ? RemoteLogSegmentState.REMOTE_LOG_SEGMENT_STATE_UNSPECIFIED : known.getState();
        return switch (next) {
            case COPY_SEGMENT_STARTED -> known == null;
            case COPY_SEGMENT_FINISHED -> from == RemoteLogSegmentState.COPY_SEGMENT_STARTED;
            case DELETE_SEGMENT_STARTED -> from == RemoteLogSegmentState.COPY_SEGMENT_STARTED
                    || from == RemoteLogSegmentState.COPY_SEGMENT_FINISHED;
            case DELETE_SEGMENT_FINISHED -> from == RemoteLogSegmentState.DELETE_SEGMENT_STARTED;
            default -> false;
        };
    }

    /** One broker's connection. What is held back happens in order with {@link #release}. */
    final class Store implements SegmentEventStore {
        private final Listener listener;
        private final Set<TopicIdPartition> followed = new HashSet<>();
        private final Deque<Runnable> heldStream = new ArrayDeque<>();
        private final Deque<Runnable> heldClaims = new ArrayDeque<>();
        private final Deque<Runnable> heldAppends = new ArrayDeque<>();
        private boolean holdsStream;
        private boolean holdsClaims;
        private boolean holdsAppends;
        private boolean isUnreachable;
        private int deletionsToFail;
        private boolean isClosed;
        private ClaimResult claimAnswer;
        private int claims;

        private Store(Listener listener) {
            this.listener = listener;
        }

        void holdStream() {
            holdsStream = true;
        }

        void holdClaims() {
            holdsClaims = true;
        }

        void holdAppends() {
            holdsAppends = true;
        }

        void release() {
            holdsStream = false;
            holdsClaims = false;
            holdsAppends = false;
            drain(heldClaims);
            drain(heldAppends);
            drain(heldStream);
        }

        void releaseClaims() {
            holdsClaims = false;
            drain(heldClaims);
        }

        void releaseAppends() {
            holdsAppends = false;
            drain(heldAppends);
        }

        void setUnreachable(boolean isUnreachable) {
            this.isUnreachable = isUnreachable;
        }

        /** So many announcements of deletions, from now on, get no answer. */
        synchronized void failDeletions(int count) {
            deletionsToFail = count;
        }

        private synchronized boolean isFailing(SegmentEvent event) {
            return event.getState() == RemoteLogSegmentState.DELETE_SEGMENT_STARTED && deletionsToFail-- > 0;
        }

        /** Claims are answered with this; null: as the rules say. */
        void answerClaims(ClaimResult answer) {
            claimAnswer = answer;
        }

        int claims() {
            return claims;
        }

        boolean isClosed() {
            return isClosed;
        }

        boolean follows(TopicIdPartition partition) {
            return followed.contains(partition);
        }

        private static void drain(Deque<Runnable> held) {
            while (!held.isEmpty()) {
                held.poll().run();
            }
        }

        private static void run(boolean isHeld, Deque<Runnable> held, Runnable action) {
            if (isHeld) {
                held.add(action);
            } else {
                action.run();
            }
        }

        private void stored(TopicIdPartition partition, long id, SegmentEvent event) {
            if (followed.contains(partition)) {
                run(holdsStream, heldStream, () -> listener.onEvents(partition, id, List.of(event)));
            }
        }

        @Override
        public CompletableFuture<Long> append(TopicIdPartition partition, SegmentEvent event, long fencingToken) {
            CompletableFuture<Long> answer = new CompletableFuture<>();
            run(holdsAppends, heldAppends, () -> {
                try {
                    if (isUnreachable || isFailing(event)) {
                        throw new StoreUnavailableException("no member answers");
                    }
                    answer.complete(FakeGuardian.this.append(partition, event, fencingToken));
                } catch (RuntimeException e) {
                    answer.completeExceptionally(e);
                }
            });
            return answer;
        }

        @Override
        public CompletableFuture<Map<TopicIdPartition, ClaimResult>> claim(Collection<TopicIdPartition> partitions) {
            claims++;
            CompletableFuture<Map<TopicIdPartition, ClaimResult>> answer = new CompletableFuture<>();
            List<TopicIdPartition> wanted = List.copyOf(partitions);
            run(holdsClaims, heldClaims, () -> {
                if (isUnreachable) {
                    answer.completeExceptionally(new StoreUnavailableException("no member answers"));
                    return;
                }
                Map<TopicIdPartition, ClaimResult> results = new HashMap<>();
                wanted.forEach(each -> results.put(each, claimAnswer != null ? claimAnswer : claimOne(each)));
                answer.complete(results);
            });
            return answer;
        }

        private ClaimResult claimOne(TopicIdPartition partition) {
            synchronized (FakeGuardian.this) {
                return new ClaimResult(++log(partition).token, log(partition).events.size(), "", false);
            }
        }

        @Override
        public CompletableFuture<Void> delete(Collection<TopicIdPartition> partitions) {
            for (TopicIdPartition partition : partitions) {
                log(partition).isDeleted = true;
                stores.stream()
                        .filter(store -> store.followed.remove(partition))
                        .forEach(store -> store.listener.onDeleted(partition));
            }
            return CompletableFuture.completedFuture(null);
        }

        @Override
        public void follow(Collection<TopicIdPartition> partitions) {
            for (TopicIdPartition partition : List.copyOf(partitions)) {
                run(holdsStream, heldStream, () -> load(partition));
            }
        }

        /** As after a gap: everything anew. */
        void load(TopicIdPartition partition) {
            synchronized (FakeGuardian.this) {
                followed.add(partition);
                Log log = log(partition);
                List<SegmentEvent> live = log.segments.values().stream()
                        .filter(each -> each.getState() != RemoteLogSegmentState.DELETE_SEGMENT_FINISHED)
                        .toList();
                listener.onLoaded(partition, live, Map.of(), log.events.size());
            }
        }

        /** As of a snapshot that was taken before anything was stored. */
        void loadNothing(TopicIdPartition partition) {
            listener.onLoaded(partition, List.of(), Map.of(), 0);
        }

        /** Events that were stored before this is undone are missed. */
        void disconnect(TopicIdPartition partition) {
            followed.remove(partition);
        }

        @Override
        public void unfollow(Collection<TopicIdPartition> partitions) {
            followed.removeAll(partitions);
        }

        @Override
        public Status status() {
            return new Status(!isUnreachable, 0, 0, 0, 0, heldAppends.size(), 0, 0, 0, followed.size(), "no member answers");
        }

        @Override
        public void close() {
            isClosed = true;
            isUnreachable = true;
            release();
        }
    }
}

package guardian.kafka.metadata.store;

import com.google.protobuf.ByteString;
import guardian.kafka.metadata.store.PartitionNames.Key;
import guardian.v1.AppendErrorKind;
import guardian.v1.PartitionAppendResult;
import guardian.v1.TopicIdPartition;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;

/**
 * Events that wait, and what becomes of those that were sent. No clock, no network.
 *
 * <pre>
 *     add ─▶ a line for each partition ─next─▶ requests of what has queued ─▶ answered ─▶ futures
 *                 ▲                                                              │
 *                 └── a part of several events was refused: one at a time ◀──────┘
 * </pre>
 *
 * <p>A segment is in one request at a time. So its events keep their order whatever happens to requests on their way, and
 * requests need no order among themselves: one may overtake another that has events of the same partition.
 *
 * <p>A request goes out when it has as many events as are under way, or nothing is. So a lone event goes at once, and under
 * load two large requests follow each other, which is cheaper for Guardian than many small ones.
 */
final class AppendQueue {
    private final PartitionNames names;
    private final int maxEvents;
    private final int maxBytes;
    private final Map<Key, Line> lines = new HashMap<>();
    private final Deque<Line> ready = new ArrayDeque<>(); // lines whose first event may be sent
    private int waiting; // events
    private int sent;

    /** One partition's events in their order, and the segments that are in requests now. */
    static final class Line {
        private final Key key;
        private final TopicIdPartition name;
        private final Deque<PendingAppend> waiting = new ArrayDeque<>();
        private final Set<ByteString> sent = new HashSet<>();
        private boolean isReady;

        private Line(Key key, TopicIdPartition name) {
            this.key = key;
            this.name = name;
        }

        TopicIdPartition name() {
            return name;
        }

        private boolean maySend() {
            return !waiting.isEmpty() && !sent.contains(waiting.peek().event.getSegmentId());
        }

        private boolean staysReady() {
            isReady = maySend();
            return isReady;
        }

        private boolean isIdle() {
            return waiting.isEmpty() && sent.isEmpty();
        }
    }

    /** What may still go into a request. */
    private static final class Room {
        private int events;
        private int bytes;
        private boolean isEmptyYet = true;

        Room(int events, int bytes) {
            this.events = events;
            this.bytes = bytes;
        }

        boolean takes(PendingAppend pending) {
            int size = pending.event.getSerializedSize();
            if (!isEmptyYet && (events < 1 || size > bytes)) {
                return false;
            }
            isEmptyYet = false;
            events--;
            bytes -= size;
            return true;
        }
    }

    AppendQueue(PartitionNames names, int maxEvents, int maxBytes) {
        this.names = names;
        this.maxEvents = maxEvents;
        this.maxBytes = maxBytes;
    }

    void add(PendingAppend pending) {
        Key key = Key.of(pending.partition);
        Line line = lines.computeIfAbsent(key, added -> new Line(added, names.name(pending.partition)));
        line.waiting.add(pending);
        waiting++;
        makeReady(line);
    }

    boolean isEmpty() {
        return ready.isEmpty();
    }

    /** What has queued, up to the limits; null when that is too little yet, or waits for its segments. */
    AppendRequest next() {
        if (waiting < Math.min(sent, maxEvents)) {
            return null;
        }
        AppendRequest request = new AppendRequest();
        Room room = new Room(maxEvents, maxBytes);
        List<Line> taken = new ArrayList<>();
        while (!ready.isEmpty() && take(ready.peek(), room, request)) {
            Line line = ready.poll();
            line.isReady = false;
            taken.add(line);
        }
        taken.forEach(this::makeReady);
        return request.parts().isEmpty() ? null : request;
    }

    /**
     * @param results in the order of the request
     * @return false when they do not fit the request, of which nothing is known then
     */
    boolean answered(AppendRequest request, List<PartitionAppendResult> results) {
        List<AppendRequest.Part> parts = request.parts();
        if (results.size() != parts.size()) {
            return false;
        }
        for (int i = 0; i < parts.size(); i++) {
            answer(parts.get(i), results.get(i));
        }
        release(request);
        return true;
    }

    /** No part of it was carried out, and none will be. */
    void refused(AppendRequest request, String sentence) {
        for (AppendRequest.Part part : request.parts()) {
            for (PendingAppend pending : part.events()) {
                pending.refuse(new RefusedEventException(
                        pending.partition, AppendErrorKind.APPEND_ERROR_KIND_UNSPECIFIED, sentence));
            }
        }
        release(request);
    }

    /** Its segments may be in another request. */
    void release(AppendRequest request) {
        for (AppendRequest.Part part : request.parts()) {
            part.events().forEach(pending -> part.line().sent.remove(pending.event.getSegmentId()));
            sent -= part.events().size();
        }
        request.parts().forEach(part -> makeReady(part.line()));
    }

    /** Forgets those that wait and are due. */
    void expire(Predicate<PendingAppend> isDue, StoreUnavailableException why) {
        for (Line line : List.copyOf(lines.values())) {
            if (line.waiting.removeIf(pending -> isDue.test(pending) && forget(pending, why))) {
                makeReady(line);
            }
        }
        ready.removeIf(line -> !line.staysReady());
    }

    private boolean forget(PendingAppend pending, StoreUnavailableException why) {
        pending.expire(why);
        waiting--;
        return true;
    }

    private void makeReady(Line line) {
        if (line.maySend() && !line.isReady) {
            line.isReady = true;
            ready.add(line);
        } else if (line.isIdle()) {
            lines.remove(line.key, line);
        }
    }

    /** Moves as much of a line into the request as there is room for; false when that is nothing. */
    private boolean take(Line line, Room room, AppendRequest request) {
        long token = line.waiting.peek().token;
        List<PendingAppend> taken = new ArrayList<>();
        List<PendingAppend> together = new ArrayList<>();
        while (line.maySend() && line.waiting.peek().token == token && room.takes(line.waiting.peek())) {
            PendingAppend pending = line.waiting.poll();
            taken.add(pending);
            together.add(pending);
            if (pending.isAlone) {
                request.add(line, together);
                together = new ArrayList<>();
            }
        }
        if (!together.isEmpty()) {
            request.add(line, together);
        }
        taken.forEach(pending -> line.sent.add(pending.event.getSegmentId()));
        waiting -= taken.size();
        sent += taken.size();
        return !taken.isEmpty();
    }

    private void answer(AppendRequest.Part part, PartitionAppendResult result) {
        List<PendingAppend> events = part.events();
        if (result.getError().isEmpty()) {
            events.forEach(pending -> pending.stored(result.getNextEventId()));
        } else if (events.size() == 1 || isOfTheWhole(result.getErrorKind())) {
            events.forEach(pending -> pending.refuse(refusal(pending, result)));
        } else {
            takeBack(part.line(), events);
        }
    }

    /** A part is refused as a whole for one event: which it was turns out when each is a part of its own. */
    private void takeBack(Line line, List<PendingAppend> events) {
        for (int i = events.size() - 1; i >= 0; i--) {
            PendingAppend pending = events.get(i);
            if (!pending.isSettled()) {
                pending.isAlone = true;
                line.waiting.addFirst(pending);
                waiting++;
            }
        }
    }

    private static boolean isOfTheWhole(AppendErrorKind kind) {
        return kind == AppendErrorKind.FENCED_LEADER_EPOCH || kind == AppendErrorKind.PARTITION_DELETED;
    }

    private static RuntimeException refusal(PendingAppend pending, PartitionAppendResult result) {
        if (result.getErrorKind() == AppendErrorKind.FENCED_LEADER_EPOCH) {
            return new FencedWriterException(
                    pending.partition, pending.token, result.getFencingToken(), result.getError());
        }
        return new RefusedEventException(pending.partition, result.getErrorKind(), result.getError());
    }
}

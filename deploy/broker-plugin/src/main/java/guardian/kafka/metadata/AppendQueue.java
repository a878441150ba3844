package guardian.kafka.metadata;

import guardian.kafka.metadata.PartitionNames.Key;
import guardian.v1.AppendErrorKind;
import guardian.v1.PartitionAppendResult;
import guardian.v1.TopicIdPartition;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
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
 * <p>A partition is in one request at a time. So its events keep their order whatever happens to requests on their way,
 * requests need no order among themselves, and what queues meanwhile makes the next request larger.
 */
final class AppendQueue {
    private final PartitionNames names;
    private final int maxEvents;
    private final int maxBytes;
    private final Map<Key, Line> lines = new HashMap<>();
    private final Deque<Line> ready = new ArrayDeque<>();

    /** One partition's events in their order. */
    static final class Line {
        private final Key key;
        private final TopicIdPartition name;
        private final Deque<PendingAppend> waiting = new ArrayDeque<>();
        private int oneByOne; // of those that wait: the first so many were refused together
        private boolean isReadyOrSent;

        private Line(Key key, TopicIdPartition name) {
            this.key = key;
            this.name = name;
        }

        TopicIdPartition name() {
            return name;
        }

        private PendingAppend take() {
            oneByOne = Math.max(0, oneByOne - 1);
            return waiting.poll();
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
        makeReady(line);
    }

    boolean isEmpty() {
        return ready.isEmpty();
    }

    /** What has queued, up to the limits; null when all that waits waits for its partition. */
    AppendRequest next() {
        AppendRequest request = new AppendRequest();
        Room room = new Room(maxEvents, maxBytes);
        while (!ready.isEmpty() && take(ready.peek(), room, request)) {
            ready.poll();
        }
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

    /** Its partitions may be in another request. */
    void release(AppendRequest request) {
        for (AppendRequest.Part part : request.parts()) {
            part.line().isReadyOrSent = false;
        }
        for (AppendRequest.Part part : request.parts()) {
            makeReady(part.line());
        }
    }

    /** Forgets those that wait and are due; a line's first ones are so first. */
    void expire(Predicate<PendingAppend> isDue, StoreUnavailableException why) {
        for (Line line : List.copyOf(lines.values())) {
            while (!line.waiting.isEmpty() && isDue.test(line.waiting.peek())) {
                line.take().expire(why);
            }
            if (line.waiting.isEmpty() && line.isReadyOrSent) {
                line.isReadyOrSent = !ready.remove(line);
            }
            forgetIfIdle(line);
        }
    }

    private void makeReady(Line line) {
        if (!line.waiting.isEmpty() && !line.isReadyOrSent) {
            line.isReadyOrSent = true;
            ready.add(line);
        }
        forgetIfIdle(line);
    }

    private void forgetIfIdle(Line line) {
        if (line.waiting.isEmpty() && !line.isReadyOrSent) {
            lines.remove(line.key, line);
        }
    }

    /** Moves as much of a line into the request as there is room for; false when that is nothing. */
    private static boolean take(Line line, Room room, AppendRequest request) {
        long token = line.waiting.peek().token;
        List<PendingAppend> together = new ArrayList<>();
        boolean isAnyTaken = false;
        while (!line.waiting.isEmpty() && line.waiting.peek().token == token && room.takes(line.waiting.peek())) {
            boolean isAlone = line.oneByOne > 0;
            together.add(line.take());
            isAnyTaken = true;
            if (isAlone) {
                request.add(line, together);
                together = new ArrayList<>();
            }
        }
        if (!together.isEmpty()) {
            request.add(line, together);
        }
        return isAnyTaken;
    }

    private static void answer(AppendRequest.Part part, PartitionAppendResult result) {
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
    private static void takeBack(Line line, List<PendingAppend> events) {
        for (int i = events.size() - 1; i >= 0; i--) {
            if (!events.get(i).isSettled()) {
                line.waiting.addFirst(events.get(i));
                line.oneByOne++;
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

package guardian.kafka.metadata.store;

import guardian.kafka.common.BackOff;
import guardian.v1.StreamSegmentEventsReply;
import guardian.v1.StreamSegmentEventsRequest;
import guardian.v1.TieringGrpc;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.stub.ClientCallStreamObserver;
import io.grpc.stub.ClientResponseObserver;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.function.Predicate;

/**
 * Sends what the queue has over one stream to the leader, many requests at once, and sends again what got no answer.
 *
 * <pre>
 *     queue ─▶ sent (in the stream's order) ─ reply ─▶ queue.answered
 *                └─ the stream breaks, or the member is overloaded: again, with the same session and number
 * </pre>
 *
 * <p>A request is carried out once however often it is sent: its session says so, and where Guardian has forgotten the
 * session, repeating an event changes nothing anyway.
 */
final class AppendStream implements AutoCloseable {
    private final StoreLoop loop;
    private final LeaderFinder finder;
    private final Sessions sessions;
    private final AppendQueue queue;
    private final StoreSettings.Limits limits;
    private final Counters counters;
    private final BackOff backOff;
    private final Deque<AppendRequest> sent = new ArrayDeque<>();
    private final Deque<AppendRequest> again = new ArrayDeque<>();
    private Session session;
    private boolean isOpeningSession;
    private Stream stream; // null: none
    private long lastReplyNanos;
    private boolean isPaused;
    private boolean isClosed;

    AppendStream(
            StoreLoop loop,
            LeaderFinder finder,
            Sessions sessions,
            AppendQueue queue,
            StoreSettings.Limits limits,
            Counters counters) {
        this.loop = loop;
        this.finder = finder;
        this.sessions = sessions;
        this.queue = queue;
        this.limits = limits;
        this.counters = counters;
        backOff = limits.newBackOff();
    }

    /** Sends what may be sent now. */
    void pump() {
        if (isClosed || isPaused || again.isEmpty() && queue.isEmpty()) {
            return;
        }
        if (session == null) {
            openSession();
            return;
        }
        if (stream != null && finder.isLeaderElsewhere(stream.endpoint) && !leave()) {
            return;
        }
        if (stream == null) {
            stream = new Stream(finder.leader());
            stream.open();
        }
        while (sent.size() < limits.requestsInFlight()) {
            AppendRequest request = next();
            if (request == null) {
                return;
            }
            send(request);
        }
    }

    /** What is sent again goes first: it may be what the session's window waits for. */
    private AppendRequest next() {
        if (!again.isEmpty()) {
            return again.peek().sequence != 0 || session.hasRoom() ? again.poll() : null;
        }
        return session.hasRoom() ? queue.next() : null;
    }

    /** Gives up what is out of time, and breaks a stream whose member hangs. */
    void tick(long now) {
        if (counters.pending.get() == 0 && sent.isEmpty() && again.isEmpty()) {
            return;
        }
        StoreUnavailableException why = new StoreUnavailableException("no Guardian member answered at "
                + finder.endpoints() + " within " + limits.writeLimit().toMillis() + " ms (" + counters.lastError
                + "): whether the event is stored is not known, repeating it is safe");
        expire(pending -> pending.isExpired(now), why);
        again.removeIf(this::isGivenUp);
        if (!sent.isEmpty() && now - Math.max(sent.peek().sentAtNanos, lastReplyNanos) > silenceNanos()) {
            stream.fail(Status.DEADLINE_EXCEEDED.withDescription("no answer for " + limits.silenceLimit().toMillis()
                    + " ms"), null);
        }
        pump();
    }

    @Override
    public void close() {
        isClosed = true;
        if (stream != null) {
            stream.cancel();
        }
        expire(pending -> true, new StoreUnavailableException("the store is closed"));
    }

    private void expire(Predicate<PendingAppend> isDue, StoreUnavailableException why) {
        queue.expire(isDue, why);
        sent.forEach(request -> request.expire(isDue, why));
        again.forEach(request -> request.expire(isDue, why));
    }

    private long silenceNanos() {
        return limits.silenceLimit().toNanos();
    }

    private void openSession() {
        if (isOpeningSession) {
            return;
        }
        isOpeningSession = true;
        sessions.open().whenComplete((opened, failure) -> {
            isOpeningSession = false;
            session = opened;
            again.forEach(request -> request.sequence = 0);
            if (failure == null) {
                pump();
            } else {
                pause(0);
            }
        });
    }

    private void send(AppendRequest request) {
        if (request.sequence == 0) {
            request.sequence = session.take();
        } else {
            counters.retries.increment();
        }
        request.sentAtNanos = System.nanoTime();
        sent.add(request);
        stream.requests.onNext(StreamSegmentEventsRequest.newBuilder()
                .setSession(session.ref(request.sequence))
                .setAppend(request.message())
                .build());
    }

    private void take(StreamSegmentEventsReply reply, Stream from) {
        AppendRequest request = sent.poll();
        if (request == null) {
            from.fail(Status.INTERNAL.withDescription("the member answered what was not asked"), null);
            return;
        }
        lastReplyNanos = System.nanoTime();
        Status status = Status.fromCodeValue(reply.getCode()).withDescription(reply.getError());
        if (status.isOk()) {
            takeResults(request, reply, from);
        } else if (status.getCode() == Status.Code.RESOURCE_EXHAUSTED) {
            again.add(request);
            counters.lastError = LeaderFinder.sentence(status);
            pause(reply.getRetryAfterMs());
        } else if (status.getCode() == Status.Code.DATA_LOSS) {
            sent.addFirst(request);
            session = null;
            from.cancel();
        } else if (LeaderCalls.isFinal(status.getCode())) {
            session.release(request.sequence);
            queue.refused(request, LeaderFinder.sentence(status));
        } else {
            sent.addFirst(request);
            from.fail(status, null);
        }
        pump();
    }

    private void takeResults(AppendRequest request, StreamSegmentEventsReply reply, Stream from) {
        if (!queue.answered(request, reply.getAppend().getResultsList())) {
            sent.addFirst(request);
            from.fail(Status.INTERNAL.withDescription("the member answered something else than was asked"), null);
            return;
        }
        session.release(request.sequence);
        backOff.reset();
        finder.answered(from.endpoint);
    }

    private boolean isGivenUp(AppendRequest request) {
        if (!request.isSettled()) {
            return false;
        }
        if (session != null && request.sequence != 0) {
            session.release(request.sequence);
        }
        queue.release(request);
        return true;
    }

    /** Ends the stream when all that was sent on it is answered; false while it is not. */
    private boolean leave() {
        if (!sent.isEmpty()) {
            return false;
        }
        stream.requests.onCompleted();
        stream = null;
        return true;
    }

    private void pause(long askedForMs) {
        if (isPaused || isClosed) {
            return;
        }
        isPaused = true;
        Duration pause = backOff.next(Math.min(askedForMs, limits.silenceLimit().toMillis()));
        loop.after(pause, () -> {
            isPaused = false;
            pump();
        });
    }

    /** One stream to one member. What it says after it is no longer the present one is not heard. */
    private final class Stream
            implements ClientResponseObserver<StreamSegmentEventsRequest, StreamSegmentEventsReply> {
        private final String endpoint;
        private ClientCallStreamObserver<StreamSegmentEventsRequest> requests;

        Stream(String endpoint) {
            this.endpoint = endpoint;
        }

        void open() {
            TieringGrpc.newStub(finder.channel(endpoint)).streamSegmentEvents(this);
        }

        @Override
        public void beforeStart(ClientCallStreamObserver<StreamSegmentEventsRequest> call) {
            requests = call;
        }

        @Override
        public void onNext(StreamSegmentEventsReply reply) {
            if (stream == this) {
                take(reply, this);
            }
        }

        @Override
        public void onError(Throwable error) {
            fail(Status.fromThrowable(error), Status.trailersFromThrowable(error));
        }

        @Override
        public void onCompleted() {
            fail(Status.UNAVAILABLE.withDescription("the member ended the stream"), null);
        }

        /** What was sent and not answered goes first on the next stream. */
        void cancel() {
            if (stream != this) {
                return;
            }
            stream = null;
            counters.reconnects.increment();
            List.copyOf(sent).forEach(request -> again.add(request));
            sent.clear();
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

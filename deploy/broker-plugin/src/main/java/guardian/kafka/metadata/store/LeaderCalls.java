package guardian.kafka.metadata.store;

import guardian.kafka.common.BackOff;
import io.grpc.Channel;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.StreamObserver;
import java.time.Duration;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.CompletableFuture;

/**
 * Unary changes, carried to the leader through the deaths of members, elections and overload, within the write limit.
 *
 * <p>A change that may not be repeated brings its session along.
 */
final class LeaderCalls implements AutoCloseable {
    private static final Metadata.Key<String> RETRY_AFTER_MS =
            Metadata.Key.of("retry-after-ms", Metadata.ASCII_STRING_MARSHALLER);
    /** What another member, or the same one later, would answer too. */
    private static final Set<Status.Code> FINAL = EnumSet.of(
            Status.Code.INVALID_ARGUMENT,
            Status.Code.NOT_FOUND,
            Status.Code.ABORTED,
            Status.Code.FAILED_PRECONDITION,
            Status.Code.OUT_OF_RANGE,
            Status.Code.DATA_LOSS);
    private static final long MAX_HINT_MS = 10_000;

    private final StoreLoop loop;
    private final LeaderFinder finder;
    private final StoreSettings.Limits limits;
    private final Counters counters;
    private final Set<Attempts<?>> underWay = new HashSet<>();
    private boolean isClosed;

    /** Sends the request once; the reply must come within the patience. */
    interface Attempt<R> {
        void send(Channel member, Duration patience, StreamObserver<R> reply);
    }

    LeaderCalls(StoreLoop loop, LeaderFinder finder, StoreSettings.Limits limits, Counters counters) {
        this.loop = loop;
        this.finder = finder;
        this.limits = limits;
        this.counters = counters;
    }

    static boolean isFinal(Status.Code code) {
        return FINAL.contains(code);
    }

    /** What the member asks for, in milliseconds; 0: nothing. */
    static long retryAfterMs(Metadata trailers) {
        String value = trailers == null ? null : trailers.get(RETRY_AFTER_MS);
        return value != null && value.matches("\\d{1,9}") ? Math.min(Long.parseLong(value), MAX_HINT_MS) : 0;
    }

    /**
     * @param patience of one attempt
     * @return fails with StatusRuntimeException for what no repetition changes, else StoreUnavailableException
     */
    <R> CompletableFuture<R> call(Duration patience, Attempt<R> attempt) {
        Attempts<R> attempts = new Attempts<>(attempt, patience);
        if (isClosed) {
            attempts.fail(closed());
        } else {
            underWay.add(attempts);
            attempts.next();
        }
        return attempts.done;
    }

    @Override
    public void close() {
        isClosed = true;
        Set.copyOf(underWay).forEach(attempts -> attempts.fail(closed()));
    }

    private static StoreUnavailableException closed() {
        return new StoreUnavailableException("the store is closed");
    }

    private final class Attempts<R> {
        private final CompletableFuture<R> done = new CompletableFuture<>();
        private final BackOff backOff = limits.newBackOff();
        private final long deadline = System.nanoTime() + limits.writeLimit().toNanos();
        private final Attempt<R> attempt;
        private final Duration patience;
        private String lastFailure = "";

        Attempts(Attempt<R> attempt, Duration patience) {
            this.attempt = attempt;
            this.patience = patience;
        }

        void next() {
            Duration left = Duration.ofNanos(deadline - System.nanoTime());
            if (done.isDone()) {
                return;
            }
            if (left.isNegative() || left.isZero()) {
                fail(new StoreUnavailableException("no Guardian member answered at " + finder.endpoints() + " within "
                        + limits.writeLimit().toMillis() + " ms (" + lastFailure + "): retry"));
                return;
            }
            String endpoint = finder.leader();
            attempt.send(
                    finder.channel(endpoint),
                    left.compareTo(patience) < 0 ? left : patience,
                    new Reply(endpoint));
        }

        void fail(RuntimeException why) {
            underWay.remove(this);
            done.completeExceptionally(why);
        }

        private void retry(String endpoint, Status status, Metadata trailers) {
            lastFailure = LeaderFinder.sentence(status);
            if (isFinal(status.getCode())) {
                finder.answered(endpoint);
                fail(new StatusRuntimeException(status, trailers));
                return;
            }
            counters.retries.increment();
            finder.failed(endpoint, status);
            Duration pause = backOff.next(retryAfterMs(trailers));
            Duration left = Duration.ofNanos(Math.max(0, deadline - System.nanoTime()));
            loop.after(pause.compareTo(left) < 0 ? pause : left, this::next);
        }

        private final class Reply implements StreamObserver<R> {
            private final String endpoint;
            private R reply;

            Reply(String endpoint) {
                this.endpoint = endpoint;
            }

            @Override
            public void onNext(R value) {
                reply = value;
            }

            @Override
            public void onError(Throwable error) {
                retry(endpoint, Status.fromThrowable(error), Status.trailersFromThrowable(error));
            }

            @Override
            public void onCompleted() {
                if (reply == null) {
                    retry(endpoint, Status.INTERNAL.withDescription("no reply"), null);
                    return;
                }
                finder.answered(endpoint);
                underWay.remove(Attempts.this);
                done.complete(reply);
            }
        }
    }
}

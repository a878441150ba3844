package guardian.kafka.reporter;

import guardian.kafka.reporter.listener.Connections;
import guardian.kafka.reporter.listener.ReporterSettings;
import io.grpc.ForwardingServerCallListener.SimpleForwardingServerCallListener;
import io.grpc.Grpc;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.Status;
import java.net.SocketAddress;
import java.time.Duration;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Bounds what callers can make the broker hold: a call counts until its answer has left, and a caller that does not
 * take it in time loses its connection.
 */
final class CallLimiter implements ServerInterceptor {
    private final int maxCalls;
    private final Semaphore free;
    private final long limitMs;
    private final Connections connections;
    private final ScheduledExecutorService timer;

    /** @param limit for a whole call: above what the collection itself may take */
    CallLimiter(int maxCalls, Duration limit, Connections connections, ScheduledExecutorService timer) {
        this.maxCalls = maxCalls;
        this.free = new Semaphore(maxCalls);
        this.limitMs = limit.toMillis();
        this.connections = connections;
        this.timer = timer;
    }

    @Override
    public <Q, A> ServerCall.Listener<Q> interceptCall(
            ServerCall<Q, A> call, Metadata headers, ServerCallHandler<Q, A> next) {
        SocketAddress caller = call.getAttributes().get(Grpc.TRANSPORT_ATTR_REMOTE_ADDR);
        if (connections.isStalled(caller)) {
            return refuse(call, "the caller does not read the answers that it has asked for");
        }
        if (!free.tryAcquire()) {
            return refuse(call, maxCalls + " calls run at once, which is " + ReporterSettings.MAX_CALLS
                    + ": call again later");
        }
        Future<?> cut = timer.schedule(() -> connections.cut(caller), limitMs, TimeUnit.MILLISECONDS);
        AtomicBoolean isOver = new AtomicBoolean();
        Runnable end = () -> {
            if (isOver.compareAndSet(false, true)) {
                cut.cancel(false);
                free.release();
            }
        };
        try {
            return new SimpleForwardingServerCallListener<>(next.startCall(call, headers)) {
                @Override
                public void onComplete() {
                    end.run();
                    super.onComplete();
                }

                @Override
                public void onCancel() {
                    end.run();
                    super.onCancel();
                }
            };
        } catch (RuntimeException | LinkageError e) {
            end.run();
            throw e;
        }
    }

    private static <Q, A> ServerCall.Listener<Q> refuse(ServerCall<Q, A> call, String reason) {
        call.close(Status.RESOURCE_EXHAUSTED.withDescription(reason), new Metadata());
        return new ServerCall.Listener<>() {};
    }
}

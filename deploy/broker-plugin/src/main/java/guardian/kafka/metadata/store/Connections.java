package guardian.kafka.metadata.store;

import guardian.kafka.common.HostAndPort;
import guardian.kafka.common.MemberChannels;
import guardian.kafka.common.MemberSettings;
import guardian.kafka.common.Tls;
import io.grpc.ConnectivityState;
import io.grpc.ManagedChannel;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/**
 * A channel to each member, made when it is first used; what comes in is handed to one executor.
 *
 * <p>With TLS each connection, also one that a channel makes anew, shows the certificate that lies there then.
 */
final class Connections implements AutoCloseable {
    private static final int MAX_MESSAGE_BYTES = 64 << 20;
    private static final int WINDOW_BYTES = 4 << 20;
    private static final int KEEPALIVE_S = 10;
    private static final int KEEPALIVE_TIMEOUT_S = 5;
    private static final Duration END_LIMIT = Duration.ofSeconds(5);

    // gRPC's own are shared by all channels of the JVM and end a second after the last: Kafka's tests call that a leak.
    private final OwnThreads threads = new OwnThreads("guardian-transport");
    private final ExecutorService transport = Executors.newCachedThreadPool(threads);
    private final ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor(threads);
    private final Map<String, ManagedChannel> channels = new HashMap<>();
    private final Executor executor;
    private final Optional<Tls> tls;
    private boolean isClosed;

    Connections(Executor executor, Optional<Tls> tls) {
        this.executor = executor;
        this.tls = tls;
    }

    ManagedChannel to(String endpoint) {
        ManagedChannel channel = channels.computeIfAbsent(endpoint, this::open);
        if (channel.getState(false) == ConnectivityState.TRANSIENT_FAILURE) {
            channel.resetConnectBackoff(); // Who asks has waited already; gRPC would wait for up to two minutes.
        }
        return channel;
    }

    private ManagedChannel open(String endpoint) {
        HostAndPort member = HostAndPort.parse(MemberSettings.ENDPOINTS, endpoint);
        ManagedChannel channel = MemberChannels.builder(member, tls)
                .executor(executor)
                .offloadExecutor(transport)
                .transportExecutor(transport)
                .scheduledExecutorService(timer)
                .maxInboundMessageSize(MAX_MESSAGE_BYTES)
                .flowControlWindow(WINDOW_BYTES)
                .keepAliveTime(KEEPALIVE_S, TimeUnit.SECONDS)
                .keepAliveTimeout(KEEPALIVE_TIMEOUT_S, TimeUnit.SECONDS)
                .build();
        if (isClosed) {
            channel.shutdownNow();
        }
        return channel;
    }

    @Override
    public void close() {
        isClosed = true;
        channels.values().forEach(ManagedChannel::shutdownNow);
    }

    /**
     * Call it on another thread than the executor's, when that has ended: then no thread of a channel is left.
     *
     * <p>The threads are taken last: a channel that was just being connected hears of its end on one of them, and hands the
     * closing of its socket to another one. Refused there, its reader would wait on an open socket for ever.
     */
    void awaitEnd() {
        long deadline = System.nanoTime() + END_LIMIT.toNanos();
        try {
            for (ManagedChannel channel : channels.values()) {
                channel.awaitTermination(deadline - System.nanoTime(), TimeUnit.NANOSECONDS);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        transport.shutdown();
        timer.shutdownNow();
        threads.join(END_LIMIT);
        transport.shutdownNow();
    }
}

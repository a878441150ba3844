package guardian.kafka.reporter;

import guardian.kafka.common.HostAndPort;
import guardian.kafka.common.Tls;
import guardian.kafka.reporter.listener.Connections;
import io.grpc.InsecureServerCredentials;
import io.grpc.Server;
import io.grpc.ServerCredentials;
import io.grpc.okhttp.OkHttpServerBuilder;
import java.io.IOException;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/** The endpoint that Guardian's members call. */
final class ReporterServer implements AutoCloseable {
    private static final int MAX_REQUEST_BYTES = 64 * 1024;
    private static final int MAX_HEADER_BYTES = 8 * 1024;

    private final Server server;
    private final BrokerReporterService service;
    private final Connections connections;

    private ReporterServer(Server server, BrokerReporterService service, Connections connections) {
        this.server = server;
        this.service = service;
        this.connections = connections;
    }

    /**
     * What one server may be asked to carry.
     *
     * @param call from its request until its answer has left
     * @param greeting until a new connection has spoken HTTP/2
     */
    record Limits(int calls, Duration call, Duration greeting) {}

    /** @throws IOException when the address can't be bound */
    static ReporterServer start(
            HostAndPort listener,
            Optional<Tls> tls,
            Limits limits,
            Connections connections,
            BrokerReporterService service,
            ScheduledExecutorService timer)
            throws IOException {
        ServerCredentials credentials = tls.map(Tls::forServer).orElseGet(InsecureServerCredentials::create);
        Server server = OkHttpServerBuilder.forPort(listener.resolved(), credentials)
                .socketFactory(connections)
                .directExecutor()
                .scheduledExecutorService(timer)
                .handshakeTimeout(limits.greeting().toMillis(), TimeUnit.MILLISECONDS)
                .maxInboundMessageSize(MAX_REQUEST_BYTES)
                .maxInboundMetadataSize(MAX_HEADER_BYTES)
                .maxConcurrentCallsPerConnection(limits.calls() + 1)
                .permitKeepAliveTime(10, TimeUnit.SECONDS)
                .permitKeepAliveWithoutCalls(true)
                // A caller whose host vanished without a word must not hold a thread for ever.
                .keepAliveTime(60, TimeUnit.SECONDS)
                .maxConnectionIdle(10, TimeUnit.MINUTES)
                .intercept(new CallLimiter(limits.calls(), limits.call(), connections, timer))
                .addService(service)
                .build();
        server.start();
        return new ReporterServer(server, service, connections);
    }

    int port() {
        return server.getPort();
    }

    @Override
    public void close() {
        server.shutdownNow();
        connections.cutAll();
        service.close();
    }
}

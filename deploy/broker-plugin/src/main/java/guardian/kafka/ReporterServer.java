package guardian.kafka;

import io.grpc.InsecureServerCredentials;
import io.grpc.Server;
import io.grpc.okhttp.OkHttpServerBuilder;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.concurrent.TimeUnit;

/** The endpoint that Guardian's members call. */
final class ReporterServer implements AutoCloseable {
    private static final int MAX_REQUEST_BYTES = 64 * 1024;

    private final Server server;
    private final BrokerReporterService service;

    private ReporterServer(Server server, BrokerReporterService service) {
        this.server = server;
        this.service = service;
    }

    /** @throws IOException when the address can't be bound */
    static ReporterServer start(ReporterSettings settings, BrokerReporterService service) throws IOException {
        InetSocketAddress address = new InetSocketAddress(settings.host(), settings.port());
        if (address.isUnresolved()) {
            service.close();
            throw new IOException("the host is unknown");
        }
        Server server = OkHttpServerBuilder.forPort(address, InsecureServerCredentials.create())
                .directExecutor()
                .maxInboundMessageSize(MAX_REQUEST_BYTES)
                .permitKeepAliveTime(10, TimeUnit.SECONDS)
                .permitKeepAliveWithoutCalls(true)
                // A caller whose host vanished without a word must not hold a thread for ever.
                .keepAliveTime(60, TimeUnit.SECONDS)
                .addService(service)
                .build();
        try {
            server.start();
        } catch (IOException e) {
            service.close();
            throw e;
        }
        return new ReporterServer(server, service);
    }

    int port() {
        return server.getPort();
    }

    @Override
    public void close() {
        server.shutdownNow();
        service.close();
    }
}

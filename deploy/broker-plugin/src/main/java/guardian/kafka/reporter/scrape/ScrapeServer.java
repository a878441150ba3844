package guardian.kafka.reporter.scrape;

import guardian.kafka.common.DaemonThreads;
import guardian.kafka.common.HostAndPort;
import guardian.kafka.common.Tls;
import guardian.kafka.reporter.listener.Connections;
import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketAddress;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLSocketFactory;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * {@code /metrics} over HTTP/1.1: a thread for each connection, of which there are few, and a deadline for each
 * request.
 *
 * <p>The JDK's own HTTP server has neither a limit for connections nor for the time that a slow reader may take, unless
 * by settings of the whole JVM, which are not ours to change in a broker.
 */
public final class ScrapeServer implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(ScrapeServer.class);
    private static final int BACKLOG = 50;
    private static final int OUT_BYTES = 16 * 1024;

    /** @param request from its first byte until its answer is written; a new connection has as long to say something */
    public record Limits(Duration request, Duration idle) {}

    private final ServerSocket listener;
    private final Optional<SSLSocketFactory> tls;
    private final Limits limits;
    private final Connections connections;
    private final ScrapeHandler handler;
    private final ScheduledExecutorService timer;
    private final ExecutorService threads = Executors.newCachedThreadPool(new DaemonThreads("guardian-reporter-http"));

    private ScrapeServer(
            ServerSocket listener,
            Optional<SSLSocketFactory> tls,
            Limits limits,
            Connections connections,
            ScrapeHandler handler,
            ScheduledExecutorService timer) {
        this.listener = listener;
        this.tls = tls;
        this.limits = limits;
        this.connections = connections;
        this.handler = handler;
        this.timer = timer;
    }

    /** @throws IOException when the address can't be bound */
    public static ScrapeServer start(
            HostAndPort address,
            Optional<Tls> tls,
            Limits limits,
            Connections connections,
            ScrapeHandler handler,
            ScheduledExecutorService timer)
            throws IOException {
        ServerSocket listener = connections.createServerSocket();
        try {
            listener.bind(address.resolved(), BACKLOG);
        } catch (IOException | RuntimeException e) {
            listener.close();
            throw e;
        }
        ScrapeServer server = new ScrapeServer(
                listener, tls.map(Tls::serverSockets), limits, connections, handler, timer);
        server.threads.execute(server::accept);
        return server;
    }

    public int port() {
        return listener.getLocalPort();
    }

    @Override
    public void close() {
        try {
            listener.close();
        } catch (IOException e) {
            LOG.debug("The listener for scrapes did not close", e);
        }
        connections.cutAll();
        threads.shutdownNow();
    }

    private void accept() {
        while (!listener.isClosed()) {
            try {
                Socket socket = listener.accept();
                threads.execute(() -> serve(socket));
            } catch (IOException | RuntimeException | OutOfMemoryError e) {
                LOG.debug("A connection was not accepted", e);
            }
        }
    }

    private void serve(Socket accepted) {
        try (accepted) {
            converse(accepted);
        } catch (IOException e) {
            LOG.debug("A scrape's connection has ended", e);
        } catch (RuntimeException | LinkageError | OutOfMemoryError e) {
            LOG.warn("A scrape failed", e);
        }
    }

    private void converse(Socket accepted) throws IOException {
        SocketAddress peer = accepted.getRemoteSocketAddress();
        accepted.setTcpNoDelay(true);
        accepted.setSoTimeout((int) limits.idle().toMillis());
        Future<?> deadline = cutLater(peer);
        try {
            Socket socket = tls.isPresent() ? tls.get().createSocket(accepted, null, -1, true) : accepted;
            InputStream in = new BufferedInputStream(socket.getInputStream());
            OutputStream out = new BufferedOutputStream(socket.getOutputStream(), OUT_BYTES);
            int first = in.read();
            while (first >= 0) {
                deadline.cancel(false);
                deadline = cutLater(peer);
                boolean goesOn = answer(first, in, out);
                deadline.cancel(false);
                first = goesOn ? in.read() : -1;
            }
        } finally {
            deadline.cancel(false);
        }
    }

    private boolean answer(int first, InputStream in, OutputStream out) throws IOException {
        try {
            HttpRequest request = HttpRequest.read(first, in);
            handler.answer(request, out);
            return request.staysOpen();
        } catch (HttpRequest.Malformed e) {
            ScrapeHandler.refuse(e.status(), e.getMessage(), out);
            return false;
        }
    }

    private Future<?> cutLater(SocketAddress peer) {
        return timer.schedule(
                () -> connections.cut(peer), limits.request().toMillis(), TimeUnit.MILLISECONDS);
    }
}

package guardian.kafka.reporter.listener;

import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketAddress;
import java.time.Duration;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import javax.net.ServerSocketFactory;

/**
 * The connections of one listener: so many and no more, of one address too, and none that is written to for ever.
 *
 * <p>A socket that blocks has no time limit for writes, and holds its thread and what it has to say until the peer
 * reads. So sockets are counted where they are accepted, note when a write begins, and are closed from outside; that
 * ends the write, under TLS too.
 */
public final class Connections extends ServerSocketFactory {
    private static final long ACCEPT_PAUSE_MS = 100;
    private static final int IPV4_BYTES = 4;
    private static final int IPV6_NETWORK_BYTES = 8;

    private final int most;
    private final int mostPerAddress;
    private final long writeLimitNs;
    private final long stalledNs;
    private final Map<SocketAddress, Accepted> open = new ConcurrentHashMap<>();

    /**
     * @param most one more is closed as soon as it is accepted
     * @param mostPerAddress as {@code most}, of one address
     * @param writeLimit after which {@link #cutStuck} closes the connection
     * @param stalled after which {@link #isStalled} says so
     */
    public Connections(int most, int mostPerAddress, Duration writeLimit, Duration stalled) {
        this.most = most;
        this.mostPerAddress = mostPerAddress;
        this.writeLimitNs = writeLimit.toNanos();
        this.stalledNs = stalled.toNanos();
    }

    public int count() {
        return open.size();
    }

    /** Whether the peer does not read what it is sent. */
    public boolean isStalled(SocketAddress peer) {
        Accepted socket = open.get(peer);
        return socket != null && socket.writesFor() > stalledNs;
    }

    public void cut(SocketAddress peer) {
        Accepted socket = open.get(peer);
        if (socket != null) {
            socket.closeQuietly();
        }
    }

    /** To be called every now and then. */
    public void cutStuck() {
        for (Accepted socket : open.values()) {
            if (socket.writesFor() > writeLimitNs) {
                socket.closeQuietly();
            }
        }
    }

    public void cutAll() {
        open.values().forEach(Accepted::closeQuietly);
    }

    @Override
    public ServerSocket createServerSocket() throws IOException {
        return new CountingServerSocket();
    }

    @Override
    public ServerSocket createServerSocket(int port) throws IOException {
        throw new IOException("use createServerSocket() and bind");
    }

    @Override
    public ServerSocket createServerSocket(int port, int backlog) throws IOException {
        return createServerSocket(port);
    }

    @Override
    public ServerSocket createServerSocket(int port, int backlog, InetAddress address) throws IOException {
        return createServerSocket(port);
    }

    /** Called by the one thread that accepts: meanwhile connections may go, and none comes. */
    private boolean isAdmitted(Accepted socket) {
        if (open.size() >= most || countOf(socket.getInetAddress()) >= mostPerAddress) {
            return false;
        }
        socket.peer = socket.getRemoteSocketAddress();
        open.put(socket.peer, socket);
        return true;
    }

    private long countOf(InetAddress address) {
        return open.values().stream()
                .filter(socket -> areOneHost(address, socket.getInetAddress()))
                .count();
    }

    /** Of IPv6 addresses a host has a whole network, a /64. */
    static boolean areOneHost(InetAddress one, InetAddress other) {
        byte[] first = one.getAddress();
        byte[] second = other.getAddress();
        int compared = first.length > IPV4_BYTES ? IPV6_NETWORK_BYTES : IPV4_BYTES;
        return first.length == second.length && Arrays.equals(first, 0, compared, second, 0, compared);
    }

    private final class CountingServerSocket extends ServerSocket {
        CountingServerSocket() throws IOException {
            super();
        }

        /** Throws only when it is closed: out of file descriptors, say, is a state that passes. */
        @Override
        public Socket accept() throws IOException {
            while (true) {
                Accepted socket = new Accepted();
                try {
                    implAccept(socket);
                    if (isAdmitted(socket)) {
                        return socket;
                    }
                    socket.closeQuietly();
                } catch (IOException e) {
                    socket.closeQuietly();
                    if (isClosed()) {
                        throw e;
                    }
                    pause();
                }
            }
        }

        private static void pause() throws IOException {
            try {
                TimeUnit.MILLISECONDS.sleep(ACCEPT_PAUSE_MS);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new IOException("interrupted", e);
            }
        }
    }

    private final class Accepted extends Socket {
        private volatile SocketAddress peer;
        private volatile long writingSinceNs;

        /** In nanoseconds; 0 when nothing is being written. */
        long writesFor() {
            long since = writingSinceNs;
            return since == 0 ? 0 : System.nanoTime() - since;
        }

        @Override
        public OutputStream getOutputStream() throws IOException {
            return new FilterOutputStream(super.getOutputStream()) {
                @Override
                public void write(int one) throws IOException {
                    write(new byte[] {(byte) one}, 0, 1);
                }

                @Override
                public void write(byte[] bytes, int from, int length) throws IOException {
                    writingSinceNs = System.nanoTime() | 1;
                    try {
                        out.write(bytes, from, length);
                    } finally {
                        writingSinceNs = 0;
                    }
                }

                @Override
                public void close() throws IOException {
                    Accepted.this.close();
                }
            };
        }

        @Override
        public void close() throws IOException {
            if (peer != null) {
                open.remove(peer, this);
            }
            super.close();
        }

        void closeQuietly() {
            try {
                close();
            } catch (IOException e) {
                // It is as closed as it can be.
            }
        }
    }
}

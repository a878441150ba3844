package guardian.kafka.common;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.time.Duration;
import javax.net.SocketFactory;

/**
 * Sockets that take no longer than a limit to connect.
 *
 * <p>A name may have several addresses, one of which swallows packets: gRPC tries the next when a connection fails, and
 * without a limit that takes the operating system two minutes.
 */
final class BoundedSockets extends SocketFactory {
    private final int limitMs;

    BoundedSockets(Duration limit) {
        limitMs = Math.toIntExact(limit.toMillis());
    }

    @Override
    public Socket createSocket() {
        return new Socket();
    }

    @Override
    public Socket createSocket(InetAddress address, int port) throws IOException {
        return connected(new InetSocketAddress(address, port), null);
    }

    @Override
    public Socket createSocket(InetAddress address, int port, InetAddress local, int localPort) throws IOException {
        return connected(new InetSocketAddress(address, port), new InetSocketAddress(local, localPort));
    }

    @Override
    public Socket createSocket(String host, int port) throws IOException {
        return createSocket(InetAddress.getByName(host), port);
    }

    @Override
    public Socket createSocket(String host, int port, InetAddress local, int localPort) throws IOException {
        return createSocket(InetAddress.getByName(host), port, local, localPort);
    }

    private Socket connected(InetSocketAddress address, InetSocketAddress local) throws IOException {
        Socket socket = new Socket();
        try {
            if (local != null) {
                socket.bind(local);
            }
            socket.connect(address, limitMs);
            return socket;
        } catch (IOException | RuntimeException e) {
            socket.close();
            throw e;
        }
    }
}

package guardian.kafka.common;

import java.io.IOException;
import java.net.InetSocketAddress;

/** An address as people write it: {@code host:port}, {@code [::1]:port}. */
public record HostAndPort(String host, int port) {
    private static final int MAX_PORT = 65535;

    /** @throws IllegalArgumentException naming the setting, its value and the fix */
    public static HostAndPort parse(String setting, String text) {
        int colon = text.lastIndexOf(':');
        String host = colon < 0 ? "" : text.substring(0, colon).replaceAll("^\\[|]$", "");
        String port = text.substring(colon + 1);
        if (host.isEmpty() || !port.matches("\\d{1,5}") || Integer.parseInt(port) > MAX_PORT) {
            throw new IllegalArgumentException(
                    setting + " is '" + text + "': use host:port with a port of at most " + MAX_PORT);
        }
        return new HostAndPort(host, Integer.parseInt(port));
    }

    /** @throws IOException when the host is unknown */
    public InetSocketAddress resolved() throws IOException {
        InetSocketAddress address = new InetSocketAddress(host, port);
        if (address.isUnresolved()) {
            throw new IOException("the host " + host + " is unknown");
        }
        return address;
    }

    /** Whether it stands for all addresses of the host, which nobody can call. */
    public boolean isWildcard() {
        return host.equals("0.0.0.0") || host.matches("[0:]+");
    }

    public HostAndPort withHost(String other) {
        return new HostAndPort(other, port);
    }

    public HostAndPort withPort(int other) {
        return new HostAndPort(host, other);
    }

    @Override
    public String toString() {
        return (host.contains(":") ? "[" + host + "]" : host) + ":" + port;
    }
}

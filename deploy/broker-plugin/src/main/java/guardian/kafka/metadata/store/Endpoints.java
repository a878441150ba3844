package guardian.kafka.metadata.store;

import java.net.URI;
import java.net.URISyntaxException;

/**
 * Members' names, host:port, that a channel can be made to: a host's name has letters, digits, dots and hyphens. gRPC throws
 * at any other one, such as a container's with an underscore, and that in the middle of things.
 */
public final class Endpoints {
    private static final int MAX_PORT = 65535;

    private Endpoints() {}

    public static boolean isUsable(String endpoint) {
        int colon = endpoint.lastIndexOf(':');
        return colon > 0 && isHost(endpoint.substring(0, colon)) && isPort(endpoint.substring(colon + 1));
    }

    private static boolean isHost(String text) {
        boolean isBracketed = text.startsWith("[") && text.endsWith("]");
        if (text.contains(":") != isBracketed) {
            return false;
        }
        try {
            return new URI(null, null, text, 1, null, null, null).getHost() != null;
        } catch (URISyntaxException e) {
            return false;
        }
    }

    private static boolean isPort(String text) {
        return text.matches("[1-9]\\d{0,4}") && Integer.parseInt(text) <= MAX_PORT;
    }
}

package guardian.kafka.reporter.scrape;

import java.io.IOException;
import java.io.InputStream;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/**
 * A request without a body, which is all that a scrape is.
 *
 * @param names that are asked for by {@code name[]}
 * @param staysOpen whether the connection may be used again
 * @param takesChunks HTTP/1.1: the length of the answer need not be known beforehand
 */
record HttpRequest(
        String method,
        String path,
        List<String> names,
        String accept,
        boolean takesGzip,
        boolean staysOpen,
        boolean takesChunks) {
    private static final int MAX_BYTES = 8 * 1024;
    private static final int MAX_NAMES = 100;

    /** Not HTTP as it is spoken here. */
    static final class Malformed extends IOException {
        private static final long serialVersionUID = 1L;
        private final int status;

        Malformed(int status, String reason) {
            super(reason);
            this.status = status;
        }

        int status() {
            return status;
        }
    }

    /**
     * @param first the first byte, which somebody has read to see that a request comes
     * @throws Malformed with the status to answer
     */
    static HttpRequest read(int first, InputStream in) throws IOException {
        String[] lines = head(first, in).split("\r?\n");
        String[] words = lines[0].split(" ");
        if (words.length != 3 || !words[2].matches("HTTP/1\\.[01]") || !words[1].startsWith("/")) {
            throw new Malformed(400, "the request line is not METHOD /path HTTP/1.1");
        }
        Map<String, String> headers = headers(lines);
        boolean isNew = words[2].endsWith("1");
        String connection = headers.getOrDefault("connection", "").toLowerCase(Locale.ROOT);
        boolean hasBody = headers.containsKey("transfer-encoding")
                || !headers.getOrDefault("content-length", "0").equals("0");
        int question = words[1].indexOf('?');
        return new HttpRequest(
                words[0],
                question < 0 ? words[1] : words[1].substring(0, question),
                names(question < 0 ? "" : words[1].substring(question + 1)),
                headers.getOrDefault("accept", ""),
                takesGzip(headers.getOrDefault("accept-encoding", "")),
                isNew && !hasBody && !connection.contains("close"),
                isNew);
    }

    private static String head(int first, InputStream in) throws IOException {
        StringBuilder head = new StringBuilder(512).append((char) first);
        int newLines = 0;
        while (newLines < 2) {
            int each = in.read();
            if (each < 0) {
                throw new Malformed(400, "the request ends in its middle");
            }
            if (head.length() >= MAX_BYTES) {
                throw new Malformed(431, "the request is longer than " + MAX_BYTES + " bytes");
            }
            head.append((char) each);
            newLines = each == '\n' ? newLines + 1 : each == '\r' ? newLines : 0;
        }
        return head.toString();
    }

    private static Map<String, String> headers(String[] lines) {
        Map<String, String> headers = new TreeMap<>();
        for (int i = 1; i < lines.length; i++) {
            int colon = lines[i].indexOf(':');
            if (colon > 0) {
                headers.merge(
                        lines[i].substring(0, colon).strip().toLowerCase(Locale.ROOT),
                        lines[i].substring(colon + 1).strip(),
                        (one, other) -> one + "," + other);
            }
        }
        return headers;
    }

    private static boolean takesGzip(String encodings) {
        for (String encoding : encodings.toLowerCase(Locale.ROOT).split(",")) {
            if (encoding.strip().matches("(gzip|\\*)(\\s*;\\s*q=(1(\\.0*)?|0?\\.\\d*[1-9]\\d*))?")) {
                return true;
            }
        }
        return false;
    }

    private static List<String> names(String query) throws Malformed {
        List<String> names = new ArrayList<>();
        for (String pair : query.split("&")) {
            int equals = pair.indexOf('=');
            if (equals > 0 && decoded(pair.substring(0, equals)).equals("name[]") && names.size() < MAX_NAMES) {
                names.add(decoded(pair.substring(equals + 1)));
            }
        }
        return names;
    }

    private static String decoded(String text) throws Malformed {
        try {
            return URLDecoder.decode(text, StandardCharsets.UTF_8);
        } catch (IllegalArgumentException e) {
            throw new Malformed(400, "the query is encoded wrongly");
        }
    }
}

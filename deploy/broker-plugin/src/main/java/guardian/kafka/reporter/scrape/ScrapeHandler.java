package guardian.kafka.reporter.scrape;

import guardian.kafka.reporter.listener.ReporterSettings;
import guardian.kafka.reporter.metrics.ValueSink;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import java.util.concurrent.Semaphore;
import java.util.zip.Deflater;
import java.util.zip.GZIPOutputStream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** From a request to the bytes of its answer; so many at once and no more. */
public final class ScrapeHandler {
    private static final Logger LOG = LoggerFactory.getLogger(ScrapeHandler.class);
    private static final String PATH = "/metrics";

    private final Scraper scraper;
    private final int maxCalls;
    private final Semaphore free;

    public ScrapeHandler(Scraper scraper, int maxCalls) {
        this.scraper = scraper;
        this.maxCalls = maxCalls;
        this.free = new Semaphore(maxCalls);
    }

    /** @throws IOException when the caller is gone: nothing can be said to it any more */
    void answer(HttpRequest request, OutputStream out) throws IOException {
        if (!request.path().equals(PATH)) {
            say(request, 404, "the metrics are at " + PATH, out);
        } else if (!request.method().equals("GET") && !request.method().equals("HEAD")) {
            say(request, 405, "use GET", out);
        } else if (!free.tryAcquire()) {
            say(request, 503, maxCalls + " scrapes run at once, which is " + ReporterSettings.MAX_CALLS, out);
        } else {
            try {
                scrape(request, out);
            } finally {
                free.release();
            }
        }
    }

    /** Answers that no request was understood; the connection has to be closed. */
    static void refuse(int status, String reason, OutputStream out) throws IOException {
        say(status, reason, false, true, out);
    }

    private void scrape(HttpRequest request, OutputStream out) throws IOException {
        Optional<Exposition> exposition;
        try {
            exposition = scraper.scrape();
        } catch (ValueSink.Expired e) {
            exposition = Optional.empty();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            exposition = Optional.empty();
        } catch (RuntimeException | LinkageError | OutOfMemoryError e) {
            LOG.warn("A collection of metrics failed", e);
            say(request, 500, "the collection failed: " + e, out);
            return;
        }
        if (exposition.isPresent()) {
            send(request, exposition.get(), out);
        } else {
            say(request, 503, "the collection was not done in time", out);
        }
    }

    private static void send(HttpRequest request, Exposition exposition, OutputStream out) throws IOException {
        TextFormat format = TextFormat.preferred(request.accept());
        StringBuilder head = new StringBuilder("HTTP/1.1 200 OK\r\nContent-Type: ").append(format.contentType());
        head.append(request.takesGzip() ? "\r\nContent-Encoding: gzip" : "");
        head.append(request.takesChunks() ? "\r\nTransfer-Encoding: chunked" : "");
        head.append(request.staysOpen() ? "" : "\r\nConnection: close");
        head.append("\r\nVary: Accept, Accept-Encoding\r\n\r\n");
        out.write(head.toString().getBytes(StandardCharsets.US_ASCII));
        if (request.method().equals("GET")) {
            OutputStream body = request.takesChunks() ? new ChunkedStream(out) : out;
            body = request.takesGzip() ? new FastGzip(body) : body;
            exposition.write(format, NameFilter.only(request.names()), body);
            body.close();
        }
        out.flush();
    }

    private static void say(HttpRequest request, int status, String reason, OutputStream out) throws IOException {
        say(status, reason, request.staysOpen(), !request.method().equals("HEAD"), out);
    }

    private static void say(int status, String reason, boolean staysOpen, boolean hasBody, OutputStream out)
            throws IOException {
        byte[] body = (reason + "\n").getBytes(StandardCharsets.UTF_8);
        String head = "HTTP/1.1 " + status + " " + phrase(status) + "\r\nContent-Type: text/plain; charset=utf-8"
                + "\r\nContent-Length: " + body.length + (staysOpen ? "" : "\r\nConnection: close") + "\r\n\r\n";
        out.write(head.getBytes(StandardCharsets.US_ASCII));
        if (hasBody) {
            out.write(body);
        }
        out.flush();
    }

    private static String phrase(int status) {
        return switch (status) {
            case 400 -> "Bad Request";
            case 404 -> "Not Found";
            case 405 -> "Method Not Allowed";
            case 431 -> "Request Header Fields Too Large";
            case 500 -> "Internal Server Error";
            default -> "Service Unavailable";
        };
    }

    /** A text of names shrinks to a twentieth at the least effort already. */
    private static final class FastGzip extends GZIPOutputStream {
        FastGzip(OutputStream out) throws IOException {
            super(out, 8 * 1024);
            def.setLevel(Deflater.BEST_SPEED);
        }
    }
}

package guardian.kafka.reporter.scrape;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;

/** HTTP's chunked coding. Closing it ends the answer and leaves the connection open. */
final class ChunkedStream extends OutputStream {
    private static final byte[] LINE_END = {'\r', '\n'};
    private static final byte[] LAST = "0\r\n\r\n".getBytes(StandardCharsets.US_ASCII);

    private final OutputStream out;
    private final byte[] chunk = new byte[16 * 1024];
    private int length;
    private boolean isClosed;

    ChunkedStream(OutputStream out) {
        this.out = out;
    }

    @Override
    public void write(int one) throws IOException {
        if (length == chunk.length) {
            send();
        }
        chunk[length++] = (byte) one;
    }

    @Override
    public void write(byte[] bytes, int from, int count) throws IOException {
        int at = from;
        while (at < from + count) {
            if (length == chunk.length) {
                send();
            }
            int part = Math.min(chunk.length - length, from + count - at);
            System.arraycopy(bytes, at, chunk, length, part);
            length += part;
            at += part;
        }
    }

    @Override
    public void close() throws IOException {
        if (!isClosed) {
            isClosed = true;
            send();
            out.write(LAST);
            out.flush();
        }
    }

    private void send() throws IOException {
        if (length > 0) {
            out.write(Integer.toHexString(length).getBytes(StandardCharsets.US_ASCII));
            out.write(LINE_END);
            out.write(chunk, 0, length);
            out.write(LINE_END);
            length = 0;
        }
    }
}

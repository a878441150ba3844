package guardian.kafka.hdfs;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.Objects;
import java.util.function.Consumer;

/** Remote files that answer within a limit or fail: each call, and each chunk of a stream, has the limit for itself. */
final class TimeLimitedFiles implements RemoteFiles {
    static final int CHUNK_BYTES = 1 << 20;

    private final RemoteFiles files;
    private final TimeLimit limit;

    TimeLimitedFiles(RemoteFiles files, TimeLimit limit) {
        this.files = files;
        this.limit = limit;
    }

    @Override
    public OpenFile open(String path, long position) throws IOException {
        OpenFile file = limit.call("open " + path, () -> files.open(path, position));
        return new OpenFile(new LimitedInput(path, file.stream()), file.length());
    }

    @Override
    public OutputStream create(String path) throws IOException {
        return new LimitedOutput(path, limit.call("create " + path, () -> files.create(path)));
    }

    @Override
    public void rename(String from, String to) throws IOException {
        limit.call("rename " + from, () -> {
            files.rename(from, to);
            return null;
        });
    }

    @Override
    public boolean delete(String path) throws IOException {
        return limit.call("delete " + path, () -> files.delete(path));
    }

    @Override
    public boolean deleteEmptyFolder(String path) throws IOException {
        return limit.call("delete " + path, () -> files.deleteEmptyFolder(path));
    }

    /** Not limited: a listing takes as long as there are files, and only people wait for it. */
    @Override
    public void list(Consumer<FileEntry> visitor) throws IOException {
        files.list(visitor);
    }

    @Override
    public void close() throws IOException {
        try {
            limit.end("close the connection", files);
        } finally {
            limit.close();
        }
    }

    /** Reads chunk by chunk into a buffer of its own, which a call that was given up may still write to. */
    private final class LimitedInput extends InputStream {
        private final String path;
        private final InputStream stream;
        private final byte[] chunk = new byte[CHUNK_BYTES];
        private int position;
        private int filled;

        LimitedInput(String path, InputStream stream) {
            this.path = path;
            this.stream = stream;
        }

        @Override
        public int read() throws IOException {
            return hasMore() ? chunk[position++] & 0xff : -1;
        }

        @Override
        public int read(byte[] target, int offset, int length) throws IOException {
            Objects.checkFromIndexSize(offset, length, target.length);
            if (length == 0) {
                return 0;
            }
            if (!hasMore()) {
                return -1;
            }
            int copied = Math.min(length, filled - position);
            System.arraycopy(chunk, position, target, offset, copied);
            position += copied;
            return copied;
        }

        private boolean hasMore() throws IOException {
            if (position == filled) {
                filled = limit.call("read " + path, () -> stream.readNBytes(chunk, 0, chunk.length));
                position = 0;
            }
            return filled > 0;
        }

        @Override
        public void close() throws IOException {
            limit.end("close " + path, stream);
        }
    }

    private final class LimitedOutput extends OutputStream {
        private final String path;
        private final OutputStream stream;

        LimitedOutput(String path, OutputStream stream) {
            this.path = path;
            this.stream = stream;
        }

        @Override
        public void write(int b) throws IOException {
            write(new byte[] {(byte) b}, 0, 1);
        }

        @Override
        public void write(byte[] source, int offset, int length) throws IOException {
            limit.call("write " + path, () -> {
                stream.write(source, offset, length);
                return null;
            });
        }

        @Override
        public void close() throws IOException {
            limit.end("close " + path, stream);
        }
    }
}

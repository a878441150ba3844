package guardian.kafka.hdfs;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.FileNotFoundException;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;

/** Remote files in memory that count what is asked of them, and fail or wait where a test says so. */
final class MemoryFiles implements RemoteFiles {
    final Map<String, byte[]> files = new ConcurrentSkipListMap<>();
    final List<String> calls = new ArrayList<>();
    final AtomicInteger openStreams = new AtomicInteger();

    /** Called before each call and each read of a stream, with its name, such as {@code open a/b}. */
    volatile Hook hook = call -> {};

    interface Hook {
        void before(String call) throws IOException;
    }

    synchronized long count(String call) {
        return calls.stream().filter(call::equals).count();
    }

    @Override
    public OpenFile open(String path, long position) throws IOException {
        enter("open " + path);
        byte[] bytes = existing(path);
        int from = (int) Math.min(position, bytes.length);
        openStreams.incrementAndGet();
        return new OpenFile(new Reading(path, new ByteArrayInputStream(bytes, from, bytes.length - from)), bytes.length);
    }

    @Override
    public OutputStream create(String path) throws IOException {
        enter("create " + path);
        files.put(path, new byte[0]);
        return new ByteArrayOutputStream() {
            @Override
            public void write(byte[] source, int offset, int length) {
                super.write(source, offset, length);
                files.replace(path, toByteArray());
            }

            @Override
            public void close() throws IOException {
                enter("close " + path);
                files.replace(path, toByteArray());
            }
        };
    }

    @Override
    public void rename(String from, String to) throws IOException {
        enter("rename " + from);
        if (files.containsKey(to)) {
            throw new IOException(to + " exists");
        }
        files.put(to, existing(from));
        files.remove(from);
    }

    @Override
    public boolean delete(String path) throws IOException {
        enter("delete " + path);
        return files.remove(path) != null;
    }

    @Override
    public boolean deleteEmptyFolder(String path) throws IOException {
        enter("deleteEmptyFolder " + path);
        return files.keySet().stream().noneMatch(file -> file.startsWith(path + "/"));
    }

    @Override
    public void list(Consumer<FileEntry> visitor) {
        files.forEach((path, bytes) -> visitor.accept(new FileEntry(path, bytes.length, 1_700_000_000_000L)));
    }

    @Override
    public void close() {}

    private byte[] existing(String path) throws FileNotFoundException {
        byte[] bytes = files.get(path);
        if (bytes == null) {
            throw new FileNotFoundException(path + " is not there");
        }
        return bytes;
    }

    private void enter(String call) throws IOException {
        synchronized (this) {
            calls.add(call);
        }
        hook.before(call);
    }

    private final class Reading extends FilterInputStream {
        private final String path;

        Reading(String path, InputStream in) {
            super(in);
            this.path = path;
        }

        @Override
        public int read(byte[] target, int offset, int length) throws IOException {
            hook.before("read " + path);
            return super.read(target, offset, length);
        }

        @Override
        public void close() throws IOException {
            openStreams.decrementAndGet();
            super.close();
        }
    }
}

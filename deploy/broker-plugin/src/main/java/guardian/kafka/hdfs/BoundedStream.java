package guardian.kafka.hdfs;

import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.function.IntConsumer;

/** The next so many bytes of a stream, counted as they are read. */
final class BoundedStream extends FilterInputStream {
    private final IntConsumer counter;
    private long left;

    BoundedStream(InputStream in, long length, IntConsumer counter) {
        super(in);
        this.left = length;
        this.counter = counter;
    }

    @Override
    public int read() throws IOException {
        if (left <= 0) {
            return -1;
        }
        int value = super.read();
        if (value >= 0) {
            count(1);
        }
        return value;
    }

    @Override
    public int read(byte[] target, int offset, int length) throws IOException {
        if (left <= 0) {
            return length == 0 ? 0 : -1;
        }
        int count = super.read(target, offset, (int) Math.min(length, left));
        count(Math.max(0, count));
        return count;
    }

    @Override
    public long skip(long count) throws IOException {
        long skipped = super.skip(Math.min(count, left));
        left -= skipped;
        return skipped;
    }

    @Override
    public boolean markSupported() {
        return false;
    }

    private void count(int bytes) {
        left -= bytes;
        counter.accept(bytes);
    }
}

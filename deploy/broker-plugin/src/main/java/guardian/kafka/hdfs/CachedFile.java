package guardian.kafka.hdfs;

import java.io.BufferedOutputStream;
import java.io.Closeable;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Objects;
import java.util.zip.CRC32C;

/**
 * A file on the local disk whose every read is checked: the data, then a CRC32C for each block of it, then a trailer.
 *
 * <p>So a file needs no second look after a restart, however large it is: what was cut off or went bad is found by whoever
 * reads it, before he gets a byte of it.
 */
final class CachedFile {
    static final int BLOCK_BYTES = 64 * 1024;

    private static final int CRC_BYTES = 4;
    private static final int TRAILER_BYTES = 8 + 4;
    private static final int MAGIC = 0x47434348;

    private CachedFile() {}

    /** What a file with this much data takes on the disk. */
    static long bytesOnDisk(long dataBytes) {
        return dataBytes + (long) CRC_BYTES * blocks(dataBytes) + TRAILER_BYTES;
    }

    private static int blocks(long dataBytes) {
        return Math.toIntExact((dataBytes + BLOCK_BYTES - 1) / BLOCK_BYTES);
    }

    /** Writes one file from its first byte to its last; it is whole after {@link #finish}. */
    static final class Writer implements Closeable {
        private final OutputStream out;
        private final CRC32C total = new CRC32C();
        private final CRC32C block = new CRC32C();
        private final ByteBuffer table;
        private final long expected;
        private long written;

        Writer(Path file, long dataBytes) throws IOException {
            this.expected = dataBytes;
            this.table = ByteBuffer.allocate(CRC_BYTES * blocks(dataBytes));
            this.out = new BufferedOutputStream(Files.newOutputStream(file), BLOCK_BYTES);
        }

        /** Takes the next bytes; more than were announced are refused, since nothing would be left for their checksums. */
        void write(byte[] bytes, int length) throws IOException {
            if (written + length > expected) {
                throw new CorruptFileException("there are more than the " + expected + " bytes that were announced");
            }
            total.update(bytes, 0, length);
            int position = 0;
            while (position < length) {
                int room = BLOCK_BYTES - (int) (written % BLOCK_BYTES);
                int now = Math.min(room, length - position);
                block.update(bytes, position, now);
                position += now;
                written += now;
                if (now == room) {
                    endBlock();
                }
            }
            out.write(bytes, 0, length);
        }

        /** Ends the file. Returns the CRC32C of all its data. */
        int finish() throws IOException {
            if (written != expected) {
                throw new CorruptFileException("there are " + written + " of the " + expected + " bytes that were announced");
            }
            if (written % BLOCK_BYTES != 0) {
                endBlock();
            }
            DataOutputStream tail = new DataOutputStream(out);
            tail.write(table.array());
            tail.writeLong(written);
            tail.writeInt(MAGIC);
            tail.flush();
            return (int) total.getValue();
        }

        private void endBlock() {
            table.putInt((int) block.getValue());
            block.reset();
        }

        @Override
        public void close() throws IOException {
            out.close();
        }
    }

    /**
     * Reads a range of the data; every block is checked before a byte of it is given away.
     *
     * <p>Whatever the disk does, it fails with CorruptFileException. A local file that can't be opened is no sign that the
     * remote one is gone: for a transaction index Kafka would take that as "there are no aborted transactions", and keep it
     * so. And a bad sector must not be met again by every further read.
     */
    static final class Reader extends InputStream {
        private final RandomAccessFile file;
        private final Path path;
        private final long dataBytes;
        private final long end;
        private final byte[] block = new byte[BLOCK_BYTES];
        private long position;
        private int blockInBuffer = -1;
        private volatile boolean isClosed;

        /** Opens it to be read from one position to before another, or to its end, and checks the first block at once. */
        Reader(Path path, long from, long to) throws IOException {
            this(path, opened(path), from, to);
        }

        Reader(Path path, RandomAccessFile file, long from, long to) throws IOException {
            this.path = path;
            this.file = file;
            try {
                this.dataBytes = readTrailer();
                this.end = Math.min(to, dataBytes);
                this.position = Math.min(from, end);
                if (position < end) {
                    load();
                }
            } catch (IOException | RuntimeException e) {
                file.close();
                throw e;
            }
        }

        /** Not a FileChannel: an interrupt would close it. */
        private static RandomAccessFile opened(Path path) throws CorruptFileException {
            try {
                return new RandomAccessFile(path.toFile(), "r");
            } catch (FileNotFoundException e) { // for want of file descriptors, too
                throw new CorruptFileException("a cached file can't be opened: " + e.getMessage());
            }
        }

        @Override
        public int read() throws IOException {
            if (position >= end) {
                return -1;
            }
            load();
            return block[(int) (position++ % BLOCK_BYTES)] & 0xff;
        }

        @Override
        public int read(byte[] target, int offset, int length) throws IOException {
            Objects.checkFromIndexSize(offset, length, target.length);
            if (length == 0) {
                return 0;
            }
            if (position >= end) {
                return -1;
            }
            load();
            int inBlock = (int) (position % BLOCK_BYTES);
            int copied = (int) Math.min(Math.min(length, BLOCK_BYTES - inBlock), end - position);
            System.arraycopy(block, inBlock, target, offset, copied);
            position += copied;
            return copied;
        }

        @Override
        public long skip(long count) {
            long skipped = Math.max(0, Math.min(count, end - position));
            position += skipped;
            return skipped;
        }

        @Override
        public int available() {
            return (int) Math.min(Integer.MAX_VALUE, end - position);
        }

        @Override
        public void close() throws IOException {
            isClosed = true;
            file.close();
        }

        private void load() throws IOException {
            int wanted = (int) (position / BLOCK_BYTES);
            if (wanted == blockInBuffer) {
                return;
            }
            long start = (long) wanted * BLOCK_BYTES;
            int length = (int) Math.min(BLOCK_BYTES, dataBytes - start);
            blockInBuffer = -1;
            byte[] expected = new byte[CRC_BYTES];
            read(dataBytes + (long) CRC_BYTES * wanted, expected, CRC_BYTES);
            read(start, block, length);
            CRC32C crc = new CRC32C();
            crc.update(block, 0, length);
            if ((int) crc.getValue() != ByteBuffer.wrap(expected).getInt()) {
                throw new CorruptFileException(path + " is damaged between byte " + start + " and " + (start + length));
            }
            blockInBuffer = wanted;
        }

        private long readTrailer() throws IOException {
            long length = length();
            if (length >= TRAILER_BYTES) {
                byte[] bytes = new byte[TRAILER_BYTES];
                read(length - TRAILER_BYTES, bytes, TRAILER_BYTES);
                ByteBuffer trailer = ByteBuffer.wrap(bytes);
                long data = trailer.getLong();
                if (trailer.getInt() == MAGIC && data >= 0 && data <= length && bytesOnDisk(data) == length) {
                    return data;
                }
            }
            throw new CorruptFileException(path + " has " + length + " bytes and no end: it is cut off or was never whole");
        }

        private void read(long from, byte[] target, int length) throws IOException {
            try {
                file.seek(from);
                file.readFully(target, 0, length);
            } catch (EOFException e) {
                throw new CorruptFileException(path + " has become shorter since it was opened");
            } catch (IOException e) {
                throw unreadable(e);
            }
        }

        private long length() throws IOException {
            try {
                return file.length();
            } catch (IOException e) {
                throw unreadable(e);
            }
        }

        private IOException unreadable(IOException cause) {
            return isClosed ? cause : new CorruptFileException(path + " can't be read: " + cause.getMessage());
        }
    }
}

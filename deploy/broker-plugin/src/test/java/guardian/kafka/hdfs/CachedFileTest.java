package guardian.kafka.hdfs;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InputStream;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Random;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CachedFileTest {
    private static final int BLOCK = CachedFile.BLOCK_BYTES;

    @TempDir
    Path dir;

    private Path written(byte[] data) throws IOException {
        Path file = dir.resolve("file");
        try (CachedFile.Writer writer = new CachedFile.Writer(file, data.length)) {
            Random random = new Random(data.length);
            int position = 0;
            while (position < data.length) {
                int length = Math.min(1 + random.nextInt(BLOCK * 2), data.length - position);
                writer.write(Arrays.copyOfRange(data, position, position + length), length);
                position += length;
            }
            CRC32C crc = new CRC32C();
            crc.update(data);
            assertEquals((int) crc.getValue(), writer.finish());
        }
        assertEquals(CachedFile.bytesOnDisk(data.length), Files.size(file));
        return file;
    }

    private static byte[] read(Path file, long from, long to) throws IOException {
        try (InputStream in = new CachedFile.Reader(file, from, to)) {
            return in.readAllBytes();
        }
    }

    @Test
    void everyRangeReadsBackAsItWasWritten() throws IOException {
        for (int length : new int[] {0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK, 3 * BLOCK + 17}) {
            byte[] data = Segments.bytes(length, length);
            Path file = written(data);
            Random random = new Random(length);
            assertArrayEquals(data, read(file, 0, Long.MAX_VALUE));
            for (int i = 0; i < 50; i++) {
                int from = random.nextInt(length + 10);
                int to = from + random.nextInt(2 * BLOCK);
                byte[] expected = from >= length ? new byte[0] : Arrays.copyOfRange(data, from, Math.min(to, length));
                assertArrayEquals(expected, read(file, from, to), length + " bytes, " + from + " to " + to);
            }
        }
    }

    @Test
    void singleBytesAndSkipsComeToTheSame() throws IOException {
        byte[] data = Segments.bytes(2 * BLOCK + 5, 1);
        try (InputStream in = new CachedFile.Reader(written(data), 10, 2 * BLOCK + 3)) {
            assertEquals(data[10] & 0xff, in.read());
            assertEquals(BLOCK, in.skip(BLOCK));
            assertEquals(data[11 + BLOCK] & 0xff, in.read());
            assertEquals(2 * BLOCK + 3 - (12 + BLOCK), in.skip(Long.MAX_VALUE));
            assertEquals(-1, in.read());
            assertEquals(0, in.read(new byte[1], 0, 0));
        }
    }

    @Test
    void aDamagedBlockIsFoundBeforeAByteOfItIsGivenAway() throws IOException {
        byte[] data = Segments.bytes(3 * BLOCK, 2);
        Path file = written(data);
        flip(file, BLOCK + 5);
        assertArrayEquals(Arrays.copyOf(data, BLOCK), read(file, 0, BLOCK));
        assertThrows(CorruptFileException.class, () -> new CachedFile.Reader(file, BLOCK, 2 * BLOCK));
        try (InputStream in = new CachedFile.Reader(file, 0, Long.MAX_VALUE)) {
            assertEquals(BLOCK, in.readNBytes(BLOCK).length);
            assertThrows(CorruptFileException.class, in::read);
            assertThrows(CorruptFileException.class, in::read);
        }
        assertArrayEquals(Arrays.copyOfRange(data, 2 * BLOCK, 3 * BLOCK), read(file, 2 * BLOCK, 3 * BLOCK));
    }

    @Test
    void aFileThatIsCutOffAnywhereIsRefused() throws IOException {
        byte[] whole = Files.readAllBytes(written(Segments.bytes(BLOCK + 100, 3)));
        for (int length : new int[] {0, 1, 11, 12, 100, BLOCK, BLOCK + 100, whole.length - 1}) {
            Path cut = Files.write(dir.resolve("cut"), Arrays.copyOf(whole, length));
            assertThrows(CorruptFileException.class, () -> new CachedFile.Reader(cut, 0, 1), length + " bytes");
        }
    }

    @Test
    void aDamagedChecksumOrTrailerIsFoundToo() throws IOException {
        byte[] data = Segments.bytes(BLOCK, 4);
        for (int position = BLOCK; position < CachedFile.bytesOnDisk(BLOCK); position++) {
            Path file = written(data);
            flip(file, position);
            assertThrows(CorruptFileException.class, () -> new CachedFile.Reader(file, 0, 1), "byte " + position);
        }
    }

    @Test
    void moreOrFewerBytesThanAnnouncedAreRefused() throws IOException {
        try (CachedFile.Writer writer = new CachedFile.Writer(dir.resolve("f"), 10)) {
            writer.write(new byte[9], 9);
            assertThrows(CorruptFileException.class, writer::finish);
            assertThrows(CorruptFileException.class, () -> writer.write(new byte[2], 2));
        }
    }

    static void flip(Path file, int position) throws IOException {
        byte[] bytes = Files.readAllBytes(file);
        bytes[position] ^= 1;
        Files.write(file, bytes);
    }

    @Test
    void aFileThatCanNotBeOpenedIsDamagedAndNotMissing() {
        assertThrows(CorruptFileException.class, () -> read(dir.resolve("gone"), 0, 1));
    }

    /** A disk with one bad sector. */
    private static RandomAccessFile failingAt(Path file, long position) throws IOException {
        return new RandomAccessFile(file.toFile(), "r") {
            @Override
            public int read(byte[] target, int offset, int length) throws IOException {
                if (getFilePointer() <= position && position < getFilePointer() + length) {
                    throw new IOException("Input/output error");
                }
                return super.read(target, offset, length);
            }
        };
    }

    @Test
    void aDiskThatFailsIsDamageToWhoeverMeetsIt() throws IOException {
        Path file = written(Segments.bytes(2 * BLOCK, 1));
        try (InputStream in = new CachedFile.Reader(file, failingAt(file, BLOCK + 5), 0, Long.MAX_VALUE)) {
            assertEquals(BLOCK, in.readNBytes(BLOCK).length);
            CorruptFileException e = assertThrows(CorruptFileException.class, in::read);
            assertTrue(e.getMessage().endsWith("can't be read: Input/output error"), e.getMessage());
        }
        RandomAccessFile failing = failingAt(file, Files.size(file) - 1);
        assertThrows(CorruptFileException.class, () -> new CachedFile.Reader(file, failing, 0, 1));
    }

    @Test
    void whoReadsAfterClosingHasFoundNoDamage() throws IOException {
        InputStream in = new CachedFile.Reader(written(Segments.bytes(2 * BLOCK, 1)), 0, Long.MAX_VALUE);
        in.close();
        in.skipNBytes(BLOCK);
        IOException e = assertThrows(IOException.class, in::read);
        assertFalse(e instanceof CorruptFileException, e.toString());
    }
}

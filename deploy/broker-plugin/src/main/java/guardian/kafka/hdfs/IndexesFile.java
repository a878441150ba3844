package guardian.kafka.hdfs;

import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.Arrays;
import java.util.List;
import java.util.zip.CRC32C;
import java.util.zip.CheckedOutputStream;

/**
 * All indexes of a segment in one file, with the checksum of its log.
 *
 * <pre>
 * magic, version       int, int
 * the log's CRC32C     int
 * part lengths         int for each part in a fixed order; -1: the segment has none
 * parts                bytes
 * CRC32C of all above  int, little-endian
 * </pre>
 *
 * <p>Little-endian, since then the CRC32C of the whole file is always {@link #WHOLE_FILE_CRC}: whoever copies the file can
 * check it without reading it.
 */
final class IndexesFile {
    /** What a CRC32C comes to once its own value, lowest byte first, has gone through it. */
    static final int WHOLE_FILE_CRC = 0x48674BC7;

    private static final int MAGIC = 0x47524958;
    private static final int VERSION = 1;
    private static final int ABSENT = -1;

    /** In the order of the file; Kafka's IndexType has the same names. */
    enum Part {
        OFFSET,
        TIMESTAMP,
        PRODUCER_SNAPSHOT,
        TRANSACTION,
        LEADER_EPOCH
    }

    static final int HEADER_BYTES = 4 + 4 + 4 + 4 * Part.values().length;

    /** Writes a part's bytes. */
    interface PartWriter {
        void writeTo(OutputStream out) throws IOException;
    }

    /** A part to be written: its length must be what the writer then writes. */
    record PartSource(int length, PartWriter writer) {
        static final PartSource NONE = new PartSource(ABSENT, out -> {});
    }

    /** What the first bytes say. */
    record Header(int logCrc, List<Integer> partLengths) {
        boolean has(Part part) {
            return length(part) != ABSENT;
        }

        int length(Part part) {
            return partLengths.get(part.ordinal());
        }

        long position(Part part) {
            return HEADER_BYTES
                    + partLengths.subList(0, part.ordinal()).stream()
                            .mapToLong(length -> Math.max(0, length))
                            .sum();
        }
    }

    private IndexesFile() {}

    /** Writes the file; the parts are in the order of {@link Part}. Returns its length. */
    static long write(OutputStream target, int logCrc, List<PartSource> parts) throws IOException {
        CheckedOutputStream checked = new CheckedOutputStream(target, new CRC32C());
        DataOutputStream out = new DataOutputStream(checked);
        out.writeInt(MAGIC);
        out.writeInt(VERSION);
        out.writeInt(logCrc);
        for (PartSource part : parts) {
            out.writeInt(part.length());
        }
        long expected = HEADER_BYTES;
        for (PartSource part : parts) {
            part.writer().writeTo(out);
            expected += Math.max(0, part.length());
        }
        if (out.size() != expected) {
            throw new IOException("an index changed while it was copied: it has " + (out.size() - expected)
                    + " bytes more than before; the segment is to be copied again");
        }
        out.writeInt(Integer.reverseBytes((int) checked.getChecksum().getValue()));
        out.flush();
        return expected + 4;
    }

    /** The whole file, when it is what was written. */
    static byte[] checked(byte[] bytes, String path) throws CorruptFileException {
        CRC32C crc = new CRC32C();
        crc.update(bytes, 0, bytes.length);
        if ((int) crc.getValue() != WHOLE_FILE_CRC) {
            throw new CorruptFileException(path + " is not what was written: the remote file is damaged");
        }
        return bytes;
    }

    /** Reads the header of a file whose checksum is known to be right. */
    static Header readHeader(InputStream source, String path) throws IOException {
        byte[] bytes = source.readNBytes(HEADER_BYTES);
        if (bytes.length < HEADER_BYTES) {
            throw new CorruptFileException(path + " has " + bytes.length + " bytes, which is no file of indexes");
        }
        DataInputStream in = new DataInputStream(new ByteArrayInputStream(bytes));
        int magic = in.readInt();
        int version = in.readInt();
        if (magic != MAGIC || version != VERSION) {
            throw new CorruptFileException(path + " begins with " + Integer.toHexString(magic) + ", version " + version
                    + ", which this plugin can't read");
        }
        int logCrc = in.readInt();
        Integer[] lengths = new Integer[Part.values().length];
        for (int i = 0; i < lengths.length; i++) {
            lengths[i] = in.readInt();
        }
        return new Header(logCrc, Arrays.asList(lengths));
    }
}

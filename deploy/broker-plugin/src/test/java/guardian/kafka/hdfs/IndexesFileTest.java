package guardian.kafka.hdfs;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import guardian.kafka.hdfs.IndexesFile.Part;
import guardian.kafka.hdfs.IndexesFile.PartSource;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.Arrays;
import java.util.List;
import org.apache.kafka.server.log.remote.storage.RemoteStorageManager.IndexType;
import org.junit.jupiter.api.Test;

class IndexesFileTest {
    private static PartSource part(int... bytes) {
        return new PartSource(bytes.length, out -> {
            for (int b : bytes) {
                out.write(b);
            }
        });
    }

    private static byte[] file() throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        long written =
                IndexesFile.write(out, 0xCAFE, List.of(part(1, 2, 3), part(4), part(), PartSource.NONE, part(5, 6)));
        assertEquals(out.size(), written);
        return out.toByteArray();
    }

    @Test
    void eachPartIsFoundWhereTheHeaderSays() throws IOException {
        byte[] file = file();
        IndexesFile.Header header = IndexesFile.readHeader(new ByteArrayInputStream(file), "f");
        assertEquals(0xCAFE, header.logCrc());
        assertArrayEquals(new byte[] {1, 2, 3}, part(file, header, Part.OFFSET));
        assertArrayEquals(new byte[] {4}, part(file, header, Part.TIMESTAMP));
        assertArrayEquals(new byte[] {}, part(file, header, Part.PRODUCER_SNAPSHOT));
        assertArrayEquals(new byte[] {5, 6}, part(file, header, Part.LEADER_EPOCH));
    }

    @Test
    void anAbsentPartIsNotAnEmptyOne() throws IOException {
        IndexesFile.Header header = IndexesFile.readHeader(new ByteArrayInputStream(file()), "f");
        assertFalse(header.has(Part.TRANSACTION));
        assertTrue(header.has(Part.PRODUCER_SNAPSHOT));
    }

    @Test
    void everyDamagedBitIsFoundByTheChecksumOfTheWholeFile() throws IOException {
        byte[] file = file();
        IndexesFile.checked(file, "f");
        for (int bit = 0; bit < 8 * file.length; bit++) {
            byte[] damaged = file.clone();
            damaged[bit / 8] ^= (byte) (1 << bit % 8);
            assertThrows(CorruptFileException.class, () -> IndexesFile.checked(damaged, "f"), "bit " + bit);
        }
        assertThrows(CorruptFileException.class, () -> IndexesFile.checked(Arrays.copyOf(file, 20), "f"));
        assertThrows(CorruptFileException.class, () -> IndexesFile.checked(new byte[0], "f"));
    }

    @Test
    void aForeignFileIsRefused() {
        for (int length : new int[] {0, 10, 100}) {
            assertThrows(
                    CorruptFileException.class,
                    () -> IndexesFile.readHeader(new ByteArrayInputStream(new byte[length]), "f"));
        }
    }

    @Test
    void anIndexThatChangesWhileItIsCopiedIsRefused() {
        PartSource grown = new PartSource(1, out -> out.write(new byte[2]));
        List<PartSource> parts = List.of(grown, part(), part(), part(), part());
        assertThrows(IOException.class, () -> IndexesFile.write(new ByteArrayOutputStream(), 0, parts));
    }

    @Test
    void kafkasIndexTypesAllHaveAPart() {
        for (IndexType type : IndexType.values()) {
            assertEquals(type.name(), Part.valueOf(type.name()).name());
        }
    }

    private static byte[] part(byte[] file, IndexesFile.Header header, Part part) {
        int position = (int) header.position(part);
        return Arrays.copyOfRange(file, position, position + header.length(part));
    }
}

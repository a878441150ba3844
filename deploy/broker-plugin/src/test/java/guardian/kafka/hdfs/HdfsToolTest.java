package guardian.kafka.hdfs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.io.StringReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Properties;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class HdfsToolTest {
    private static final String FOLDER = "orders-AAAAAAAAAAAAAAAAAAAAAA/0/";
    private static final String SEGMENT = FOLDER + "00000000000000000042-BBBBBBBBBBBBBBBBBBBBBB";

    @TempDir
    Path dir;

    private final MemoryFiles files = new MemoryFiles();
    private final ByteArrayOutputStream out = new ByteArrayOutputStream();
    private final ByteArrayOutputStream err = new ByteArrayOutputStream();
    private final HdfsTool tool = new HdfsTool(files, "/kafka", new PrintStream(out, true, StandardCharsets.UTF_8));

    private List<String> lines() {
        return out.toString(StandardCharsets.UTF_8).lines().toList();
    }

    private void delete(String lines) throws IOException {
        tool.delete(new BufferedReader(new StringReader(lines)));
    }

    private int run(String... args) {
        return HdfsTool.run(
                args,
                new Properties(),
                new ByteArrayInputStream(new byte[0]),
                new PrintStream(out),
                new PrintStream(err, true));
    }

    @Test
    void everyFileIsALineStraysToo() throws IOException {
        files.files.put(SEGMENT + ".log", new byte[7]);
        files.files.put(SEGMENT + ".indexes.tmp", new byte[3]);
        files.files.put("a \"note\".txt", new byte[0]);
        tool.list();
        assertEquals(
                List.of(
                        "{\"path\":\"/kafka/a \\\"note\\\".txt\",\"bytes\":0,\"modifiedMs\":1700000000000}",
                        "{\"path\":\"/kafka/" + SEGMENT + ".indexes.tmp\",\"bytes\":3,\"modifiedMs\":1700000000000,"
                                + "\"topic\":\"orders\",\"topicId\":\"AAAAAAAAAAAAAAAAAAAAAA\",\"partition\":0,"
                                + "\"startOffset\":42,\"segmentId\":\"BBBBBBBBBBBBBBBBBBBBBB\",\"kind\":\"partial\"}",
                        "{\"path\":\"/kafka/" + SEGMENT + ".log\",\"bytes\":7,\"modifiedMs\":1700000000000,"
                                + "\"topic\":\"orders\",\"topicId\":\"AAAAAAAAAAAAAAAAAAAAAA\",\"partition\":0,"
                                + "\"startOffset\":42,\"segmentId\":\"BBBBBBBBBBBBBBBBBBBBBB\",\"kind\":\"log\"}",
                        "{\"end\":true,\"files\":3}"),
                lines());
    }

    @Test
    void itsOwnListingDeletesWhatItNames() throws IOException {
        files.files.put(SEGMENT + ".log", new byte[7]);
        files.files.put("a \"note\" \u00e9.txt", new byte[0]);
        tool.list();
        String listing = String.join("\n", lines());
        out.reset();
        delete(listing + "\n{\"path\": \"/kafka/gone\"}\n");
        assertTrue(files.files.isEmpty());
        assertEquals(
                List.of(
                        "{\"path\":\"/kafka/a \\\"note\\\" \\u00e9.txt\",\"deleted\":true}",
                        "{\"path\":\"/kafka/" + SEGMENT + ".log\",\"deleted\":true}",
                        "{\"path\":\"/kafka/gone\",\"deleted\":false}"),
                lines().subList(0, 3));
    }

    @Test
    void whatLiesOutsideTheRootIsNotDeleted() {
        for (String path : List.of("/other/a", "/kafka", "/kafkaesque/a", "/kafka/../other/a", "a")) {
            IllegalArgumentException e = assertThrows(
                    IllegalArgumentException.class, () -> delete("{\"path\":\"" + path + "\"}"), path);
            assertEquals("path is '" + path + "': use one under /kafka/", e.getMessage());
        }
        assertTrue(files.calls.isEmpty());
    }

    @Test
    void aWrongCallEndsWithTwoAndASentence() {
        for (String[] args : new String[][] {{}, {"remove"}, {"list", "a", "b"}, {"--config"}}) {
            assertEquals(2, run(args));
        }
        assertTrue(err.toString().contains("use list|delete [--config server.properties]"), err.toString());
        err.reset();
        assertEquals(2, run("--config", dir.resolve("none").toString(), "list"));
        assertTrue(err.toString().contains("can't be read"), err.toString());
        err.reset();
        assertEquals(2, run("list"));
        assertTrue(err.toString().startsWith("rsm.config.hdfs.uri is ''"), err.toString());
    }

    @Test
    void theBrokersOwnSettingsCanBeGivenAndAFolderThatIsNotThereEndsWithTwo() throws IOException {
        Path config = Files.writeString(
                dir.resolve("server.properties"),
                "node.id=1\nrsm.config.hdfs.uri=file://" + dir.resolve("none") + "\n");
        assertEquals(2, run("--config", config.toString(), "list"));
        assertTrue(err.toString().contains("none"), err.toString());
        assertEquals(0, run("list", "--config", config.toString(), "file://" + Files.createDirectory(dir.resolve("empty"))));
        assertEquals(List.of("{\"end\":true,\"files\":0}"), lines());
    }
}

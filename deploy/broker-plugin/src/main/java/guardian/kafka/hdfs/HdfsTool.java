package guardian.kafka.hdfs;

import java.io.BufferedReader;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * What the remote storage really holds, for {@code guardian tiering verify}: one JSON object a file on stdout, and at the
 * end one that says so.
 *
 * <pre>
 * HdfsTool list [--config FILE] [URL]     every file under the root
 * HdfsTool delete [--config FILE] [URL]   deletes the files of the listing's lines on stdin
 * </pre>
 *
 * <p>URL stands for {@code rsm.config.hdfs.uri}; the other settings are the broker's, from its server.properties
 * ({@code --config}) or as {@code -Drsm.config.NAME=VALUE}. It ends with 2 when it was called wrongly or the folder is not
 * there, with 1 when HDFS failed; the last line of stderr says why. It needs no Kafka on its class path.
 */
public final class HdfsTool {
    private static final String USAGE = "use list|delete [--config server.properties] [hdfs://HOST:PORT/FOLDER]";
    private static final List<String> COMMANDS = List.of("list", "delete");
    private static final Pattern PATH_FIELD = Pattern.compile("\"path\"\\s*:\\s*\"((?:[^\"\\\\]|\\\\.)*)\"");
    private static final Pattern ESCAPE = Pattern.compile("\\\\(u[0-9a-fA-F]{4}|.)");

    private final RemoteFiles files;
    private final String root;
    private final PrintStream out;
    private long count;

    HdfsTool(RemoteFiles files, String root, PrintStream out) {
        this.files = files;
        this.root = root.endsWith("/") ? root : root + "/";
        this.out = out;
    }

    /** See above. */
    public static void main(String[] args) {
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        int code = run(args, System.getProperties(), System.in, out, System.err);
        out.flush();
        // Hadoop's threads need not be waited for.
        System.exit(code);
    }

    static int run(String[] args, Properties system, InputStream in, PrintStream out, PrintStream err) {
        try {
            Map<String, String> settings = new HashMap<>();
            String command = parse(args, system, settings);
            HdfsSettings read = HdfsSettings.readWithoutCache(settings);
            TimeLimit limit = new TimeLimit(read.readTimeout());
            try (RemoteFiles files = new TimeLimitedFiles(new HdfsFiles(read), limit)) {
                HdfsTool tool = new HdfsTool(files, read.uri().getPath(), out);
                if (command.equals("list")) {
                    tool.list();
                } else {
                    tool.delete(new BufferedReader(new InputStreamReader(in, StandardCharsets.UTF_8)));
                }
            }
            return 0;
        } catch (FileNotFoundException | IllegalArgumentException e) {
            err.println(firstLine(e));
            return 2;
        } catch (IOException | RuntimeException | LinkageError e) {
            err.println("HDFS failed: " + firstLine(e));
            return 1;
        }
    }

    /** Lists everything, strays too. */
    void list() throws IOException {
        files.list(this::printFile);
        printEnd();
    }

    /** Deletes what the lines name; a line that names a file outside the root ends it before that file. */
    void delete(BufferedReader lines) throws IOException {
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String path = pathOf(line);
            if (path != null) {
                if (!path.startsWith(root) || path.contains("/../")) {
                    throw new IllegalArgumentException("path is '" + path + "': use one under " + root);
                }
                boolean deleted = files.delete(path.substring(root.length()));
                out.println("{\"path\":" + quoted(path) + ",\"deleted\":" + deleted + "}");
                count++;
            }
        }
        printEnd();
    }

    private void printFile(RemoteFiles.FileEntry file) {
        StringBuilder line = new StringBuilder("{\"path\":").append(quoted(root + file.path()))
                .append(",\"bytes\":").append(file.bytes())
                .append(",\"modifiedMs\":").append(file.modifiedMs());
        SegmentPath.parse(file.path()).ifPresent(found -> {
            SegmentPath segment = found.segment();
            line.append(",\"topic\":").append(quoted(segment.topic()))
                    .append(",\"topicId\":").append(quoted(segment.topicId()))
                    .append(",\"partition\":").append(segment.partition())
                    .append(",\"startOffset\":").append(segment.startOffset())
                    .append(",\"segmentId\":").append(quoted(segment.segmentId()))
                    .append(",\"kind\":").append(quoted(found.kind()));
        });
        out.println(line.append('}'));
        count++;
    }

    private void printEnd() {
        out.println("{\"end\":true,\"files\":" + count + "}");
    }

    private static String parse(String[] args, Properties system, Map<String, String> settings) {
        List<String> words = new ArrayList<>(Arrays.asList(args));
        int config = words.indexOf("--config");
        if (config >= 0 && config + 1 < words.size()) {
            words.remove(config);
            addSettings(properties(Path.of(words.remove(config))), settings);
        }
        addSettings(system, settings);
        if (words.isEmpty() || words.size() > 2 || !COMMANDS.contains(words.get(0))) {
            throw new IllegalArgumentException("the arguments are '" + String.join(" ", args) + "': " + USAGE);
        }
        if (words.size() == 2) {
            settings.put(HdfsSettings.URI_ROOT.substring(HdfsSettings.PREFIX.length()), words.get(1));
        }
        return words.get(0);
    }

    private static Properties properties(Path file) {
        Properties properties = new Properties();
        try (InputStream in = Files.newInputStream(file)) {
            properties.load(in);
        } catch (IOException e) {
            throw new IllegalArgumentException("--config is '" + file + "', which can't be read: " + e, e);
        }
        return properties;
    }

    private static void addSettings(Properties properties, Map<String, String> settings) {
        for (String name : properties.stringPropertyNames()) {
            if (name.startsWith(HdfsSettings.PREFIX)) {
                settings.put(name.substring(HdfsSettings.PREFIX.length()), properties.getProperty(name));
            }
        }
    }

    private static String pathOf(String line) {
        Matcher field = PATH_FIELD.matcher(line);
        if (!field.find()) {
            return null;
        }
        return ESCAPE.matcher(field.group(1)).replaceAll(match -> Matcher.quoteReplacement(unescaped(match.group(1))));
    }

    private static String unescaped(String escape) {
        return escape.length() == 1 ? escape : Character.toString(Integer.parseInt(escape.substring(1), 16));
    }

    private static String quoted(String text) {
        StringBuilder quoted = new StringBuilder("\"");
        for (char c : text.toCharArray()) {
            if (c == '"' || c == '\\') {
                quoted.append('\\').append(c);
            } else if (c < 0x20 || c > 0x7e) {
                quoted.append(String.format("\\u%04x", (int) c));
            } else {
                quoted.append(c);
            }
        }
        return quoted.append('"').toString();
    }

    private static String firstLine(Throwable e) {
        String message = e.getMessage();
        return message == null ? e.toString() : message.lines().findFirst().orElse(e.toString());
    }
}

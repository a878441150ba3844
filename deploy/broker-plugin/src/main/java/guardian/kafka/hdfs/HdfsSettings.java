package guardian.kafka.hdfs;

import guardian.kafka.common.BrokerConfigs;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;

/**
 * What the operator says about the remote storage, as it stands in server.properties with {@code rsm.config.} before it.
 *
 * @param passedThrough what goes to Hadoop's own configuration as it is
 */
record HdfsSettings(
        URI uri,
        Optional<Path> configDir,
        Optional<Kerberos> kerberos,
        Map<String, String> passedThrough,
        Path cacheDir,
        long cacheMaxBytes,
        Duration readTimeout,
        int downloadThreads) {
    /** Kafka takes it away before it hands the settings over; messages name the setting as the operator wrote it. */
    static final String PREFIX = "rsm.config.";

    static final String URI_ROOT = PREFIX + "hdfs.uri";
    static final String CONFIG_DIR = PREFIX + "hdfs.config.dir";
    static final String PRINCIPAL = PREFIX + "hdfs.kerberos.principal";
    static final String KEYTAB = PREFIX + "hdfs.kerberos.keytab";
    static final String CACHE_DIR = PREFIX + "cache.dir";
    static final String CACHE_MAX_BYTES = PREFIX + "cache.max.bytes";
    static final String READ_TIMEOUT_MS = PREFIX + "read.timeout.ms";
    static final String DOWNLOAD_THREADS = PREFIX + "download.threads";

    private static final Set<String> KNOWN = Set.of(
            URI_ROOT, CONFIG_DIR, PRINCIPAL, KEYTAB, CACHE_DIR, CACHE_MAX_BYTES, READ_TIMEOUT_MS, DOWNLOAD_THREADS);
    private static final List<String> OWN_PREFIXES = List.of("hdfs.", "cache.", "read.", "download.");
    private static final List<String> HADOOP_PREFIXES = List.of("hadoop.", "dfs.", "fs.", "ipc.");
    private static final String DEFAULT_CACHE_MAX_BYTES = Long.toString(10L << 30);
    private static final String DEFAULT_READ_TIMEOUT_MS = "30000";
    private static final String DEFAULT_DOWNLOAD_THREADS = "8";

    /** Who the broker is to a secured HDFS. */
    record Kerberos(String principal, Path keytab) {}

    /**
     * Reads the settings of a broker: each has its own folder in the cache's.
     *
     * @throws IllegalArgumentException naming the setting, its value and the fix
     */
    static HdfsSettings read(Map<String, ?> configs) {
        String cacheDir = text(configs, CACHE_DIR);
        if (cacheDir.isEmpty()) {
            throw new IllegalArgumentException(CACHE_DIR + " is not set: set it to a folder on a local disk");
        }
        Path ownCacheDir = Path.of(cacheDir).toAbsolutePath().resolve("broker-" + text(configs, PREFIX + "broker.id", "0"));
        return read(configs, ownCacheDir);
    }

    /** Names that look like a setting of this plugin and are none, as the operator wrote them. */
    static List<String> unknown(Map<String, ?> configs) {
        return configs.keySet().stream()
                .filter(name -> OWN_PREFIXES.stream().anyMatch(name::startsWith))
                .map(PREFIX::concat)
                .filter(name -> !KNOWN.contains(name))
                .sorted()
                .toList();
    }

    /** Reads the settings of a tool, which has no cache. */
    static HdfsSettings readWithoutCache(Map<String, ?> configs) {
        return read(configs, Path.of(""));
    }

    private static HdfsSettings read(Map<String, ?> configs, Path cacheDir) {
        return new HdfsSettings(
                uri(text(configs, URI_ROOT)),
                configDir(text(configs, CONFIG_DIR)),
                kerberos(text(configs, PRINCIPAL), text(configs, KEYTAB)),
                passedThrough(configs),
                cacheDir,
                number(configs, CACHE_MAX_BYTES, DEFAULT_CACHE_MAX_BYTES, 0, Long.MAX_VALUE / 2),
                Duration.ofMillis(number(configs, READ_TIMEOUT_MS, DEFAULT_READ_TIMEOUT_MS, 1, Integer.MAX_VALUE)),
                (int) number(configs, DOWNLOAD_THREADS, DEFAULT_DOWNLOAD_THREADS, 1, 64));
    }

    private static URI uri(String text) {
        try {
            URI uri = new URI(text);
            if (uri.getScheme() != null && uri.getPath() != null && uri.getPath().length() > 1) {
                return uri;
            }
        } catch (URISyntaxException e) {
            // Said below.
        }
        throw new IllegalArgumentException(URI_ROOT + " is '" + text
                + "': use hdfs://HOST:PORT/FOLDER or hdfs://NAMESERVICE/FOLDER, with a folder of Guardian's own");
    }

    private static Optional<Path> configDir(String text) {
        if (text.isEmpty()) {
            return Optional.empty();
        }
        Path dir = Path.of(text);
        if (!Files.isReadable(dir.resolve("core-site.xml")) && !Files.isReadable(dir.resolve("hdfs-site.xml"))) {
            throw new IllegalArgumentException(CONFIG_DIR + " is '" + text
                    + "': use a folder with a core-site.xml or hdfs-site.xml that the broker can read");
        }
        return Optional.of(dir);
    }

    private static Optional<Kerberos> kerberos(String principal, String keytab) {
        if (principal.isEmpty() && keytab.isEmpty()) {
            return Optional.empty();
        }
        if (principal.isEmpty()) {
            throw new IllegalArgumentException(PRINCIPAL + " is not set but " + KEYTAB + " is: set both, or neither");
        }
        if (!Files.isRegularFile(Path.of(keytab)) || !Files.isReadable(Path.of(keytab))) {
            throw new IllegalArgumentException(KEYTAB + " is '" + keytab + "': use a keytab that the broker can read");
        }
        return Optional.of(new Kerberos(principal, Path.of(keytab)));
    }

    private static Map<String, String> passedThrough(Map<String, ?> configs) {
        Map<String, String> passed = new TreeMap<>();
        configs.forEach((key, value) -> {
            if (value != null && HADOOP_PREFIXES.stream().anyMatch(key::startsWith)) {
                passed.put(key, value.toString());
            }
        });
        return passed;
    }

    private static String text(Map<String, ?> configs, String setting) {
        return text(configs, setting, "");
    }

    private static String text(Map<String, ?> configs, String setting, String unset) {
        return BrokerConfigs.text(configs, setting.substring(PREFIX.length()), unset);
    }

    private static long number(Map<String, ?> configs, String setting, String unset, long least, long most) {
        String text = text(configs, setting, unset);
        return BrokerConfigs.number(text, least, most)
                .orElseThrow(() -> new IllegalArgumentException(
                        setting + " is '" + text + "': use a number from " + least + " to " + most));
    }
}

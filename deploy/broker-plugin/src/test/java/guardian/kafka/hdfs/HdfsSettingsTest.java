package guardian.kafka.hdfs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.hadoop.conf.Configuration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class HdfsSettingsTest {
    @TempDir
    Path dir;

    private Map<String, Object> configs(String... more) {
        Map<String, Object> configs = new HashMap<>();
        configs.put("hdfs.uri", "hdfs://analytics/kafka/tiered");
        configs.put("cache.dir", dir.toString());
        configs.put("broker.id", 7);
        for (int i = 0; i < more.length; i += 2) {
            configs.put(more[i], more[i + 1]);
        }
        return configs;
    }

    private void assertRefused(String sentence, String... more) {
        IllegalArgumentException e =
                assertThrows(IllegalArgumentException.class, () -> HdfsSettings.read(configs(more)));
        assertTrue(e.getMessage().startsWith(sentence), e.getMessage());
    }

    @Test
    void twoSettingsAreEnough() {
        HdfsSettings settings = HdfsSettings.read(configs());
        assertEquals("hdfs://analytics/kafka/tiered", settings.uri().toString());
        assertEquals(dir.resolve("broker-7"), settings.cacheDir());
        assertEquals(10L << 30, settings.cacheMaxBytes());
        assertEquals(Duration.ofSeconds(30), settings.readTimeout());
        assertEquals(Optional.empty(), settings.kerberos());
        assertEquals(Map.of(), settings.passedThrough());
    }

    @Test
    void aMistakeIsNamedWithItsValueAndTheFix() {
        assertRefused("rsm.config.hdfs.uri is '': use hdfs://", "hdfs.uri", "");
        assertRefused("rsm.config.hdfs.uri is 'hdfs://a': use hdfs://", "hdfs.uri", "hdfs://a");
        assertRefused("rsm.config.hdfs.uri is 'hdfs://a/': use hdfs://", "hdfs.uri", "hdfs://a/");
        assertRefused("rsm.config.hdfs.uri is '/a': use hdfs://", "hdfs.uri", "/a");
        assertRefused("rsm.config.hdfs.uri is 'hdfs://a b/c': use hdfs://", "hdfs.uri", "hdfs://a b/c");
        assertRefused("rsm.config.cache.dir is not set: ", "cache.dir", " ");
        assertRefused("rsm.config.cache.max.bytes is '-1': use a number from 0 ", "cache.max.bytes", "-1");
        assertRefused("rsm.config.cache.max.bytes is '1g': use a number from 0 ", "cache.max.bytes", "1g");
        assertRefused("rsm.config.read.timeout.ms is '0': use a number from 1 ", "read.timeout.ms", "0");
        assertRefused("rsm.config.download.threads is '65': use a number from 1 to 64", "download.threads", "65");
        assertRefused("rsm.config.hdfs.config.dir is '" + dir + "': use a folder", "hdfs.config.dir", dir.toString());
        assertRefused("rsm.config.hdfs.kerberos.keytab is '': use a keytab", "hdfs.kerberos.principal", "kafka/a@B");
        assertRefused("rsm.config.hdfs.kerberos.principal is not set", "hdfs.kerberos.keytab", dir.toString());
    }

    @Test
    void aNameThatMeansNothingIsTold() {
        assertEquals(List.of(), HdfsSettings.unknown(configs("cache.max.bytes", "1", "dfs.replication", "2", "x.y", "1")));
        assertEquals(
                List.of("rsm.config.cache.max.byte", "rsm.config.hdfs.url"),
                HdfsSettings.unknown(configs("hdfs.url", "hdfs://a/b", "cache.max.byte", "1")));
    }

    @Test
    void theFoldersFilesAndSingleSettingsReachHadoopsConfiguration() throws Exception {
        Files.writeString(dir.resolve("hdfs-site.xml"), """
                <configuration>
                  <property><name>dfs.nameservices</name><value>analytics</value></property>
                  <property><name>dfs.replication</name><value>5</value></property>
                </configuration>
                """);
        Files.writeString(dir.resolve("core-site.xml"), """
                <configuration><property><name>hadoop.rpc.protection</name><value>privacy</value></property></configuration>
                """);
        Configuration conf = HdfsFiles.configurationOf(HdfsSettings.read(
                configs("hdfs.config.dir", dir.toString(), "dfs.replication", "2", "segment.bytes", "1")));
        assertEquals("analytics", conf.get("dfs.nameservices"));
        assertEquals("privacy", conf.get("hadoop.rpc.protection"));
        assertEquals("2", conf.get("dfs.replication"));
        assertEquals(null, conf.get("segment.bytes"));
        assertEquals("simple", conf.get("hadoop.security.authentication"));
    }

    @Test
    void aPrincipalTurnsKerberosOn() throws Exception {
        Path keytab = Files.write(dir.resolve("kafka.keytab"), new byte[2]);
        HdfsSettings settings = HdfsSettings.read(
                configs("hdfs.kerberos.principal", "kafka/a@B", "hdfs.kerberos.keytab", keytab.toString()));
        assertEquals(Optional.of(new HdfsSettings.Kerberos("kafka/a@B", keytab)), settings.kerberos());
        assertEquals("kerberos", HdfsFiles.configurationOf(settings).get("hadoop.security.authentication"));
    }
}

package guardian.kafka.metadata;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import guardian.kafka.common.TlsFiles;
import guardian.v1.FenceMode;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import org.apache.kafka.common.config.ConfigException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ManagerSettingsTest {
    private static final Map<String, Object> BROKER = Map.of(
            "broker.id", 3,
            "cluster.id", "lhotse",
            "log.dir", "/data",
            "remote.log.metadata.topic.num.partitions", "50");

    private final Properties system = new Properties();

    private ManagerSettings read(String... namesAndValues) {
        Map<String, Object> configs = new HashMap<>(BROKER);
        for (int at = 0; at < namesAndValues.length; at += 2) {
            configs.put(namesAndValues[at], namesAndValues[at + 1]);
        }
        return ManagerSettings.read(configs, system);
    }

    @Test
    void endpointsAreEnough() {
        ManagerSettings settings = read("guardian.endpoints", "g1:9400, g2:9400,[::1]:9400");
        assertEquals(List.of("g1:9400", "g2:9400", "[::1]:9400"), settings.endpoints());
        assertEquals(3, settings.brokerId());
        assertEquals("lhotse", settings.clusterId());
        assertEquals(FenceMode.VERIFIED, settings.fence());
        assertEquals(Duration.ofSeconds(5), settings.waitLimit());
        assertEquals(Set.of(), settings.unknown());
    }

    @Test
    void tlsNeedsAllOfItsFiles() {
        String[] names = {"guardian.reporter.ssl.certificate.file", "guardian.reporter.ssl.key.file",
            "guardian.reporter.ssl.ca.file"};
        ManagerSettings settings = read("guardian.endpoints", "g1:1", "guardian.endpoints.ssl", "true",
                names[0], "/c.pem", names[1], "/c.key", names[2], "/ca.pem");
        TlsFiles files = new TlsFiles(Path.of("/c.pem"), Path.of("/c.key"), Path.of("/ca.pem"));
        assertEquals(Optional.of(files), settings.store("writer").tls());
        assertEquals(Set.of(), settings.unknown());
        assertEquals(Optional.empty(), read("guardian.endpoints", "g1:1", names[0], "/c.pem").tls());
        String refusal = assertThrows(ConfigException.class, () -> read("guardian.endpoints", "g1:1",
                        "guardian.endpoints.ssl", "true", names[0], "/c.pem", names[1], "/c.key"))
                .getMessage();
        assertTrue(refusal.startsWith(names[2] + " is not set: guardian.endpoints.ssl is true"), refusal);
    }

    @Test
    void aSystemPropertyStandsInForASettingAndTheSettingWins() {
        system.setProperty("guardian.rlmm.config.guardian.endpoints", "g1:9400");
        system.setProperty("guardian.rlmm.config.guardian.fence", "claim-order");
        assertEquals(FenceMode.CLAIM_ORDER, read().fence());
        assertEquals(List.of("g2:1"), read("guardian.endpoints", "g2:1").endpoints());
    }

    @ParameterizedTest
    @CsvSource({
        "guardian.endpoints,'',is not set: set rlmm.config.guardian.endpoints",
        "guardian.endpoints,',',is ',': set rlmm.config.guardian.endpoints",
        "guardian.endpoints,g1,has 'g1': use host:port",
        "guardian.endpoints,guardian_1:9750,has 'guardian_1:9750': use host:port",
        "guardian.endpoints,'g1:1,g2:65536',has 'g2:65536': use host:port",
        "guardian.endpoints.ssl,yes,is 'yes': use true or false",
        "guardian.fence,strict,is 'strict': use verified or claim-order",
        "guardian.wait.ms,-1,is '-1': use a number from 0 to 3600000",
        "guardian.write.timeout.ms,soon,is 'soon': use a number from 100 to 3600000",
        "guardian.write.timeout.ms,3,is '3': use a number from 100 to 3600000",
        "guardian.pending.events,0,is '0': use a number from 1 to 10000000",
        "guardian.retry.backoff.max.ms,1,'is 1: use guardian.retry.backoff.ms, 50, or more'",
        "broker.id,x,is 'x': use a number from 0 to 2147483647",
    })
    void aBadSettingIsNamedWithItsValueAndTheFix(String name, String value, String rest) {
        Map<String, String> settings = new HashMap<>(Map.of("guardian.endpoints", "g1:9400"));
        settings.put(name, value);
        ConfigException refused = assertThrows(ConfigException.class, () -> read(settings.entrySet().stream()
                .flatMap(each -> List.of(each.getKey(), each.getValue()).stream())
                .toArray(String[]::new)));
        assertTrue(refused.getMessage().startsWith(name + " " + rest), refused.getMessage());
    }

    @Test
    void aNameThatMeansNothingIsTold() {
        system.setProperty("guardian.rlmm.config.guardian.endpoint", "g1:9400");
        assertEquals(
                Set.of("guardian.endpoint", "guardian.fense"),
                read("guardian.endpoints", "g1:9400", "guardian.fense", "verified").unknown());
    }
}

package guardian.kafka.placement;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PlacementSettingsTest {
    private static PlacementSettings read(Object... pairs) {
        Map<String, Object> configs = new HashMap<>();
        for (int i = 0; i < pairs.length; i += 2) {
            configs.put((String) pairs[i], pairs[i + 1]);
        }
        return PlacementSettings.read(configs);
    }

    private static void assertRefused(String sentence, Object... pairs) {
        assertEquals(sentence, assertThrows(IllegalArgumentException.class, () -> read(pairs)).getMessage());
    }

    @Test
    void whatIsNotSetHasADefault() {
        PlacementSettings settings = read("guardian.endpoints", "g1:9750,g2:9751", "guardian.cluster.id", "c1");
        assertEquals("[g1:9750, g2:9751]", settings.members().toString());
        assertEquals(Duration.ofSeconds(1), settings.poll());
        assertEquals(Duration.ofMinutes(10), settings.maxAge());
        assertEquals(List.of("__"), settings.outsideAllowed());
        assertFalse(settings.refusesUnknown());
        assertFalse(settings.refusesOutside());
    }

    @Test
    void theClusterIdIsReadFromTheDirectoriesThatWereFormatted(@TempDir Path home) throws Exception {
        Files.writeString(home.resolve("meta.properties"), "version=1\ncluster.id=MkU3OEVBNTcwNTJENDM2Qk\nnode.id=101\n");
        PlacementSettings settings =
                read("guardian.endpoints", "g1:9750", "log.dirs", List.of("/nonexistent", home.toString()));
        assertEquals("MkU3OEVBNTcwNTJENDM2Qk", settings.clusterId());
    }

    @Test
    void aMistakeIsNamedWithItsValueAndTheFix() {
        assertRefused("guardian.endpoints is empty: give host:port of Guardian's members");
        assertRefused(
                "guardian.cluster.id is not set and no meta.properties is in metadata.log.dir or log.dirs or log.dir: "
                        + "set it to Kafka's cluster.id",
                "guardian.endpoints", "g1:9750", "log.dirs", "/nonexistent");
        assertRefused(
                "guardian.placement.outside is 'deny': use allow or refuse",
                "guardian.endpoints", "g1:9750", "guardian.cluster.id", "c1", "guardian.placement.outside", "deny");
        assertRefused(
                "guardian.placement.poll.ms is '1': use milliseconds, 100 to 86400000",
                "guardian.endpoints", "g1:9750", "guardian.cluster.id", "c1", "guardian.placement.poll.ms", "1");
        assertRefused(
                "guardian.reporter.ssl.certificate.file is not set, but guardian.endpoints.ssl is true: set it",
                "guardian.endpoints", "g1:9750", "guardian.cluster.id", "c1", "guardian.endpoints.ssl", "true");
    }
}

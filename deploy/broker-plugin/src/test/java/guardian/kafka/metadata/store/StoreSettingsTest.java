package guardian.kafka.metadata.store;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import guardian.v1.FenceMode;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class StoreSettingsTest {
    private static StoreSettings at(String... endpoints) {
        return StoreSettings.of(List.of(endpoints), "cluster", 1, "writer", FenceMode.VERIFIED);
    }

    @Test
    void endpointsAreHostAndPort() {
        assertEquals(List.of("g1:9750", "[::1]:9750"), at("g1:9750", "[::1]:9750").endpoints());
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "g1", "g1:", ":9750", "g1:0", "g1:65536", "g1:http"})
    void anythingElseIsRefusedByName(String endpoint) {
        String sentence = assertThrows(IllegalArgumentException.class, () -> at(endpoint)).getMessage();
        assertTrue(sentence.contains("guardian.endpoints has '" + endpoint + "'"), sentence);
    }

    @Test
    void limitsThatCanNotWorkAreRefused() {
        StoreSettings.Limits limits = StoreSettings.Limits.DEFAULT;
        assertThrows(IllegalArgumentException.class, () -> at());
        assertThrows(IllegalArgumentException.class, () -> limits.withWriteLimit(Duration.ZERO));
        assertThrows(IllegalArgumentException.class, () -> limits.withPendingEvents(0));
        assertThrows(
                IllegalArgumentException.class,
                () -> limits.withRetries(Duration.ofSeconds(2), Duration.ofSeconds(1)));
    }
}

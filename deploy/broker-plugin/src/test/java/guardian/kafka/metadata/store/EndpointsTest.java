package guardian.kafka.metadata.store;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Optional;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class EndpointsTest {
    @ParameterizedTest
    @ValueSource(strings = {"g1:9750", "G-1.lhotse.cn:1", "10.0.0.1:65535", "[::1]:9750", "[fe80::1%eth0]:9750"})
    void aChannelCanBeMadeToAUsableOne(String endpoint) {
        assertTrue(Endpoints.isUsable(endpoint));
        assertDoesNotThrow(() -> {
            Connections connections = new Connections(Runnable::run, Optional.empty());
            connections.to(endpoint);
            connections.close();
            connections.awaitEnd();
        });
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"", "g1", "g1:", ":9750", "g1:0", "g1:65536", "g1:x", "guardian_1:9750", "g 1:9750", "-g:1", "::1:9750", "[g1]:1"})
    void othersAreNone(String endpoint) {
        assertFalse(Endpoints.isUsable(endpoint));
    }
}

package guardian.kafka.reporter.listener;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.net.InetAddress;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ConnectionsTest {
    @ParameterizedTest
    @CsvSource({
        "10.0.0.1, 10.0.0.1, true",
        "10.0.0.1, 10.0.0.2, false",
        "2001:db8::1, 2001:db8::ffff:1, true",
        "2001:db8::1, 2001:db8:0:1::1, false",
        "::ffff:10.0.0.1, 10.0.0.1, true",
        "::a00:1, 10.0.0.1, false"
    })
    void aHostHasOneAddressOrANetworkOfThem(String one, String other, boolean areOne) throws Exception {
        assertEquals(areOne, Connections.areOneHost(InetAddress.getByName(one), InetAddress.getByName(other)));
    }
}

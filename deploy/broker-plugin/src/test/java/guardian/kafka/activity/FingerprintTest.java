package guardian.kafka.activity;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.resource.ResourceType;
import org.apache.kafka.server.authorizer.Action;
import org.junit.jupiter.api.Test;

class FingerprintTest {
    private static Fingerprint of(String user, String clientId, String address, String topic) {
        Action read = TestRequest.action(AclOperation.READ, ResourceType.TOPIC, topic);
        return Fingerprint.of(TestRequest.of(user, clientId, address), true).with(read);
    }

    @Test
    void equalTextsGiveEqualFingerprintsWhateverObjectsTheyAre() {
        assertEquals(of("alice", "app", "10.0.0.1", "orders"), of("alice", "app", "10.0.0.1", "orders"));
        assertEquals(of("alice", "", "::1", "orders"), of("alice", null, "::1", "orders"));
    }

    @Test
    void everyPartCounts() {
        Action read = TestRequest.action(AclOperation.READ, ResourceType.TOPIC, "orders");
        TestRequest alice = TestRequest.of("alice", "app", "10.0.0.1");
        Set<Fingerprint> prints = new HashSet<>(List.of(
                of("alice", "app", "10.0.0.1", "orders"),
                of("alicf", "app", "10.0.0.1", "orders"),
                of("alice", "apq", "10.0.0.1", "orders"),
                of("alice", "app", "10.0.0.2", "orders"),
                of("alice", "app", "2001:db8::1", "orders"),
                of("alice", "app", "2001:db8::2", "orders"),
                of("alice", "app", "10.0.0.1", "orderz"),
                Fingerprint.of(alice, false).with(read),
                Fingerprint.of(alice, true)
                        .with(TestRequest.action(AclOperation.WRITE, ResourceType.TOPIC, "orders")),
                Fingerprint.of(alice, true)
                        .with(TestRequest.action(AclOperation.READ, ResourceType.GROUP, "orders"))));
        assertEquals(10, prints.size());
    }

    @Test
    void lettersThatMoveFromOneTextToTheNextMakeAnother() {
        assertNotEquals(of("ab", "c", "10.0.0.1", "orders"), of("a", "bc", "10.0.0.1", "orders"));
        assertNotEquals(of("abcd", "", "10.0.0.1", "orders"), of("", "abcd", "10.0.0.1", "orders"));
        assertNotEquals(of("a", "\0", "10.0.0.1", "orders"), of("a", "\0\0", "10.0.0.1", "orders"));
    }

    @Test
    void namesThatHardlyDifferSpreadOverTablesAndStripes() {
        Set<Long> low = new HashSet<>();
        Set<Long> high = new HashSet<>();
        for (int i = 0; i < 10_000; i++) {
            Fingerprint print = of("alice", "app", "10.0.0.1", "orders-" + i);
            low.add(print.low() & 0xffff);
            high.add(print.high() >>> 48);
        }
        // Of 65536 places, 10,000 taken at random are 9,276 different ones, give or take 30.
        assertEquals(9_276, low.size(), 250);
        assertEquals(9_276, high.size(), 250);
    }
}

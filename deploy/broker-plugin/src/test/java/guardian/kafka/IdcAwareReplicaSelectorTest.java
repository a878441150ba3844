package guardian.kafka;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.net.InetAddress;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.replica.ClientMetadata;
import org.apache.kafka.common.replica.ClientMetadata.DefaultClientMetadata;
import org.apache.kafka.common.replica.PartitionView;
import org.apache.kafka.common.replica.PartitionView.DefaultPartitionView;
import org.apache.kafka.common.replica.ReplicaView;
import org.apache.kafka.common.replica.ReplicaView.DefaultReplicaView;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.junit.jupiter.api.Test;

/** Broker 1 leads in idc-a, rack r1; the clock stands unless a test turns it. */
class IdcAwareReplicaSelectorTest {
    private static final TopicPartition PARTITION = new TopicPartition("orders", 0);
    private static final long WARM_UP_MS = 600_000;
    private static final ReplicaView LEADER = replica(1, "idc-a-r1", 100);

    private long nowMs = 5_000_000;
    private final IdcAwareReplicaSelector selector = new IdcAwareReplicaSelector(() -> nowMs);

    private static ReplicaView replica(int broker, String rack, long logEnd) {
        return new DefaultReplicaView(new Node(broker, "host", 9092, rack), logEnd, 0);
    }

    private static PartitionView view(ReplicaView... followers) {
        Set<ReplicaView> all = new HashSet<>(List.of(followers));
        all.add(LEADER);
        return new DefaultPartitionView(all, LEADER);
    }

    private static ClientMetadata client(String rack) {
        return new DefaultClientMetadata(
                rack, "client", InetAddress.getLoopbackAddress(), KafkaPrincipal.ANONYMOUS, "PLAINTEXT");
    }

    private int chosen(String clientRack, ReplicaView... followers) {
        return chosenOf(PARTITION, clientRack, followers);
    }

    private int chosenOf(TopicPartition partition, String clientRack, ReplicaView... followers) {
        return selector.select(partition, client(clientRack), view(followers)).orElseThrow().endpoint().id();
    }

    @Test
    void aReplicaInTheClientsRackIsReadFrom() {
        assertEquals(3, chosen("idc-b-r2", replica(2, "idc-b-r1", 100), replica(3, "idc-b-r2", 90)));
    }

    @Test
    void withoutOneInTheRackItIsOneInTheIdc() {
        assertEquals(2, chosen("idc-b-r9", replica(2, "idc-b-r1", 100), replica(3, "idc-c-r9", 100)));
    }

    @Test
    void withoutOneInTheIdcItIsTheLeader() {
        assertEquals(1, chosen("idc-d-r1", replica(2, "idc-b-r1", 100), replica(3, "idc-c-r1", 100)));
    }

    @Test
    void aClientWithoutARackReadsFromTheLeader() {
        assertEquals(1, chosen("", replica(2, "", 100)));
        assertEquals(1, chosen(null, replica(2, "idc-b-r1", 100)));
    }

    @Test
    void brokersWithoutARackAreNearNobody() {
        assertEquals(1, chosen("idc-b-r1", replica(2, null, 100)));
    }

    @Test
    void theLeaderIsTakenBeforeOthersThatAreAsNear() {
        assertEquals(1, chosen("idc-a-r1", replica(2, "idc-a-r1", 100)));
        assertEquals(1, chosen("idc-a-r7", replica(2, "idc-a-r2", 100)));
        assertEquals(2, chosen("idc-a-r2", replica(2, "idc-a-r2", 100)), "its own rack is nearer than its IDC");
    }

    @Test
    void ofSeveralTheOneWithTheNewestLogIsTakenAndOfEqualOnesTheLower() {
        assertEquals(3, chosen("idc-b-r9", replica(2, "idc-b-r1", 98), replica(3, "idc-b-r2", 99)));
        assertEquals(2, chosen("idc-b-r9", replica(2, "idc-b-r1", 99), replica(3, "idc-b-r2", 99)));
    }

    @Test
    void aRackWithoutASeparatorIsAnIdcOfItsOwn() {
        assertEquals(2, chosen("east", replica(2, "east-r1", 100)));
        assertEquals(1, chosen("east", replica(2, "eastern-r1", 100)));
    }

    @Test
    void theSeparatorCanBeSet() {
        selector.configure(Map.of("guardian.replica.idc.separator", "/"));
        assertEquals(2, chosen("idc-b/r9", replica(2, "idc-b/r1", 100)));
        assertEquals(1, chosen("idc-b/r9", replica(2, "idc-b-r9", 100)));
    }

    @Test
    void aReplicaThatJoinsIsReadFromAfterTheWarmUpTime() {
        ReplicaView joined = replica(2, "idc-b-r1", 100);
        assertEquals(1, chosen("idc-b-r1"));
        nowMs += 1000;
        assertEquals(1, chosen("idc-b-r1", joined));
        nowMs += WARM_UP_MS - 1;
        assertEquals(1, chosen("idc-b-r1", joined));
        nowMs += 1;
        assertEquals(2, chosen("idc-b-r1", joined));
    }

    @Test
    void whileOneWarmsUpAnotherOneInTheIdcIsReadFrom() {
        ReplicaView old = replica(3, "idc-b-r2", 100);
        chosen("idc-b-r1", old);
        assertEquals(3, chosen("idc-b-r1", old, replica(2, "idc-b-r1", 100)));
    }

    @Test
    void theWarmUpTimeCanBeSetAndZeroSwitchesItOff() {
        selector.configure(Map.of("guardian.replica.warm.up.ms", "50"));
        assertEquals(1, chosen("idc-b-r1"));
        assertEquals(1, chosen("idc-b-r1", replica(2, "idc-b-r1", 100)));
        nowMs += 50;
        assertEquals(2, chosen("idc-b-r1", replica(2, "idc-b-r1", 100)));
        selector.configure(Map.of("guardian.replica.warm.up.ms", 0));
        assertEquals(1, chosen("idc-b-r1"));
        assertEquals(2, chosen("idc-b-r1", replica(2, "idc-b-r1", 100)));
    }

    @Test
    void aReplicaThatIsAwayForAShortWhileIsNotNew() {
        ReplicaView follower = replica(2, "idc-b-r1", 100);
        chosen("idc-b-r1", follower);
        nowMs += 1000;
        assertEquals(1, chosen("idc-b-r1"));
        nowMs += WARM_UP_MS;
        assertEquals(1, chosen("idc-b-r1"));
        assertEquals(2, chosen("idc-b-r1", follower));
    }

    @Test
    void aReplicaThatWasAwayForTheWarmUpTimeIsNewAgain() {
        ReplicaView follower = replica(2, "idc-b-r1", 100);
        chosen("idc-b-r1", follower);
        chosen("idc-b-r1");
        nowMs += WARM_UP_MS + 1;
        chosen("idc-b-r1");
        assertEquals(1, chosen("idc-b-r1", follower));
        nowMs += WARM_UP_MS;
        assertEquals(2, chosen("idc-b-r1", follower));
    }

    @Test
    void hoursInWhichNobodyReadsMakeNobodyNew() {
        ReplicaView follower = replica(2, "idc-b-r1", 100);
        chosen("idc-b-r1", follower);
        nowMs += 10 * WARM_UP_MS;
        assertEquals(1, chosen("idc-b-r1"));
        assertEquals(2, chosen("idc-b-r1", follower));
    }

    @Test
    void partitionsAreToldApart() {
        ReplicaView follower = replica(2, "idc-b-r1", 100);
        chosen("idc-b-r1");
        assertEquals(2, chosenOf(new TopicPartition("orders", 1), "idc-b-r1", follower));
        assertEquals(1, chosen("idc-b-r1", follower));
    }

    @Test
    void memoryIsBoundedAndWhatIsNotKnownIsReadFromTheLeader() {
        WarmReplicas warm = new WarmReplicas(WARM_UP_MS, 2);
        ReplicaView follower = replica(2, "idc-b-r1", 100);
        List<Integer> counts = new ArrayList<>();
        for (int number = 0; number < 3; number++) {
            counts.add(warm.among(new TopicPartition("t", number), Set.of(LEADER, follower), LEADER, 0).size());
        }
        assertEquals(List.of(2, 2, 1), counts);
        assertEquals(2, warm.partitions());
        long later = WarmReplicas.IDLE_MS + 1;
        assertEquals(
                2, warm.among(new TopicPartition("t", 2), Set.of(LEADER, follower), LEADER, later).size());
        assertEquals(1, warm.partitions(), "those that nobody reads from made room");
    }

    @Test
    void aClientMayNameItsIdcOnly() {
        assertEquals(2, chosen("idc-b", replica(2, "idc-b-r1", 100), replica(3, "idc-c-r1", 100)));
        assertEquals(1, chosen("idc-a", replica(2, "idc-b-r1", 100)), "the leader is in it");
    }

    @Test
    void racksAreInTheIdcThatTheSettingSays() {
        selector.configure(Map.of("guardian.replica.idc.of.rack", "r7:east, r8:east,r9:west"));
        assertEquals(2, chosen("r8", replica(2, "r7", 100), replica(3, "r9", 100)));
        assertEquals(3, chosen("west", replica(2, "r7", 100), replica(3, "r9", 100)), "a client may name the IDC");
        assertEquals(1, chosen("r5", replica(2, "r7", 100), replica(3, "r9", 100)), "a rack that it does not name");
    }

    @Test
    void aReplicaThatFellBehindIsNotReadFrom() {
        ReplicaView slow = new DefaultReplicaView(new Node(2, "host", 9092, "idc-b-r1"), 100, 10_001);
        ReplicaView quick = replica(3, "idc-b-r2", 90);
        assertEquals(3, chosen("idc-b-r1", slow, quick), "the one in the IDC instead of the one in the rack");
        assertEquals(1, chosen("idc-b-r1", slow));
        selector.configure(Map.of("guardian.replica.max.lag.ms", "0"));
        assertEquals(2, chosen("idc-b-r1", slow, quick));
    }

    @Test
    void aRackInTwoIdcsIsRefusedAndSoIsOneInNone() {
        Exception twice = assertThrows(
                IllegalArgumentException.class,
                () -> selector.configure(Map.of("guardian.replica.idc.of.rack", "r1:east,r1:west")));
        assertEquals(
                "guardian.replica.idc.of.rack names rack 'r1' in east and in west: leave one out", twice.getMessage());
        Exception none = assertThrows(
                IllegalArgumentException.class,
                () -> selector.configure(Map.of("guardian.replica.idc.of.rack", "r1=east")));
        assertEquals(
                "guardian.replica.idc.of.rack has 'r1=east': use rack:IDC, separated by commas, such as r1:east,r2:west",
                none.getMessage());
    }

    @Test
    void aWrongSettingIsNamedWithItsValueAndTheFix() {
        Exception warmUp = assertThrows(
                IllegalArgumentException.class,
                () -> selector.configure(Map.of("guardian.replica.warm.up.ms", "10m")));
        assertEquals(
                "guardian.replica.warm.up.ms is '10m': use milliseconds, 0 to let consumers read from every replica",
                warmUp.getMessage());
        Exception separator = assertThrows(
                IllegalArgumentException.class,
                () -> selector.configure(Map.of("guardian.replica.idc.separator", " ")));
        assertEquals(
                "guardian.replica.idc.separator is empty: give what stands between IDC and rack in broker.rack, such as '-'",
                separator.getMessage());
    }

    @Test
    void aRackThatIsNamedIsNotTheIdcOfTheSameName() {
        selector.configure(Map.of("guardian.replica.idc.of.rack", "east:north"));
        ReplicaView north = replica(2, "north-a", 100);
        ReplicaView east = replica(3, "east-a", 100);
        assertEquals(2, chosen("east", north, east));
        assertEquals(1, chosen("east", east));
        assertEquals(3, chosen("east-b", north, east));
    }
}

package guardian.kafka.placement;

import static org.junit.jupiter.api.Assertions.assertEquals;

import guardian.v1.ExcludedBroker;
import guardian.v1.ExpectedReplicas;
import guardian.v1.ExpectedTopic;
import guardian.v1.PlacementRules;
import guardian.v1.TopicLabels;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** Brokers 1 and 2 have no label, 3 and 4 are gold, 5 is shared; broker 2 is excluded; topic "pay" is for gold. */
class TopicRulesTest {
    private static final PlacementRules RULES = PlacementRules.newBuilder()
            .addExcluded(ExcludedBroker.newBuilder().setBrokerId(2).setWho("anna").setWhy("disk swap"))
            .putLabelOfBroker(3, "gold")
            .putLabelOfBroker(4, "gold")
            .putLabelOfBroker(5, "common")
            .addSharedLabels("common")
            .putLabelsOfTopic("pay", TopicLabels.newBuilder().addLabels("gold").build())
            .putExpected("planned", ExpectedTopic.newBuilder()
                    .putPartitions(0, ExpectedReplicas.newBuilder().addBrokers(1).addBrokers(5).build())
                    .build())
            .build();

    private static PlacementSettings settings(String... pairs) {
        Map<String, Object> configs = new HashMap<>(Map.of("guardian.endpoints", "g1:9750", "guardian.cluster.id", "c1"));
        for (int i = 0; i < pairs.length; i += 2) {
            configs.put(pairs[i], pairs[i + 1]);
        }
        return PlacementSettings.read(configs);
    }

    private static String refusal(PlacementSettings settings, String topic, Integer... brokers) {
        Map<Integer, List<Integer>> assignments = brokers.length == 0 ? null : Map.of(0, List.of(brokers));
        return TopicRules.refusal(settings, Optional.of(RULES), topic, assignments).orElse("");
    }

    @Test
    void anExplicitAssignmentToAnExcludedBrokerIsRefusedWithWhoAndWhy() {
        assertEquals(
                "partition 0 of topic t names broker 2, which anna has excluded (disk swap): choose another one",
                refusal(settings(), "t", 1, 2));
        assertEquals("", refusal(settings(), "t", 1));
    }

    @Test
    void whereKafkaChoosesTheCordonsCount() {
        assertEquals("", refusal(settings(), "t"));
        assertEquals("", TopicRules.refusal(settings(), Optional.of(RULES), "t", Map.of()).orElse(""));
    }

    @Test
    void topicsStandOnBrokersOfTheirLabelOnly() {
        assertEquals("", refusal(settings(), "pay", 3, 4));
        assertEquals(
                "partition 0 of topic pay names broker 1, which has no label while the topic's is gold: "
                        + "choose another one",
                refusal(settings(), "pay", 3, 1));
        assertEquals(
                "partition 0 of topic pay names broker 5, whose label is common while the topic's is gold: "
                        + "choose another one",
                refusal(settings(), "pay", 5));
    }

    @Test
    void topicsWithoutALabelStandOnBrokersWithoutOneOrWithASharedOne() {
        assertEquals("", refusal(settings(), "t", 1, 5));
        assertEquals(
                "partition 0 of topic t names broker 3, which is for the topics of label gold: choose another one",
                refusal(settings(), "t", 1, 3));
    }

    @Test
    void creationOutsideGuardianIsRefusedWhereTheSettingSaysSo() {
        PlacementSettings strict = settings("guardian.placement.outside", "refuse");
        assertEquals(
                "topic t is created by no ticket of Guardian: use `guardian plan preallocate`, or name its beginning in "
                        + "guardian.placement.outside.allow",
                refusal(strict, "t", 1));
        assertEquals("", refusal(strict, "planned", 1, 5));
        String other = "topic planned is created by a ticket of Guardian with other replicas: leave it to the ticket";
        assertEquals(other, refusal(strict, "planned", 5, 1));
        assertEquals(other, refusal(strict, "planned"));
        assertEquals("", refusal(strict, "__consumer_offsets"), "Kafka's own");
        PlacementSettings named = settings("guardian.placement.outside", "refuse",
                "guardian.placement.outside.allow", "__, connect-");
        assertEquals("", refusal(named, "connect-status"));
    }

    @Test
    void whoeverMayCreateItMayNotPutItOnAnExcludedBroker() {
        PlacementSettings strict = settings("guardian.placement.outside", "refuse");
        assertEquals(
                "partition 0 of topic __own names broker 2, which anna has excluded (disk swap): choose another one",
                refusal(strict, "__own", 2));
    }

    @Test
    void withoutRulesItIsAsTheSettingSays() {
        Map<Integer, List<Integer>> toExcluded = Map.of(0, List.of(2));
        assertEquals(Optional.empty(), TopicRules.refusal(settings(), Optional.empty(), "t", toExcluded));
        PlacementSettings closed = settings("guardian.placement.when.unknown", "refuse");
        assertEquals(
                Optional.of("Guardian's placement rules are not known to this controller now: retry, or set "
                        + "guardian.placement.when.unknown=allow"),
                TopicRules.refusal(closed, Optional.empty(), "t", toExcluded));
        assertEquals(
                Optional.empty(), TopicRules.refusal(closed, Optional.empty(), "__consumer_offsets", null),
                "Kafka's own topics: without them no consumer gets anywhere");
    }
}

package guardian.kafka.placement;

import guardian.v1.ExcludedBroker;
import guardian.v1.ExpectedReplicas;
import guardian.v1.ExpectedTopic;
import guardian.v1.PlacementRules;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * Whether a topic may be created as it is asked for, by the rules that are known. Pure.
 *
 * <pre>
 *   rules not known         as guardian.placement.when.unknown says
 *   outside Guardian        as guardian.placement.outside says, but for the names that anybody may create. Guardian's own
 *                           are known by their intent: a ticket has written down where they go before it creates them
 *   explicit assignment     no replica on an excluded broker, nor on one whose label is not the topic's
 *   Kafka is to choose      yes: cordons keep it off excluded brokers, and Guardian's guard moves what strays
 * </pre>
 */
public final class TopicRules {
    private TopicRules() {}

    /**
     * @param rules empty while they are not known
     * @param assignments partition to brokers; null or empty where Kafka is to choose
     * @return why not, in one sentence; empty when it may be created
     */
    public static Optional<String> refusal(
            PlacementSettings settings,
            Optional<PlacementRules> rules,
            String topic,
            Map<Integer, List<Integer>> assignments) {
        boolean isExplicit = assignments != null && !assignments.isEmpty();
        boolean isAnybodys = settings.outsideAllowed().stream().anyMatch(topic::startsWith);
        if (rules.isEmpty()) {
            return settings.refusesUnknown() && !isAnybodys
                    ? Optional.of("Guardian's placement rules are not known to this controller now: retry, or set "
                            + PlacementSettings.WHEN_UNKNOWN + "=allow")
                    : Optional.empty();
        }
        PlacementRules known = rules.get();
        ExpectedTopic expected = known.getExpectedMap().get(topic);
        boolean isExpected = expected != null && isExplicit && isSo(expected, assignments);
        if (settings.refusesOutside() && !isExpected && !isAnybodys) {
            return Optional.of(expected == null
                    ? "topic " + topic + " is created by no ticket of Guardian: use `guardian plan preallocate`, or name its"
                            + " beginning in " + PlacementSettings.OUTSIDE_ALLOW
                    : "topic " + topic + " is created by a ticket of Guardian with other replicas: leave it to the ticket");
        }
        return isExplicit ? misplaced(known, topic, new TreeMap<>(assignments)) : Optional.empty();
    }

    private static boolean isSo(ExpectedTopic expected, Map<Integer, List<Integer>> assignments) {
        if (expected.getPartitionsCount() != assignments.size()) {
            return false;
        }
        for (Map.Entry<Integer, ExpectedReplicas> partition : expected.getPartitionsMap().entrySet()) {
            if (!partition.getValue().getBrokersList().equals(assignments.get(partition.getKey()))) {
                return false;
            }
        }
        return true;
    }

    private static Optional<String> misplaced(
            PlacementRules rules, String topic, Map<Integer, List<Integer>> assignments) {
        for (Map.Entry<Integer, List<Integer>> partition : assignments.entrySet()) {
            for (int broker : partition.getValue()) {
                for (ExcludedBroker excluded : rules.getExcludedList()) {
                    if (excluded.getBrokerId() == broker) {
                        return Optional.of("partition " + partition.getKey() + " of topic " + topic + " names broker "
                                + broker + ", which " + excluded.getWho() + " has excluded (" + excluded.getWhy()
                                + "): choose another one");
                    }
                }
                Optional<String> foreign = foreign(rules, topic, broker);
                if (foreign.isPresent()) {
                    return Optional.of("partition " + partition.getKey() + " of topic " + topic + " names broker "
                            + broker + ", " + foreign.get() + ": choose another one");
                }
            }
        }
        return Optional.empty();
    }

    /** As the planner's rules: a label's topics on its brokers, all others on those without one, or with a shared one. */
    private static Optional<String> foreign(PlacementRules rules, String topic, int broker) {
        String label = rules.getLabelOfBrokerMap().getOrDefault(broker, "");
        if (rules.containsLabelsOfTopic(topic)) {
            List<String> own = rules.getLabelsOfTopicOrThrow(topic).getLabelsList();
            if (own.contains(label)) {
                return Optional.empty();
            }
            String found = label.isEmpty() ? "which has no label" : "whose label is " + label;
            return Optional.of(found + " while the topic's is " + String.join(" or ", own));
        }
        return label.isEmpty() || rules.getSharedLabelsList().contains(label)
                ? Optional.empty()
                : Optional.of("which is for the topics of label " + label);
    }
}

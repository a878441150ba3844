package guardian.kafka;

import guardian.kafka.placement.PlacementFeed;
import guardian.kafka.placement.PlacementSettings;
import guardian.kafka.placement.TopicRules;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.common.errors.PolicyViolationException;
import org.apache.kafka.server.policy.CreateTopicPolicy;

/**
 * Controllers refuse topics whose replicas would stand where Guardian wants none: on excluded brokers, or on brokers that
 * have another label than the topic; and, by setting, topics that Guardian does not create itself.
 *
 * <p>Kafka asks at each creation, on the controller's one thread: so nothing is waited for here. What Guardian says is
 * fetched in the background ({@link PlacementFeed}), and an answer follows from what was fetched last ({@link TopicRules}).
 * deploy/broker-plugin/PLACEMENT.md has the settings, and what Kafka does not ask about.
 */
public final class GuardianCreateTopicPolicy implements CreateTopicPolicy {
    private volatile PlacementSettings settings;
    private volatile PlacementFeed feed;

    /** @throws IllegalArgumentException naming the setting, its value and the fix: the controller does not start then */
    @Override
    public void configure(Map<String, ?> configs) {
        settings = PlacementSettings.read(configs);
        feed = new PlacementFeed(settings);
        feed.start();
    }

    @Override
    public void validate(RequestMetadata request) {
        Optional<String> refusal = TopicRules.refusal(
                settings, feed.rules(), request.topic(), request.replicasAssignments());
        if (refusal.isPresent()) {
            throw new PolicyViolationException(refusal.get());
        }
    }

    @Override
    public void close() {
        PlacementFeed running = feed;
        if (running != null) {
            running.close();
        }
    }
}

package guardian.kafka;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.LongSupplier;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.replica.ClientMetadata;
import org.apache.kafka.common.replica.PartitionView;
import org.apache.kafka.common.replica.ReplicaSelector;
import org.apache.kafka.common.replica.ReplicaView;

/**
 * Consumers read from a replica in their rack, else in their IDC, else from the leader; never from one that joined a
 * short while ago, because a new replica of a tiered topic begins with next to nothing on its disks (KIP-1023).
 *
 * <p>The leader asks at every fetch of a consumer, and offers only replicas that are in sync and whose log reaches from
 * the fetch offset on. So what is left to decide is who is near ({@link ReplicaChoice}), who is warm
 * ({@link WarmReplicas}), and who is caught up: in sync may still mean half a minute behind.
 */
public final class IdcAwareReplicaSelector implements ReplicaSelector {
    private final LongSupplier clockMs;
    private volatile ReplicaChoice choice;
    private volatile WarmReplicas warmReplicas;
    private volatile long maxLagMs;

    /** As a broker makes it. */
    public IdcAwareReplicaSelector() {
        this(() -> System.nanoTime() / 1_000_000);
    }

    IdcAwareReplicaSelector(LongSupplier clockMs) {
        this.clockMs = clockMs;
        use(SelectorSettings.DEFAULTS);
    }

    @Override
    public void configure(Map<String, ?> configs) {
        use(SelectorSettings.read(configs));
    }

    @Override
    public Optional<ReplicaView> select(TopicPartition partition, ClientMetadata client, PartitionView view) {
        // Noted for clients without a rack too: the more often it is looked, the better it is known who is new.
        List<ReplicaView> warm = warmReplicas.among(partition, view.replicas(), view.leader(), clockMs.getAsLong());
        return Optional.of(choice.nearest(client.rackId(), caughtUp(warm, view.leader()), view.leader()));
    }

    private List<ReplicaView> caughtUp(List<ReplicaView> replicas, ReplicaView leader) {
        long most = maxLagMs;
        if (most == 0) {
            return replicas;
        }
        return replicas.stream()
                .filter(replica -> replica.endpoint().id() == leader.endpoint().id()
                        || replica.timeSinceLastCaughtUpMs() <= most)
                .toList();
    }

    private void use(SelectorSettings settings) {
        choice = new ReplicaChoice(settings.idcOfRack(), settings.idcSeparator());
        maxLagMs = settings.maxLagMs();
        warmReplicas = new WarmReplicas(settings.warmUpMs(), WarmReplicas.MAX_PARTITIONS);
    }
}

package guardian.kafka;

import java.util.Collection;
import java.util.Comparator;
import java.util.Map;
import java.util.Optional;
import java.util.function.Predicate;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.replica.ReplicaView;

/**
 * Which of some replicas is nearest to a client: one of its rack, else one of its IDC, else the leader.
 *
 * <p>A client says in {@code client.rack} in which rack it is, or only in which IDC. Racks are in the IDC that the setting
 * says; those that it does not name, in that of their own name up to the last separator. A name that the setting has is
 * a rack's, also where an IDC has the same.
 */
final class ReplicaChoice {
    /** The newest log first; of equal ones the lower broker, so that a client is not sent to and fro. */
    private static final Comparator<ReplicaView> BEST_LAST = Comparator.comparingLong(ReplicaView::logEndOffset)
            .thenComparing(replica -> replica.endpoint().id(), Comparator.reverseOrder());

    private final Map<String, String> idcOfRack;
    private final String idcSeparator;

    ReplicaChoice(Map<String, String> idcOfRack, String idcSeparator) {
        this.idcOfRack = Map.copyOf(idcOfRack);
        this.idcSeparator = idcSeparator;
    }

    /** @param clientRack null or empty where the client does not name one: then it is the leader */
    ReplicaView nearest(String clientRack, Collection<ReplicaView> replicas, ReplicaView leader) {
        if (clientRack == null || clientRack.isEmpty()) {
            return leader;
        }
        Optional<ReplicaView> inRack = best(replicas, leader, clientRack::equals);
        if (inRack.isPresent()) {
            return inRack.get();
        }
        String named = idcOfRack.get(clientRack);
        if (named != null) {
            return best(replicas, leader, rack -> idc(rack).equals(named)).orElse(leader);
        }
        // An IDC's own name comes before what a rack of that name would be in: "east-1" may be either.
        return best(replicas, leader, rack -> idc(rack).equals(clientRack))
                .or(() -> best(replicas, leader, rack -> idc(rack).equals(idc(clientRack))))
                .orElse(leader);
    }

    private static Optional<ReplicaView> best(
            Collection<ReplicaView> replicas, ReplicaView leader, Predicate<String> isNear) {
        if (isNear(leader, isNear)) {
            return Optional.of(leader);
        }
        return replicas.stream().filter(replica -> isNear(replica, isNear)).max(BEST_LAST);
    }

    private static boolean isNear(ReplicaView replica, Predicate<String> isNear) {
        Node node = replica.endpoint();
        return node.hasRack() && isNear.test(node.rack());
    }

    private String idc(String rack) {
        String named = idcOfRack.get(rack);
        if (named != null) {
            return named;
        }
        int end = rack.lastIndexOf(idcSeparator);
        return end < 0 ? rack : rack.substring(0, end);
    }
}

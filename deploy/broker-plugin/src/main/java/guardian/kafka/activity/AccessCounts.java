package guardian.kafka.activity;

import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;
import org.apache.kafka.server.authorizer.Action;
import org.apache.kafka.server.authorizer.AuthorizableRequestContext;
import org.apache.kafka.server.authorizer.AuthorizationResult;

/** The counts of the open slice, in stripes: request handlers rarely meet, and one that does waits for a look-up. */
final class AccessCounts {
    private static final int STRIPE_BITS = 6;

    private final Supplier<Room> rooms;
    private final boolean addresses;
    private final AccessTable[] stripes = new AccessTable[1 << STRIPE_BITS];
    private final AtomicLong failed = new AtomicLong();

    AccessCounts(Supplier<Room> rooms, boolean addresses) {
        this.rooms = rooms;
        this.addresses = addresses;
        Room room = rooms.get();
        for (int stripe = 0; stripe < stripes.length; stripe++) {
            stripes[stripe] = new AccessTable(room, addresses);
        }
    }

    void count(AuthorizableRequestContext request, List<Action> actions, List<AuthorizationResult> results) {
        Fingerprint who = Fingerprint.of(request, addresses);
        int at = 0;
        for (Action action : actions) {
            boolean allowed = results.get(at++) == AuthorizationResult.ALLOWED;
            if (isAccess(action, allowed)) {
                Fingerprint print = who.with(action);
                stripes[(int) (print.high() >>> Long.SIZE - STRIPE_BITS)].count(print, request, action, allowed);
            }
        }
    }

    /** Counts that were not made. */
    void failed() {
        failed.incrementAndGet();
    }

    /** Begins a new slice. Returns how many counts of the old one are missing in what the sink gets. */
    long drain(AccessTable.Sink sink) {
        Room next = rooms.get();
        long lost = failed.getAndSet(0);
        for (AccessTable stripe : stripes) {
            lost += stripe.drain(next, sink);
        }
        return lost;
    }

    /**
     * Kafka also asks what a client could do, to describe it or to leave out what it may not see. It marks such
     * questions as none for the audit, and the one for "any topic" by no reference to a resource.
     */
    private static boolean isAccess(Action action, boolean allowed) {
        return (allowed ? action.logIfAllowed() : action.logIfDenied()) && action.resourceReferenceCount() > 0;
    }
}

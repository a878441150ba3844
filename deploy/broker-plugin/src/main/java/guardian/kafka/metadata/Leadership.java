package guardian.kafka.metadata;

import java.util.ArrayList;
import java.util.List;

/**
 * One uninterrupted time for which this broker leads a partition, and the token that it may write with.
 *
 * <p>Kafka says again and again that the broker leads; each time the partition is claimed again, since another broker may
 * have led in between without this one hearing of it. As long as nobody else's claim came between, it is the same
 * leadership, and copies go on. Guarded by its partition's monitor.
 */
final class Leadership {
    private final List<Runnable> afterClaim = new ArrayList<>();
    private long token;
    private long currentFrom;
    private int claimsUnderWay;
    private String claimError = "no answer to the claim yet";
    private boolean isSwept;

    /** 0: none yet. */
    long token() {
        return token;
    }

    boolean hasToken() {
        return token > 0;
    }

    /** All that earlier leaders wrote has a lower event id. */
    long currentFrom() {
        return currentFrom;
    }

    /** Why there is no token. */
    String claimError() {
        return claimError;
    }

    void claiming() {
        claimsUnderWay++;
    }

    boolean isClaiming() {
        return claimsUnderWay > 0;
    }

    /** A gap before the new token: another broker has claimed and maybe written in between. */
    void granted(long granted, long nextEventId) {
        if (granted >= token) {
            isSwept &= granted <= token + 1;
            token = granted;
            currentFrom = Math.max(currentFrom, nextEventId);
        }
    }

    void notGranted(String error) {
        claimError = error;
    }

    void claimAnswered() {
        claimsUnderWay--;
    }

    void runAfterClaim(Runnable action) {
        afterClaim.add(action);
    }

    /** What waited for the claims under way; the caller runs it outside the monitor. */
    List<Runnable> takeAfterClaim() {
        if (isClaiming()) {
            return List.of();
        }
        List<Runnable> taken = List.copyOf(afterClaim);
        afterClaim.clear();
        return taken;
    }

    boolean isSwept() {
        return isSwept;
    }

    /** Whether foreign copies still have to be looked for; from now on: no. */
    boolean takeSweep() {
        boolean wasSwept = isSwept;
        isSwept = true;
        return !wasSwept;
    }

    /** A sweep did not come through. */
    void sweepAgain() {
        isSwept = false;
    }
}

package guardian.kafka.metadata.store;

import guardian.v1.SessionRef;
import java.util.HashSet;
import java.util.Set;

/**
 * A session's numbers: which changes are under way, and below which all are answered.
 *
 * <p>At most {@code window} numbers are between the oldest that is not answered and the next.
 */
final class Session {
    private final long id;
    private final int window;
    private final Set<Long> answered = new HashSet<>(); // above answeredBelow
    private long next = 1;
    private long answeredBelow = 1;

    Session(long id, int window) {
        this.id = id;
        this.window = window;
    }

    boolean hasRoom() {
        return next - answeredBelow < window;
    }

    /** The next number, which is under way from now on. Only while there is room. */
    long take() {
        return next++;
    }

    /** What goes along with the change, as of now. */
    SessionRef ref(long sequence) {
        return SessionRef.newBuilder()
                .setId(id)
                .setSequence(sequence)
                .setAnsweredBelow(answeredBelow)
                .build();
    }

    /** Its answer is there, or nobody waits for it any longer: it is not repeated. */
    void release(long sequence) {
        answered.add(sequence);
        while (answered.remove(answeredBelow)) {
            answeredBelow++;
        }
    }
}

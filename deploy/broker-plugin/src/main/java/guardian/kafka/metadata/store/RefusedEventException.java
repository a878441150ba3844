package guardian.kafka.metadata.store;

import guardian.v1.AppendErrorKind;
import org.apache.kafka.common.TopicIdPartition;

/** The event is malformed, or does not fit what is stored: nothing changed, and repeating it won't change that. */
public final class RefusedEventException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final transient TopicIdPartition partition;
    private final AppendErrorKind kind;

    public RefusedEventException(TopicIdPartition partition, AppendErrorKind kind, String sentence) {
        super(partition + ": " + sentence);
        this.partition = partition;
        this.kind = kind;
    }

    TopicIdPartition partition() {
        return partition;
    }

    public AppendErrorKind kind() {
        return kind;
    }
}

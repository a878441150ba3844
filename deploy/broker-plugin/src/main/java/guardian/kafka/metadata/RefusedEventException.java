package guardian.kafka.metadata;

import guardian.v1.AppendErrorKind;
import org.apache.kafka.common.TopicIdPartition;

/** The event is malformed, or does not fit what is stored: nothing changed, and repeating it won't change that. */
final class RefusedEventException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final transient TopicIdPartition partition;
    private final AppendErrorKind kind;

    RefusedEventException(TopicIdPartition partition, AppendErrorKind kind, String sentence) {
        super(partition + ": " + sentence);
        this.partition = partition;
        this.kind = kind;
    }

    TopicIdPartition partition() {
        return partition;
    }

    AppendErrorKind kind() {
        return kind;
    }
}

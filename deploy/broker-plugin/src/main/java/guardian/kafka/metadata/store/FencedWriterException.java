package guardian.kafka.metadata.store;

import org.apache.kafka.common.TopicIdPartition;

/** Another writer has claimed the partition since: the event is not stored, and repeating it won't change that. */
public final class FencedWriterException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final transient TopicIdPartition partition;
    private final long token;
    private final long highestToken;

    public FencedWriterException(TopicIdPartition partition, long token, long highestToken, String sentence) {
        super(partition + ": " + sentence);
        this.partition = partition;
        this.token = token;
        this.highestToken = highestToken;
    }

    TopicIdPartition partition() {
        return partition;
    }

    /** The one that the event was sent with. */
    public long ownToken() {
        return token;
    }

    /** The one that Guardian gave out last. */
    public long highestToken() {
        return highestToken;
    }
}

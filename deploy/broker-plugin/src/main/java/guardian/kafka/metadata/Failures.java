package guardian.kafka.metadata;

import guardian.kafka.metadata.store.FencedWriterException;
import guardian.kafka.metadata.store.RefusedEventException;
import guardian.kafka.metadata.store.StoreUnavailableException;
import java.util.concurrent.CompletionException;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.errors.ReplicaNotAvailableException;
import org.apache.kafka.server.log.remote.storage.RemoteResourceNotFoundException;
import org.apache.kafka.server.log.remote.storage.RemoteStorageException;
import org.apache.kafka.server.log.remote.storage.RetriableRemoteStorageException;

/**
 * The store's failures and the manager's own, in the exceptions that Kafka's RemoteLogManager tells apart.
 *
 * <p>It retries quietly what a method throws as retriable: since 4.x that is a RemoteStorageException of its own, in a 3.9
 * broker only Kafka's RetriableException. Everything else is logged, counted as a failure, and tried again all the same.
 */
final class Failures {
    private static final boolean HAS_RETRIABLE_STORAGE_EXCEPTION = isThere(
            "org.apache.kafka.server.log.remote.storage.RetriableRemoteStorageException");

    private Failures() {}

    static Exception retriable(String sentence) {
        return HAS_RETRIABLE_STORAGE_EXCEPTION ? Since4.retriable(sentence) : new ReplicaNotAvailableException(sentence);
    }

    static RemoteResourceNotFoundException notAssigned(TopicIdPartition partition) {
        return new RemoteResourceNotFoundException(partition + " is not assigned to this broker");
    }

    static RemoteResourceNotFoundException deleted(TopicIdPartition partition) {
        return new RemoteResourceNotFoundException(partition + " is deleted");
    }

    static RemoteStorageException fenced(TopicIdPartition partition, FencedWriterException fenced) {
        return new RemoteStorageException(
                partition + ": this broker's claim has token " + fenced.ownToken() + ", but another broker's claim has token "
                        + fenced.highestToken() + " (in verified mode a token is the leader epoch + 1): nothing was changed,"
                        + " and only the partition's leader may write",
                fenced);
    }

    /** Why a write failed that was under way. */
    static Exception ofWrite(TopicIdPartition partition, Throwable failure) {
        Throwable cause = cause(failure);
        if (cause instanceof FencedWriterException fenced) {
            return fenced(partition, fenced);
        } else if (cause instanceof RefusedEventException refused) {
            return switch (refused.kind()) {
                case PARTITION_DELETED -> deleted(partition);
                default -> new RemoteStorageException(refused.getMessage(), refused);
            };
        } else if (cause instanceof StoreUnavailableException) {
            return retriable(partition + ": " + cause.getMessage());
        }
        return new RemoteStorageException(partition + ": " + cause, cause);
    }

    static Throwable cause(Throwable failure) {
        return failure instanceof CompletionException && failure.getCause() != null ? failure.getCause() : failure;
    }

    /** Throws what callers of the interface may get: a RemoteStorageException, or what is unchecked. */
    static RuntimeException raise(Exception failure) throws RemoteStorageException {
        if (failure instanceof RemoteStorageException checked) {
            throw checked;
        }
        throw (RuntimeException) failure;
    }

    private static boolean isThere(String className) {
        try {
            Class.forName(className, false, Failures.class.getClassLoader());
            return true;
        } catch (ClassNotFoundException beforeKafka4) {
            return false;
        }
    }

    /** Not loaded by a broker that lacks the class. */
    private static final class Since4 {
        static Exception retriable(String sentence) {
            return new RetriableRemoteStorageException(sentence);
        }
    }
}

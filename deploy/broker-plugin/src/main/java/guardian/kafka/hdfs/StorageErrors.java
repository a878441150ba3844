package guardian.kafka.hdfs;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.file.FileSystemException;
import org.apache.kafka.server.log.remote.storage.RemoteResourceNotFoundException;
import org.apache.kafka.server.log.remote.storage.RemoteStorageException;
import org.apache.kafka.server.log.remote.storage.RetriableRemoteStorageException;

/** What went wrong, in Kafka's exceptions: gone, damaged, or worth another try. */
final class StorageErrors {
    private static final boolean KNOWS_RETRIABLE = knowsRetriable();

    private StorageErrors() {}

    static RemoteStorageException of(String what, IOException cause) {
        String message = what + ": " + sentenceOf(cause);
        if (cause instanceof FileNotFoundException) {
            return new RemoteResourceNotFoundException(message, cause);
        }
        if (cause instanceof CorruptFileException) {
            return new RemoteStorageException(message, cause);
        }
        return KNOWS_RETRIABLE ? Newer.retriable(message, cause) : new RemoteStorageException(message, cause);
    }

    /** The first line of its message: after it Hadoop has a server's stack trace. */
    static String sentenceOf(Throwable cause) {
        // A local one's message is the file's name only.
        String message = cause instanceof FileSystemException ? cause.toString() : cause.getMessage();
        return message == null ? cause.toString() : message.lines().findFirst().orElse(cause.toString());
    }

    private static boolean knowsRetriable() {
        try {
            Class.forName(
                    "org.apache.kafka.server.log.remote.storage.RetriableRemoteStorageException",
                    false,
                    RemoteStorageException.class.getClassLoader());
            return true;
        } catch (ClassNotFoundException e) {
            return false;
        }
    }

    /** Loaded where the class exists only: Kafka 3.9 has none. */
    private static final class Newer {
        static RemoteStorageException retriable(String message, Throwable cause) {
            return new RetriableRemoteStorageException(message, cause);
        }
    }
}

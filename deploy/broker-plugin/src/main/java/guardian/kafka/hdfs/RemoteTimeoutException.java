package guardian.kafka.hdfs;

import java.io.IOException;

/** The file system did not answer within the limit; what it was asked for may still happen. */
final class RemoteTimeoutException extends IOException {
    private static final long serialVersionUID = 1L;

    RemoteTimeoutException(String message) {
        super(message);
    }
}

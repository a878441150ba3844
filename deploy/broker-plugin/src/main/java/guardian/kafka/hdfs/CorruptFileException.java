package guardian.kafka.hdfs;

import java.io.IOException;

/** Bytes that are not the ones that were written. */
final class CorruptFileException extends IOException {
    private static final long serialVersionUID = 1L;

    CorruptFileException(String message) {
        super(message);
    }
}

package guardian.kafka.hdfs;

import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.function.Consumer;

/**
 * The few things that are asked of a distributed file system; paths are relative to the configured root.
 *
 * <p>Every call may block for as long as it takes: {@link TimeLimitedFiles} sees to the limit.
 */
interface RemoteFiles extends Closeable {
    /** Opens a file at a position; {@link java.io.FileNotFoundException} when it is not there. */
    OpenFile open(String path, long position) throws IOException;

    /** Creates or replaces a file, and the folders above it. Nothing is promised of its content before the stream is closed. */
    OutputStream create(String path) throws IOException;

    /** Renames a file, atomically; fails when the target exists. */
    void rename(String from, String to) throws IOException;

    /** Deletes a file; false when it was not there. */
    boolean delete(String path) throws IOException;

    /** Deletes a folder that holds nothing; false when it holds something or is not there. */
    boolean deleteEmptyFolder(String path) throws IOException;

    /** Every file under the root; {@link java.io.FileNotFoundException} when the root itself is not there. */
    void list(Consumer<FileEntry> visitor) throws IOException;

    /** A stream from the position that was asked for, and the length of the whole file. */
    record OpenFile(InputStream stream, long length) implements Closeable {
        @Override
        public void close() throws IOException {
            stream.close();
        }
    }

    record FileEntry(String path, long bytes, long modifiedMs) {}
}

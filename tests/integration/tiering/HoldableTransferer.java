package guardian.test;

import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.kafka.server.log.remote.storage.Transferer;

/**
 * Copies files like LocalTieredStorage's own, but waits between a segment and its indexes while the broker's working
 * directory holds a file {@code hold}; while it waits, that directory holds {@code held}. So a test can break things in
 * the middle of a copy.
 */
public final class HoldableTransferer implements Transferer {
    private static final Path HOLD = Path.of("hold");
    private static final Path HELD = Path.of("held");

    @Override
    public void transfer(File from, File to) throws IOException {
        if (from.exists()) {
            Files.copy(from.toPath(), to.toPath());
        }
        if (to.getName().endsWith(".log")) {
            waitWhileHeld();
        }
    }

    @Override
    public void transfer(ByteBuffer from, File to) throws IOException {
        if (from != null && from.hasRemaining()) {
            byte[] bytes = new byte[from.remaining()];
            from.get(bytes);
            Files.write(to.toPath(), bytes);
        }
    }

    private static void waitWhileHeld() throws IOException {
        try {
            while (Files.exists(HOLD)) {
                if (!Files.exists(HELD)) {
                    Files.write(HELD, new byte[0]);
                }
                Thread.sleep(20);
            }
            Files.deleteIfExists(HELD);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("interrupted while held", e);
        }
    }
}

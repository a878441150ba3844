package guardian.kafka.hdfs;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.io.OutputStream;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class TimeLimitTest {
    private static final Duration SHORT = Duration.ofMillis(50);
    private static final Duration LONG = Duration.ofMinutes(1);

    private final CountDownLatch release = new CountDownLatch(1);

    private Object hang() throws InterruptedException {
        release.await();
        return null;
    }

    @Test
    void aCallReturnsOrThrowsWhatItsTaskDoes() throws IOException {
        try (TimeLimit limit = new TimeLimit(LONG)) {
            assertEquals(7, limit.call("add", () -> 3 + 4));
            IOException failure = new IOException("no");
            assertSame(failure, assertThrows(IOException.class, () -> limit.call("fail", () -> {
                throw failure;
            })));
            IOException other = assertThrows(IOException.class, () -> limit.call("fail", () -> {
                throw new IllegalStateException("odd");
            }));
            assertTrue(other.getMessage().startsWith("can't fail: "), other.getMessage());
        }
    }

    @Test
    void aCallThatHangsEndsWithASentenceThatNamesTheSetting() throws IOException {
        try (TimeLimit limit = new TimeLimit(SHORT)) {
            IOException e = assertThrows(RemoteTimeoutException.class, () -> limit.call("open a", this::hang));
            assertEquals("can't open a: no answer for 50 ms (rsm.config.read.timeout.ms)", e.getMessage());
        }
    }

    @Test
    void anInterruptEndsTheCallAndIsKept() throws IOException {
        try (TimeLimit limit = new TimeLimit(LONG)) {
            Thread.currentThread().interrupt();
            assertThrows(InterruptedIOException.class, () -> limit.call("open a", this::hang));
            assertTrue(Thread.interrupted());
        }
    }

    @Test
    void whatArrivesTooLateIsClosed() throws Exception {
        CountDownLatch begun = new CountDownLatch(1);
        CountDownLatch closed = new CountDownLatch(1);
        try (TimeLimit limit = new TimeLimit(SHORT)) {
            while (begun.getCount() > 0) { // what is given up before its thread runs never begins
                assertThrows(RemoteTimeoutException.class, () -> limit.call("open a", () -> {
                    begun.countDown();
                    awaitThroughInterrupts();
                    return (Closeable) closed::countDown;
                }));
            }
            release.countDown();
            assertTrue(closed.await(30, TimeUnit.SECONDS));
        }
    }

    @Test
    void closingAStreamGoesOnAfterItsCallerWasInterrupted() throws Exception {
        CountDownLatch closed = new CountDownLatch(1);
        try (TimeLimit limit = new TimeLimit(LONG)) {
            Thread.currentThread().interrupt();
            assertThrows(InterruptedIOException.class, () -> limit.end("close a", () -> {
                awaitThroughInterrupts();
                closed.countDown();
            }));
            assertTrue(Thread.interrupted());
            release.countDown();
            assertTrue(closed.await(30, TimeUnit.SECONDS));
        }
    }

    @Test
    void callsThatHangOnUseUpThreadsOfWhichThereIsAnEnd() throws IOException {
        try (TimeLimit limit = new TimeLimit(Duration.ofMillis(5))) {
            String last = "";
            long deadline = System.nanoTime() + LONG.toNanos();
            while (!last.contains("hang already") && System.nanoTime() < deadline) {
                last = assertThrows(RemoteTimeoutException.class, () -> limit.call("open a", () -> {
                            awaitThroughInterrupts();
                            return null;
                        }))
                        .getMessage();
            }
            assertEquals("can't open a: 128 calls to the remote storage hang already", last);
            release.countDown();
            assertDoesNotThrow(() -> callUntilAThreadIsFree(limit));
        }
    }

    private static void callUntilAThreadIsFree(TimeLimit limit) throws Exception {
        long deadline = System.nanoTime() + LONG.toNanos();
        while (System.nanoTime() < deadline) {
            try {
                limit.call("add", () -> 1);
                return;
            } catch (RemoteTimeoutException e) {
                Thread.sleep(1);
            }
        }
        throw new IOException("no thread has become free");
    }

    @Test
    void aClosedLimitRefusesCalls() throws IOException {
        TimeLimit limit = new TimeLimit(LONG);
        limit.close();
        assertThrows(RemoteTimeoutException.class, () -> limit.call("open a", () -> 1));
    }

    @Test
    void eachReadOfAStreamHasTheLimitForItself() throws IOException {
        MemoryFiles memory = new MemoryFiles();
        byte[] bytes = Segments.bytes(TimeLimitedFiles.CHUNK_BYTES * 2 + 17, 1);
        memory.files.put("a", bytes);
        try (TimeLimitedFiles files = new TimeLimitedFiles(memory, new TimeLimit(Duration.ofSeconds(2)))) {
            try (RemoteFiles.OpenFile file = files.open("a", 5)) {
                assertEquals(bytes.length, file.length());
                assertEquals(bytes[5] & 0xff, file.stream().read());
                assertEquals(bytes.length - 6, file.stream().readAllBytes().length);
                assertEquals(-1, file.stream().read());
            }
            try (InputStream stream = files.open("a", 0).stream()) {
                assertEquals(bytes[0] & 0xff, stream.read());
                memory.hook = call -> {
                    try {
                        release.await();
                    } catch (InterruptedException e) {
                        throw new InterruptedIOException();
                    }
                };
                assertThrows(RemoteTimeoutException.class, stream::readAllBytes);
                memory.hook = call -> {};
            }
            assertEquals(0, memory.openStreams.get());
            try (OutputStream out = files.create("b")) {
                out.write(bytes);
                out.write(1);
            }
            assertEquals(bytes.length + 1, memory.files.get("b").length);
            files.rename("b", "c");
            assertTrue(files.delete("c"));
            assertArrayEquals(new Object[] {"a"}, memory.files.keySet().toArray());
        }
    }

    private void awaitThroughInterrupts() {
        boolean waiting = true;
        while (waiting) {
            try {
                release.await();
                waiting = false;
            } catch (InterruptedException e) {
                // Hangs on, as some calls do.
            }
        }
    }
}

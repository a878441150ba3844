package guardian.kafka.hdfs;

import guardian.kafka.common.DaemonThreads;
import java.io.Closeable;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Calls that may hang, made on a thread that may be given up.
 *
 * <p>A caller waits for the limit at most, and can be interrupted. The thread of a call that was given up is interrupted
 * too; should it hang on, it is one of a bounded number, and when these are used up further calls fail at once.
 */
final class TimeLimit implements Closeable {
    private static final int MOST_THREADS = 128;
    private static final Duration CLOSE_LIMIT = Duration.ofSeconds(5);

    private final Duration limit;
    private final ThreadPoolExecutor threads;

    TimeLimit(Duration limit) {
        this.limit = limit;
        this.threads = new ThreadPoolExecutor(
                0, MOST_THREADS, 30, TimeUnit.SECONDS, new SynchronousQueue<>(), new DaemonThreads("guardian-hdfs-io"));
    }

    /** What the task returns. One that was given up is interrupted, and what it still returns is closed. */
    <T> T call(String what, Callable<T> task) throws IOException {
        return call(what, task, true);
    }

    /** For what must come to its end, such as closing a stream: one that was given up goes on alone. */
    void end(String what, Closeable task) throws IOException {
        call(
                what,
                () -> {
                    task.close();
                    return null;
                },
                false);
    }

    private <T> T call(String what, Callable<T> task, boolean cancels) throws IOException {
        CompletableFuture<T> result = new CompletableFuture<>();
        Future<?> running;
        try {
            running = threads.submit(() -> run(task, result));
        } catch (RejectedExecutionException e) {
            throw new RemoteTimeoutException(
                    threads.isShutdown()
                            ? "can't " + what + ": the storage manager is closed"
                            : "can't " + what + ": " + MOST_THREADS + " calls to the remote storage hang already");
        }
        try {
            return result.get(limit.toNanos(), TimeUnit.NANOSECONDS);
        } catch (ExecutionException e) {
            throw asIOException(what, e.getCause());
        } catch (TimeoutException e) {
            giveUp(result, running, cancels);
            throw new RemoteTimeoutException("can't " + what + ": no answer for " + limit.toMillis()
                    + " ms (" + HdfsSettings.READ_TIMEOUT_MS + ")");
        } catch (InterruptedException e) {
            giveUp(result, running, cancels);
            Thread.currentThread().interrupt();
            throw new InterruptedIOException("interrupted while trying to " + what);
        }
    }

    @Override
    public void close() {
        threads.shutdownNow();
        DaemonThreads.await(threads, CLOSE_LIMIT);
    }

    private static <T> void run(Callable<T> task, CompletableFuture<T> result) {
        try {
            T value = task.call();
            if (!result.complete(value)) {
                discard(value);
            }
        } catch (Exception | LinkageError e) {
            result.completeExceptionally(e);
        }
    }

    private static <T> void giveUp(CompletableFuture<T> result, Future<?> running, boolean cancels) {
        if (result.cancel(false)) {
            if (cancels) {
                running.cancel(true);
            }
        } else if (!result.isCompletedExceptionally()) {
            discard(result.join());
        }
    }

    /** A stream that arrives after its caller has gone is nobody's to close. */
    private static void discard(Object value) {
        if (value instanceof Closeable late) {
            try {
                late.close();
            } catch (IOException e) {
                // Nothing was written to it, and nobody reads from it.
            }
        }
    }

    private static IOException asIOException(String what, Throwable cause) {
        if (cause instanceof IOException io) {
            return io;
        }
        return new IOException("can't " + what + ": " + cause, cause);
    }
}

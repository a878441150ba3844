package guardian.kafka.reporter.host;

import guardian.v1.LogDirFacts;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * All log dirs, side by side and within a time limit.
 *
 * <p>A disk that hangs holds whoever asks it, for minutes, and no interrupt helps. So each log dir is read by a thread
 * that may be lost to it: at most one a log dir, and what was read last stands in until it returns.
 */
public final class LogDirReaders {
    private static final Logger LOG = LoggerFactory.getLogger(LogDirReaders.class);

    private final List<Watched> logDirs;
    private final Executor threads;

    /** A log dir, the reading that is under way, and the last one that came to an end. */
    private static final class Watched {
        private final LogDirReader reader;
        private volatile LogDirFacts last;
        private CompletableFuture<LogDirFacts> running;

        Watched(LogDirReader reader) {
            this.reader = reader;
            last = LogDirFacts.newBuilder().setPath(reader.path().toString()).build();
        }

        synchronized CompletableFuture<LogDirFacts> read(MountTable mounts, DiskStats disks, Executor threads) {
            if (running == null || running.isDone()) {
                running = CompletableFuture.supplyAsync(() -> last = reader.read(mounts, disks), threads);
            }
            return running;
        }
    }

    /** @param threads needs room for one a log dir */
    public LogDirReaders(List<LogDirReader> logDirs, Executor threads) {
        this.logDirs = logDirs.stream().map(Watched::new).toList();
        this.threads = threads;
    }

    /** @param limit how long all of them together are waited for */
    public List<LogDirFacts> read(MountTable mounts, DiskStats disks, Duration limit) {
        long startedNs = System.nanoTime();
        List<CompletableFuture<LogDirFacts>> readings =
                logDirs.stream().map(dir -> dir.read(mounts, disks, threads)).toList();
        List<LogDirFacts> facts = new ArrayList<>(logDirs.size());
        for (int i = 0; i < readings.size(); i++) {
            facts.add(await(readings.get(i), logDirs.get(i), limit.toNanos() - (System.nanoTime() - startedNs)));
        }
        return facts;
    }

    private static LogDirFacts await(CompletableFuture<LogDirFacts> reading, Watched logDir, long nanos) {
        try {
            return reading.get(Math.max(0, nanos), TimeUnit.NANOSECONDS);
        } catch (TimeoutException e) {
            LOG.warn("Log dir {} did not answer in time: what was read of it before stands in", logDir.reader.path());
        } catch (ExecutionException e) {
            LOG.warn("Log dir {} can't be read", logDir.reader.path(), e.getCause());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        return logDir.last;
    }
}

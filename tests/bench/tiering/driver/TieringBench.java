import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.server.log.remote.storage.RemoteLogMetadataManager;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentId;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadataUpdate;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentState;

/**
 * Loads one RemoteLogMetadataManager through Kafka's interface alone, so that two of them are measured by the same code.
 *
 * <p>{@code java TieringBench.java CLASS SETTINGS-FILE}; then one command a line on standard input, one line of JSON for
 * each on standard output:
 *
 * <pre>
 *   writes IN_FLIGHT SECONDS     events/s, p50_ms, p99_ms: copies started and finished, so many under way at once
 *   fill PARTITIONS SEGMENTS     that many finished segments in each of so many partitions (they stay)
 *   reload LEFT_OUT              another instance: seconds until all that was filled but so many partitions can be
 *                                looked up, heap_bytes of it
 *   lookups COUNT                p50_ns of a look-up among what was loaded
 *   move_in                      ms from the assignment of a partition that was left out until it can be looked up
 * </pre>
 */
final class TieringBench {
    private static final int EPOCH = 0;
    private static final int RECORDS = 100; // in a segment
    private static final int WRITTEN_PARTITIONS = 64;
    private static final long READY_LIMIT_S = 120;
    private static final int LOOKUPS_TIMED_TOGETHER = 10;

    private final String className;
    private final Map<String, Object> settings;
    private final PrintStream answers;
    private final int brokerId;
    private RemoteLogMetadataManager manager;
    private List<TopicIdPartition> written = List.of();
    private List<TopicIdPartition> filled = List.of();
    private List<TopicIdPartition> loaded = List.of();
    private int segmentsEach;

    private TieringBench(String className, Map<String, Object> settings, PrintStream answers) throws Exception {
        this.className = className;
        this.settings = settings;
        this.answers = answers;
        this.brokerId = Integer.parseInt(settings.get("broker.id").toString());
        this.manager = started();
    }

    public static void main(String[] arguments) throws Exception {
        PrintStream answers = System.out;
        System.setOut(System.err); // what is logged goes there
        Map<String, Object> settings = new HashMap<>();
        Properties read = new Properties();
        try (var file = Files.newBufferedReader(Path.of(arguments[1]))) {
            read.load(file);
        }
        read.forEach((key, value) -> settings.put(key.toString(), value));
        int code = 0;
        try {
            TieringBench bench = new TieringBench(arguments[0], settings, answers);
            BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
            for (String line = commands.readLine(); line != null; line = commands.readLine()) {
                bench.carryOut(line.split(" "));
            }
            bench.manager.close();
        } catch (Exception e) {
            e.printStackTrace();
            code = 1;
        }
        System.exit(code); // managers have threads of their own
    }

    private void carryOut(String[] command) throws Exception {
        switch (command[0]) {
            case "writes" -> writes(Integer.parseInt(command[1]), Double.parseDouble(command[2]));
            case "fill" -> fill(Integer.parseInt(command[1]), Integer.parseInt(command[2]));
            case "reload" -> reload(Integer.parseInt(command[1]));
            case "lookups" -> lookups(Integer.parseInt(command[1]));
            case "move_in" -> moveIn();
            default -> throw new IllegalArgumentException("unknown command " + command[0]);
        }
    }

    private void answer(String format, Object... values) {
        answers.println(String.format(Locale.ROOT, format, values));
        answers.flush();
    }

    private RemoteLogMetadataManager started() throws Exception {
        RemoteLogMetadataManager made =
                (RemoteLogMetadataManager) Class.forName(className).getDeclaredConstructor().newInstance();
        made.configure(settings);
        for (var method : made.getClass().getMethods()) {
            if (method.getName().equals("onBrokerReady")) { // the topic-based one begins only then
                method.invoke(made);
            }
        }
        return made;
    }

    private static List<TopicIdPartition> topic(String name, int partitions) {
        Uuid id = Uuid.randomUuid();
        List<TopicIdPartition> topic = new ArrayList<>();
        for (int partition = 0; partition < partitions; partition++) {
            topic.add(new TopicIdPartition(id, new TopicPartition(name, partition)));
        }
        return topic;
    }

    private void lead(List<TopicIdPartition> partitions) throws Exception {
        manager.onPartitionLeadershipChanges(Set.copyOf(partitions), Set.of());
        awaitReady(partitions);
    }

    private void awaitReady(List<TopicIdPartition> partitions) throws Exception {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(READY_LIMIT_S);
        for (TopicIdPartition partition : partitions) {
            while (!isReady(partition)) {
                if (System.nanoTime() - deadline > 0) {
                    throw new TimeoutException(partition + " is not loaded after " + READY_LIMIT_S + " s");
                }
                LockSupport.parkNanos(200_000);
            }
        }
    }

    private boolean isReady(TopicIdPartition partition) {
        try {
            return manager.isReady(partition);
        } catch (IllegalStateException e) {
            return false; // the topic-based one says so until its topic is there
        }
    }

    // Writes --------------------------------------------------------------------------------------------------------

    private void writes(int inFlight, double seconds) throws Exception {
        if (written.isEmpty()) {
            written = topic("written", WRITTEN_PARTITIONS);
            lead(written);
        }
        Writer warmUp = new Writer(written, inFlight);
        warmUp.run(Math.min(1.0, seconds / 4), Long.MAX_VALUE);
        Writer writer = new Writer(written, inFlight);
        writer.run(seconds, Long.MAX_VALUE);
        long[] times = writer.times();
        answer(
                "{\"rate\": %.2f, \"p50_ms\": %.4f, \"p99_ms\": %.4f, \"events\": %d}",
                writer.rate(), times[times.length / 2] / 1e6, times[(int) (times.length * 0.99)] / 1e6, times.length);
    }

    private void fill(int partitions, int segments) throws Exception {
        filled = topic("filled", partitions);
        segmentsEach = segments;
        lead(filled);
        long began = System.nanoTime();
        Writer writer = new Writer(filled, 1000);
        writer.run(Double.MAX_VALUE, (long) partitions * segments);
        answer("{\"segments\": %d, \"seconds\": %.3f}", (long) partitions * segments, (System.nanoTime() - began) / 1e9);
    }

    /** Starts copies and finishes them, with so many events under way. */
    private final class Writer {
        private final List<TopicIdPartition> partitions;
        private final Semaphore room;
        private final int inFlight;
        private final ConcurrentLinkedQueue<RemoteLogSegmentMetadata> toFinish = new ConcurrentLinkedQueue<>();
        private final ConcurrentLinkedQueue<Long> taken = new ConcurrentLinkedQueue<>();
        private final AtomicReference<Throwable> failure = new AtomicReference<>();
        private final long firstOffset = nextOffset;
        private long copies;
        private long inTime;
        private double lasted;

        Writer(List<TopicIdPartition> partitions, int inFlight) {
            this.partitions = partitions;
            this.inFlight = inFlight;
            this.room = new Semaphore(inFlight);
        }

        void run(double seconds, long limit) throws Exception {
            long began = System.nanoTime();
            long end = seconds > 1e9 ? Long.MAX_VALUE : began + (long) (seconds * 1e9);
            while (System.nanoTime() < end && failure.get() == null) {
                if (!room.tryAcquire(READY_LIMIT_S, TimeUnit.SECONDS)) {
                    throw new TimeoutException("no write was answered in " + READY_LIMIT_S + " s");
                }
                RemoteLogSegmentMetadata next = toFinish.poll();
                if (next != null) {
                    finish(next);
                } else if (copies < limit) {
                    start();
                } else if (room.availablePermits() == inFlight - 1 && toFinish.isEmpty()) {
                    room.release();
                    break;
                } else {
                    room.release();
                    LockSupport.parkNanos(100_000);
                }
            }
            lasted = (System.nanoTime() - began) / 1e9;
            inTime = taken.size();
            if (!room.tryAcquire(inFlight, READY_LIMIT_S, TimeUnit.SECONDS)) {
                throw new TimeoutException("writes are not answered after " + READY_LIMIT_S + " s");
            }
            if (failure.get() != null) {
                throw new IllegalStateException("a write failed", failure.get());
            }
            nextOffset = firstOffset + (copies / partitions.size() + 1) * RECORDS;
        }

        double rate() {
            return inTime / lasted;
        }

        long[] times() {
            long[] sorted = taken.stream().mapToLong(Long::longValue).toArray();
            Arrays.sort(sorted);
            return sorted;
        }

        private void start() throws Exception {
            TopicIdPartition partition = partitions.get((int) (copies % partitions.size()));
            long offset = firstOffset + copies / partitions.size() * RECORDS;
            copies++;
            RemoteLogSegmentMetadata segment = new RemoteLogSegmentMetadata(
                    new RemoteLogSegmentId(partition, Uuid.randomUuid()),
                    offset,
                    offset + RECORDS - 1,
                    System.currentTimeMillis(),
                    brokerId,
                    System.currentTimeMillis(),
                    1 << 20,
                    Map.of(EPOCH, offset));
            long began = System.nanoTime();
            manager.addRemoteLogSegmentMetadata(segment)
                    .whenComplete((none, error) -> done(began, error, segment));
        }

        private void finish(RemoteLogSegmentMetadata segment) throws Exception {
            RemoteLogSegmentMetadataUpdate update = new RemoteLogSegmentMetadataUpdate(
                    segment.remoteLogSegmentId(),
                    System.currentTimeMillis(),
                    Optional.empty(),
                    RemoteLogSegmentState.COPY_SEGMENT_FINISHED,
                    brokerId);
            long began = System.nanoTime();
            manager.updateRemoteLogSegmentMetadata(update).whenComplete((none, error) -> done(began, error, null));
        }

        private void done(long began, Throwable error, RemoteLogSegmentMetadata next) {
            if (error != null) {
                failure.compareAndSet(null, error);
            } else {
                taken.add(System.nanoTime() - began);
                if (next != null) {
                    toFinish.add(next);
                }
            }
            room.release();
        }
    }

    private long nextOffset;

    // What is stored ------------------------------------------------------------------------------------------------

    private void reload(int leftOut) throws Exception {
        loaded = filled.subList(0, filled.size() - leftOut);
        manager.close();
        manager = started();
        written = List.of();
        awaitUsable();
        long before = usedHeap();
        long began = System.nanoTime();
        lead(loaded);
        for (TopicIdPartition partition : loaded) {
            require(partition, segmentsEach);
        }
        double seconds = (System.nanoTime() - began) / 1e9;
        answer("{\"seconds\": %.4f, \"heap_bytes\": %d}", seconds, usedHeap() - before);
    }

    /** Until the instance has made its connections: one empty partition can be looked up. */
    private void awaitUsable() throws Exception {
        lead(topic("empty", 1));
    }

    private void require(TopicIdPartition partition, int segments) throws Exception {
        long count = 0;
        for (var each = manager.listRemoteLogSegments(partition); each.hasNext(); each.next()) {
            count++;
        }
        if (count != segments) {
            throw new IllegalStateException(partition + " has " + count + " segments, not " + segments);
        }
    }

    private static long usedHeap() throws InterruptedException {
        Runtime runtime = Runtime.getRuntime();
        long used = Long.MAX_VALUE;
        for (int turn = 0; turn < 4; turn++) {
            System.gc();
            Thread.sleep(100); // references are cleared in the background
            used = Math.min(used, runtime.totalMemory() - runtime.freeMemory());
        }
        return used;
    }

    private void lookups(int count) throws Exception {
        Random random = new Random(1);
        long first = manager.listRemoteLogSegments(loaded.get(0), EPOCH).next().startOffset();
        long[] times = new long[count / LOOKUPS_TIMED_TOGETHER];
        for (int turn = 0; turn < 2; turn++) { // the first one warms up
            for (int sample = 0; sample < times.length; sample++) {
                TopicIdPartition[] partitions = new TopicIdPartition[LOOKUPS_TIMED_TOGETHER];
                long[] offsets = new long[LOOKUPS_TIMED_TOGETHER];
                for (int each = 0; each < LOOKUPS_TIMED_TOGETHER; each++) {
                    partitions[each] = loaded.get(random.nextInt(loaded.size()));
                    offsets[each] = first + random.nextInt(segmentsEach * RECORDS);
                }
                long began = System.nanoTime();
                for (int each = 0; each < LOOKUPS_TIMED_TOGETHER; each++) {
                    if (manager.remoteLogSegmentMetadata(partitions[each], EPOCH, offsets[each]).isEmpty()) {
                        throw new IllegalStateException(partitions[each] + " has no segment with " + offsets[each]);
                    }
                }
                times[sample] = (System.nanoTime() - began) / LOOKUPS_TIMED_TOGETHER;
            }
        }
        Arrays.sort(times);
        answer("{\"p50_ns\": %d, \"p99_ns\": %d}", times[times.length / 2], times[(int) (times.length * 0.99)]);
    }

    private void moveIn() throws Exception {
        List<TopicIdPartition> partitions = filled.subList(loaded.size(), filled.size());
        double[] taken = new double[partitions.size()];
        for (int turn = 0; turn < taken.length; turn++) {
            long began = System.nanoTime();
            lead(List.of(partitions.get(turn)));
            require(partitions.get(turn), segmentsEach);
            taken[turn] = (System.nanoTime() - began) / 1e6;
        }
        Arrays.sort(taken);
        answer("{\"p50_ms\": %.3f, \"worst_ms\": %.3f}", taken[taken.length / 2], taken[taken.length - 1]);
    }
}

package guardian.kafka.metadata.segments;

import com.google.protobuf.ByteString;
import guardian.v1.RemoteLogSegmentState;
import guardian.v1.SegmentEvent;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryMXBean;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.Uuid;

/**
 * What PartitionCache costs: bytes of heap a segment, nanoseconds a look-up, microseconds an event, milliseconds a
 * load. Prints one JSON object a line. Arguments, all optional: segments in all, partitions, events to apply.
 *
 * <p>Segments are as a topic of Kafka has them: mostly of one leader epoch, a quarter of two, 16 bytes of custom
 * metadata, random ids.
 */
public final class PartitionCacheFootprint {
    private static final int SEGMENT_OFFSETS = 1_000;
    private static final int SEGMENTS_OF_AN_EPOCH = 20;
    private static final int LOOK_UPS = 1_000_000;

    private final Random random = new Random(1);
    private final int segments;
    private final int partitions;
    private final List<PartitionCache> caches = new ArrayList<>();

    private PartitionCacheFootprint(int segments, int partitions) {
        this.segments = segments;
        this.partitions = partitions;
    }

    public static void main(String[] arguments) {
        int segments = arguments.length > 0 ? Integer.parseInt(arguments[0]) : 100_000;
        int partitions = arguments.length > 1 ? Integer.parseInt(arguments[1]) : 1_000;
        int events = arguments.length > 2 ? Integer.parseInt(arguments[2]) : 1_000_000;
        PartitionCacheFootprint footprint = new PartitionCacheFootprint(segments, partitions);
        footprint.measureLoad("cold");
        footprint.measureHeap();
        footprint.measureLookUps();
        footprint.measureEvents(events);
        footprint.measureLoad("warm");
    }

    private void measureHeap() {
        caches.clear();
        long before = usedHeap();
        for (int partition = 0; partition < partitions; partition++) {
            PartitionCache cache = new PartitionCache(name(partition));
            for (int number = 0; number < segments / partitions; number++) {
                Uuid id = new Uuid(random.nextLong(), random.nextLong());
                cache.apply(started(id, number));
                cache.apply(finished(id));
            }
            caches.add(cache);
        }
        long used = usedHeap() - before;
        long estimated = caches.stream().mapToLong(PartitionCache::heapBytes).sum();
        print(
                "heap_per_segment",
                "\"bytes\": %.1f, \"estimated\": %.1f",
                (double) used / segments,
                (double) estimated / segments);
    }

    private void measureLookUps() {
        long[] nanos = new long[LOOK_UPS];
        long found = 0;
        long total = 0;
        for (int round = 0; round < 3; round++) {
            long start = System.nanoTime();
            for (int at = 0; at < LOOK_UPS; at++) {
                PartitionCache cache = caches.get(random.nextInt(partitions));
                int number = random.nextInt(segments / partitions);
                long offset = (long) number * SEGMENT_OFFSETS + random.nextInt(SEGMENT_OFFSETS / 2);
                long from = System.nanoTime();
                boolean isFound = cache.segment(number / SEGMENTS_OF_AN_EPOCH, offset).isPresent();
                nanos[at] = System.nanoTime() - from;
                found += isFound ? 1 : 0;
            }
            total = System.nanoTime() - start;
        }
        if (found != 3L * LOOK_UPS) {
            throw new IllegalStateException("found " + found + " of " + 3L * LOOK_UPS);
        }
        Arrays.sort(nanos);
        print(
                "lookup",
                "\"p50_ns\": %d, \"p99_ns\": %d, \"mean_ns_with_loop\": %.0f",
                nanos[LOOK_UPS / 2],
                nanos[LOOK_UPS / 100 * 99],
                (double) total / LOOK_UPS);
    }

    /** The oldest segment of a partition goes, a new one is copied: four events, of caches that stay as large. */
    private void measureEvents(int events) {
        int each = 1_000;
        List<PartitionCache> busy = new ArrayList<>();
        List<List<Uuid>> ids = new ArrayList<>();
        for (int partition = 0; partition < 50; partition++) {
            PartitionCache cache = new PartitionCache(name(partition));
            List<Uuid> own = new ArrayList<>();
            for (int number = 0; number < each; number++) {
                own.add(new Uuid(random.nextLong(), random.nextLong()));
                cache.apply(started(own.get(number), number));
                cache.apply(finished(own.get(number)));
            }
            busy.add(cache);
            ids.add(own);
        }
        int rounds = events / 4;
        List<SegmentEvent> sequence = new ArrayList<>(4 * 50);
        long nanos = 0;
        for (int round = 0; round < rounds; ) {
            sequence.clear();
            for (int partition = 0; partition < busy.size(); partition++, round++) {
                List<Uuid> own = ids.get(partition);
                int number = each + round / busy.size();
                Uuid oldest = own.set(number % each, new Uuid(random.nextLong(), random.nextLong()));
                sequence.add(started(own.get(number % each), number));
                sequence.add(finished(own.get(number % each)));
                sequence.add(later(oldest, RemoteLogSegmentState.DELETE_SEGMENT_STARTED));
                sequence.add(later(oldest, RemoteLogSegmentState.DELETE_SEGMENT_FINISHED));
            }
            long start = System.nanoTime();
            for (int at = 0; at < sequence.size(); at++) {
                busy.get(at / 4).apply(sequence.get(at));
            }
            nanos += System.nanoTime() - start;
        }
        long ignored = busy.stream().mapToLong(PartitionCache::ignoredEvents).sum();
        if (ignored != 0) {
            throw new IllegalStateException(ignored + " events were ignored");
        }
        print(
                "apply",
                "\"events\": %d, \"seconds\": %.2f, \"us_per_event\": %.2f",
                rounds * 4,
                nanos / 1e9,
                nanos / 4e3 / rounds);
    }

    private void measureLoad(String jvm) {
        List<SegmentEvent> live = new ArrayList<>();
        for (int number = 0; number < segments / partitions; number++) {
            Uuid id = new Uuid(random.nextLong(), random.nextLong());
            live.add(started(id, number).toBuilder().mergeFrom(finished(id)).build());
        }
        long start = System.nanoTime();
        for (int partition = 0; partition < partitions; partition++) {
            new PartitionCache(name(partition)).load(live, Map.of());
        }
        double millis = (System.nanoTime() - start) / 1e6;
        print("load_" + jvm, "\"all_ms\": %.1f, \"partition_ms\": %.3f", millis, millis / partitions);
    }

    private void print(String what, String format, Object... values) {
        System.out.printf(
                "{\"what\": \"%s\", \"segments\": %d, \"partitions\": %d, %s}%n",
                what, segments, partitions, String.format(format, values));
    }

    private static TopicIdPartition name(int partition) {
        return new TopicIdPartition(new Uuid(1, 2), partition, "orders");
    }

    private static SegmentEvent started(Uuid id, int number) {
        long start = (long) number * SEGMENT_OFFSETS;
        int epoch = number / SEGMENTS_OF_AN_EPOCH;
        Map<Integer, Long> epochs = new HashMap<>(Map.of(epoch, start));
        if (number % SEGMENTS_OF_AN_EPOCH >= SEGMENTS_OF_AN_EPOCH * 3 / 4) {
            epochs.put(epoch + 1, start + SEGMENT_OFFSETS / 2);
        }
        return later(id, RemoteLogSegmentState.COPY_SEGMENT_STARTED).toBuilder()
                .setStartOffset(start)
                .setEndOffset(start + SEGMENT_OFFSETS - 1)
                .setMaxTimestampMs(1_700_000_000_000L + number)
                .setSegmentSizeBytes(1 << 30)
                .putAllSegmentLeaderEpochs(epochs)
                .build();
    }

    private static SegmentEvent finished(Uuid id) {
        return later(id, RemoteLogSegmentState.COPY_SEGMENT_FINISHED).toBuilder()
                .setCustomMetadata(ByteString.copyFrom(new byte[16]))
                .build();
    }

    private static SegmentEvent later(Uuid id, RemoteLogSegmentState state) {
        return SegmentEvent.newBuilder()
                .setSegmentId(SegmentEvents.bytes(id))
                .setState(state)
                .setBrokerId(1)
                .setEventTimestampMs(1_700_000_000_000L)
                .build();
    }

    private static long usedHeap() {
        MemoryMXBean memory = ManagementFactory.getMemoryMXBean();
        for (int round = 0; round < 4; round++) {
            System.gc();
        }
        return memory.getHeapMemoryUsage().getUsed();
    }
}

package guardian.kafka.metadata.segments;

import static guardian.kafka.metadata.segments.TestSegments.PARTITION;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import guardian.v1.RemoteLogSegmentState;
import guardian.v1.SegmentEvent;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;
import org.junit.jupiter.api.Test;

/**
 * Readers that run while a writer writes. A log of equal slices is copied again and again: each slice has a finished
 * copy at every moment, and everything in a copy follows from its id, so that a torn answer shows.
 */
class PartitionCacheReadersTest {
    private static final int SLICES = 300;
    private static final int SLICE_OFFSETS = 100;
    private static final int READERS = 2;

    private final PartitionCache cache = new PartitionCache(PARTITION);
    private volatile boolean isWriting = true;

    @Test
    void aReaderNeverMissesAnOffsetThatHasACopyWhileCopiesReplaceEachOther() throws Exception {
        for (int slice = 0; slice < SLICES; slice++) {
            copy(slice, 0);
        }
        readWhile(this::readOne, () -> {
            Random random = new Random(1);
            int[] generations = new int[SLICES];
            for (int round = 0; round < 15_000; round++) {
                int slice = random.nextInt(SLICES);
                int generation = generations[slice]++;
                copy(slice, generation + 1);
                cache.apply(TestSegments.deleteStarted(id(slice, generation)));
                cache.apply(TestSegments.deleteFinished(id(slice, generation)));
            }
        });
        assertEquals(SLICES, cache.count());
        assertEquals(0, cache.ignoredEvents());
    }

    @Test
    void aReaderSeesALoadWholeOrNotAtAll() throws Exception {
        cache.load(generation(0), Map.of());
        readWhile(this::readGeneration, () -> {
            for (int generation = 1; generation < 150; generation++) {
                cache.load(generation(generation), Map.of());
            }
        });
    }

    private void readWhile(Callable<Void> read, Runnable write) throws Exception {
        ExecutorService readers = Executors.newFixedThreadPool(READERS);
        try {
            List<Future<Long>> reads = new ArrayList<>();
            for (int reader = 0; reader < READERS; reader++) {
                reads.add(readers.submit(() -> {
                    long count = 0;
                    do {
                        read.call();
                        count++;
                    } while (isWriting);
                    return count;
                }));
            }
            try {
                write.run();
            } finally {
                isWriting = false;
            }
            for (Future<Long> count : reads) {
                assertTrue(count.get() > 0);
            }
        } finally {
            readers.shutdown();
        }
    }

    private Void readOne() {
        Random random = new Random(System.nanoTime());
        for (int look = 0; look < 100; look++) {
            int slice = random.nextInt(SLICES);
            long offset = (long) slice * SLICE_OFFSETS + random.nextInt(SLICE_OFFSETS);
            requireConsistent(cache.segment(epoch(slice), offset).orElseThrow(), slice);
        }
        int epoch = random.nextInt(2);
        int last = -1;
        List<Integer> slices = new ArrayList<>();
        Iterator<RemoteLogSegmentMetadata> segments = cache.segments(epoch);
        while (segments.hasNext()) {
            RemoteLogSegmentMetadata segment = segments.next();
            int slice = (int) (segment.startOffset() / SLICE_OFFSETS);
            requireConsistent(segment, slice);
            assertTrue(slice >= last, "slices in order");
            if (slice != last) {
                slices.add(slice);
            }
            last = slice;
        }
        assertEquals(SLICES / 2, slices.size());
        return null;
    }

    private Void readGeneration() {
        Iterator<RemoteLogSegmentMetadata> segments = cache.segments();
        long generation = TestSegments.number(segments.next()) / SLICES;
        int count = 1;
        while (segments.hasNext()) {
            RemoteLogSegmentMetadata segment = segments.next();
            requireConsistent(segment, (int) (TestSegments.number(segment) % SLICES));
            assertEquals(generation, TestSegments.number(segment) / SLICES);
            count++;
        }
        assertEquals(SLICES, count);
        return null;
    }

    private static void requireConsistent(RemoteLogSegmentMetadata segment, int slice) {
        long id = TestSegments.number(segment);
        long start = (long) slice * SLICE_OFFSETS;
        assertEquals(slice, id % SLICES);
        assertEquals(start, segment.startOffset());
        assertEquals(start + SLICE_OFFSETS - 1, segment.endOffset());
        assertEquals(500 + id, segment.maxTimestampMs());
        assertEquals(10 + id, segment.segmentSizeInBytes());
        assertEquals(Map.of(epoch(slice), start), segment.segmentLeaderEpochs());
        boolean isStarted = segment.state().id() == 0;
        assertEquals((isStarted ? 1_000 : 10_000) + id, segment.eventTimestampMs());
        assertEquals(isStarted ? 1 : 2, segment.brokerId());
    }

    private void copy(int slice, int generation) {
        cache.apply(started(slice, generation));
        cache.apply(TestSegments.finished(id(slice, generation)));
    }

    private static List<SegmentEvent> generation(int generation) {
        List<SegmentEvent> events = new ArrayList<>();
        for (int slice = 0; slice < SLICES; slice++) {
            events.add(started(slice, generation).toBuilder()
                    .mergeFrom(TestSegments.later(id(slice, generation), RemoteLogSegmentState.COPY_SEGMENT_FINISHED))
                    .build());
        }
        return events;
    }

    private static SegmentEvent started(int slice, int generation) {
        long start = (long) slice * SLICE_OFFSETS;
        return TestSegments.started(
                id(slice, generation), start, start + SLICE_OFFSETS - 1, Map.of(epoch(slice), start));
    }

    private static long id(int slice, int generation) {
        return (long) generation * SLICES + slice;
    }

    private static int epoch(int slice) {
        return slice * 2 / SLICES;
    }
}

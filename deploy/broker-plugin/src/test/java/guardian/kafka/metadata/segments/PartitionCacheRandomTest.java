package guardian.kafka.metadata.segments;

import static guardian.kafka.metadata.segments.TestSegments.PARTITION;
import static org.junit.jupiter.api.Assertions.assertEquals;

import com.google.protobuf.ByteString;
import guardian.v1.RemoteLogSegmentState;
import guardian.v1.SegmentEvent;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

/** Random histories, sane and odd, against {@link ReferenceCache}. A failure names the seed. */
class PartitionCacheRandomTest {
    private static final int EPOCHS = 5;

    @Test
    void shortHistoriesAnswerLikeTheReferenceAfterEachEvent() {
        for (int seed = 0; seed < 2_000; seed++) {
            History history = new History(seed, 6, 20);
            for (int event = 0; event < 25; event++) {
                history.goOn();
                history.compareSome("seed " + seed + ", event " + event);
            }
            history.compareAll("seed " + seed);
            history.reload();
            history.compareAll("seed " + seed + ", loaded");
        }
    }

    @Test
    void longHistoriesAnswerLikeTheReference() {
        for (int seed = 0; seed < 6; seed++) {
            History history = new History(seed, 600, 20_000);
            for (int event = 0; event < 6_000; event++) {
                history.goOn();
                if (event % 300 == 0) {
                    history.compareSome("seed " + seed + ", event " + event);
                }
            }
            history.reload();
            for (int event = 0; event < 600; event++) {
                history.goOn();
            }
            history.compareSome("seed " + seed + ", loaded and followed");
        }
    }

    /** One partition's events, and both caches. */
    private static final class History {
        private final Random random;
        private final int ids;
        private final int offsets;
        private final PartitionCache cache = new PartitionCache(PARTITION);
        private final ReferenceCache reference = new ReferenceCache(PARTITION);

        History(long seed, int ids, int offsets) {
            this.random = new Random(seed);
            this.ids = ids;
            this.offsets = offsets;
        }

        void goOn() {
            SegmentEvent event = event();
            cache.apply(event);
            reference.apply(event);
        }

        void reload() {
            List<SegmentEvent> live = reference.liveEvents();
            Collections.shuffle(live, random);
            cache.load(live, reference.highestOffsets());
            reference.load(live, reference.highestOffsets());
        }

        private SegmentEvent event() {
            RemoteLogSegmentState state = RemoteLogSegmentState.forNumber(1 + random.nextInt(4));
            SegmentEvent event = state == RemoteLogSegmentState.COPY_SEGMENT_STARTED
                    ? started()
                    : TestSegments.later(random.nextInt(ids), state);
            event = event.toBuilder()
                    .setEventTimestampMs(random.nextInt(4))
                    .setBrokerId(random.nextInt(3))
                    .build();
            if (state.getNumber() <= 2 && random.nextInt(4) == 0) {
                event = TestSegments.withCustomMetadata(event, "x".repeat(random.nextInt(20)));
            }
            return random.nextInt(30) == 0 ? malformed(event) : event;
        }

        private SegmentEvent started() {
            long start = random.nextInt(offsets);
            long end = start + random.nextInt(offsets / 3);
            TreeMap<Integer, Long> epochs = new TreeMap<>();
            int epoch = random.nextInt(EPOCHS);
            long offset = random.nextInt(10) == 0 ? random.nextInt(offsets) : start;
            for (; epoch < EPOCHS && (epochs.isEmpty() || offset <= end); epoch += 1 + random.nextInt(2)) {
                epochs.put(epoch, offset);
                offset += random.nextInt(offsets / 4);
            }
            return TestSegments.started(random.nextInt(ids), start, end, epochs).toBuilder()
                    .setTxnIndexEmpty(random.nextBoolean())
                    .build();
        }

        private SegmentEvent malformed(SegmentEvent event) {
            SegmentEvent.Builder builder = event.toBuilder();
            return switch (random.nextInt(6)) {
                case 0 -> builder.setSegmentId(ByteString.copyFromUtf8("id")).build();
                case 1 -> builder.setStateValue(random.nextInt(20)).build();
                case 2 -> builder.setStartOffset(event.getEndOffset() + 1).build();
                case 3 -> builder.setStartOffset(-1).build();
                case 4 -> builder.clearSegmentLeaderEpochs().build();
                default -> builder.setSegmentSizeBytes(-1).build();
            };
        }

        void compareSome(String when) {
            int epoch = random.nextInt(EPOCHS + 1);
            for (int look = 0; look < 5; look++) {
                compareLookUp(epoch, random.nextInt(offsets + offsets / 3) - 1, when);
            }
            compareListings(epoch, when);
        }

        void compareAll(String when) {
            for (int epoch = 0; epoch <= EPOCHS; epoch++) {
                for (long offset = -1; offset <= offsets + offsets / 3; offset++) {
                    compareLookUp(epoch, offset, when);
                }
                compareListings(epoch, when);
            }
        }

        private void compareLookUp(int epoch, long offset, String when) {
            String what = when + ", epoch " + epoch + ", offset " + offset;
            assertEquals(reference.segment(epoch, offset), cache.segment(epoch, offset), what);
            assertEquals(reference.has(epoch, offset), cache.segment(epoch, offset).isPresent(), what);
            assertEquals(
                    reference.nextSegmentWithTxnIndex(epoch, offset),
                    cache.nextSegmentWithTxnIndex(epoch, offset),
                    what);
        }

        private void compareListings(int epoch, String when) {
            assertEquals(reference.highestOffset(epoch), cache.highestOffset(epoch), when);
            assertEquals(reference.segments(epoch), list(cache.segments(epoch)), when);
            assertEquals(reference.segmentsForExpiry(epoch), list(cache.segmentsForExpiry(epoch)), when);
            assertEquals(reference.segments(), list(cache.segments()), when);
            assertEquals(reference.size(epoch), cache.size(epoch), when);
            assertEquals(reference.count(), cache.count(), when);
            assertEquals(reference.ignoredEvents(), cache.ignoredEvents(), when);
        }

        private static <T> List<T> list(Iterator<T> iterator) {
            List<T> list = new ArrayList<>();
            iterator.forEachRemaining(list::add);
            return list;
        }
    }
}

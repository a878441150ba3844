package guardian.kafka.metadata.segments;

import static guardian.kafka.metadata.segments.TestSegments.PARTITION;
import static guardian.kafka.metadata.segments.TestSegments.deleteFinished;
import static guardian.kafka.metadata.segments.TestSegments.deleteStarted;
import static guardian.kafka.metadata.segments.TestSegments.finished;
import static guardian.kafka.metadata.segments.TestSegments.id;
import static guardian.kafka.metadata.segments.TestSegments.later;
import static guardian.kafka.metadata.segments.TestSegments.numbers;
import static guardian.kafka.metadata.segments.TestSegments.started;
import static guardian.kafka.metadata.segments.TestSegments.withCustomMetadata;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import guardian.v1.RemoteLogSegmentState;
import guardian.v1.SegmentEvent;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentId;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata.CustomMetadata;
import org.junit.jupiter.api.Test;

/** The rules of Kafka's RemoteLogMetadataManager, one by one. */
class PartitionCacheTest {
    private final PartitionCache cache = new PartitionCache(PARTITION);

    @Test
    void onlyFinishedCopiesAreFound() {
        apply(started(1, 0, 99, Map.of(0, 0L)));
        assertEquals(Optional.empty(), found(0, 50));
        apply(finished(1));
        assertEquals(Optional.of(1L), found(0, 50));
        apply(deleteStarted(1));
        assertEquals(Optional.empty(), found(0, 50));
        apply(deleteFinished(1));
        assertEquals(Optional.empty(), found(0, 50));
    }

    @Test
    void allButDeletedSegmentsAreListedAndCounted() {
        copy(started(1, 0, 99, Map.of(0, 0L)));
        copy(started(2, 100, 199, Map.of(0, 100L)));
        apply(deleteStarted(1));
        apply(started(3, 200, 299, Map.of(0, 200L)));
        assertEquals(List.of(1L, 2L, 3L), numbers(cache.segments()));
        assertEquals(List.of(1L, 2L, 3L), numbers(cache.segments(0)));
        assertEquals(3, cache.count());
        apply(deleteFinished(1));
        assertEquals(List.of(2L, 3L), numbers(cache.segments()));
        assertEquals(List.of(2L, 3L), numbers(cache.segments(0)));
        assertEquals(2, cache.count());
    }

    @Test
    void aSegmentIsFoundInEachOfItsEpochsWithinThatEpochsOffsets() {
        copy(started(1, 0, 100, Map.of(0, 0L, 1, 20L, 4, 80L)));
        assertEquals(Optional.of(1L), found(0, 19));
        assertEquals(Optional.empty(), found(0, 20));
        assertEquals(Optional.empty(), found(1, 19));
        assertEquals(Optional.of(1L), found(1, 20));
        assertEquals(Optional.of(1L), found(1, 79));
        assertEquals(Optional.empty(), found(1, 80));
        assertEquals(Optional.empty(), found(2, 50));
        assertEquals(Optional.of(1L), found(4, 100));
        assertEquals(Optional.empty(), found(4, 101));
        assertEquals(List.of(1L), numbers(cache.segments(1)));
        assertEquals(List.of(), numbers(cache.segments(2)));
        assertEquals(List.of(1L), numbers(cache.segments()));
    }

    @Test
    void anEpochWithoutRecordsHasNoOffsets() {
        copy(started(1, 0, 99, Map.of(0, 0L, 1, 50L, 2, 50L)));
        assertEquals(Optional.empty(), found(1, 50));
        assertEquals(Optional.of(1L), found(2, 50));
        assertEquals(Optional.of(49L), cache.highestOffset(1));
    }

    @Test
    void anOffsetInAGapIsNotFound() {
        copy(started(1, 10, 99, Map.of(0, 10L)));
        copy(started(2, 200, 299, Map.of(0, 200L)));
        assertEquals(Optional.empty(), found(0, 9));
        assertEquals(Optional.of(1L), found(0, 10));
        assertEquals(Optional.empty(), found(0, 100));
        assertEquals(Optional.empty(), found(0, 199));
        assertEquals(Optional.of(2L), found(0, 200));
        assertEquals(Optional.empty(), found(0, 300));
    }

    @Test
    void aCopySupersedesTheOlderOnesThatItCovers() {
        copy(started(1, 10, 90, Map.of(0, 10L)));
        copy(started(2, 91, 120, Map.of(0, 91L)));
        copy(started(3, 5, 120, Map.of(0, 5L)));
        assertEquals(Optional.of(3L), found(0, 50));
        assertEquals(Optional.of(3L), found(0, 95));
        assertEquals(List.of(3L, 1L, 2L), numbers(cache.segments(0)));
    }

    @Test
    void ofTwoCopiesOfTheSameOffsetsTheNewerOneIsFound() {
        copy(started(1, 10, 100, Map.of(0, 10L)));
        copy(started(2, 10, 100, Map.of(0, 10L)));
        assertEquals(Optional.of(2L), found(0, 11));
        assertEquals(List.of(1L, 2L), numbers(cache.segments(0)));
    }

    @Test
    void aCopyThatOnlyOverlapsLeavesWhatTheOtherAloneHas() {
        copy(started(1, 0, 100, Map.of(0, 0L)));
        copy(started(2, 50, 200, Map.of(0, 50L)));
        assertEquals(Optional.of(1L), found(0, 49));
        assertEquals(Optional.of(2L), found(0, 50));
        assertEquals(Optional.of(2L), found(0, 200));
    }

    @Test
    void aSmallerCopyThatFinishesLaterHidesNothing() {
        copy(started(1, 0, 100, Map.of(0, 0L)));
        copy(started(2, 0, 50, Map.of(0, 0L)));
        copy(started(3, 20, 60, Map.of(0, 20L)));
        assertEquals(Optional.of(1L), found(0, 30));
        assertEquals(Optional.of(1L), found(0, 99));
    }

    @Test
    void aCoveredCopyIsFoundAgainOnceWhatCoversItIsDeleted() {
        copy(started(1, 10, 50, Map.of(0, 10L)));
        copy(started(2, 10, 40, Map.of(0, 10L)));
        copy(started(3, 60, 90, Map.of(0, 60L)));
        copy(started(4, 0, 100, Map.of(0, 0L)));
        apply(deleteStarted(4));
        assertEquals(Optional.empty(), found(0, 5));
        assertEquals(Optional.of(1L), found(0, 10));
        assertEquals(Optional.empty(), found(0, 55));
        assertEquals(Optional.of(3L), found(0, 90));
        apply(deleteStarted(1));
        assertEquals(Optional.of(2L), found(0, 10));
    }

    @Test
    void aSegmentMayBeCoveredInOneEpochAndFoundInAnother() {
        copy(started(1, 0, 100, Map.of(0, 0L, 1, 50L)));
        copy(started(2, 50, 200, Map.of(1, 50L)));
        assertEquals(Optional.of(1L), found(0, 10));
        assertEquals(Optional.of(2L), found(1, 60));
    }

    @Test
    void theHighestOffsetIsOfAnyCopyThatWasEverFinished() {
        apply(started(1, 0, 100, Map.of(0, 0L, 1, 80L)));
        assertEquals(Optional.empty(), cache.highestOffset(0));
        apply(finished(1));
        assertEquals(Optional.of(79L), cache.highestOffset(0));
        assertEquals(Optional.of(100L), cache.highestOffset(1));
        copy(started(2, 80, 90, Map.of(1, 80L)));
        assertEquals(Optional.of(100L), cache.highestOffset(1));
        apply(deleteStarted(1), deleteFinished(1), deleteStarted(2), deleteFinished(2));
        assertEquals(Optional.of(79L), cache.highestOffset(0));
        assertEquals(Optional.of(100L), cache.highestOffset(1));
        assertEquals(Optional.empty(), cache.highestOffset(2));
    }

    @Test
    void anOrphanNeverRaisesTheHighestOffset() {
        apply(started(1, 0, 100, Map.of(0, 0L)), deleteStarted(1));
        assertEquals(Optional.empty(), cache.highestOffset(0));
        cache.load(List.of(started(1, 0, 100, Map.of(0, 0L)).toBuilder()
                .setState(RemoteLogSegmentState.DELETE_SEGMENT_STARTED)
                .build()), Map.of());
        assertEquals(Optional.empty(), cache.highestOffset(0));
    }

    /** Kafka takes the first one's start offset as the start of the log (RemoteLogManager.findLogStartOffset). */
    @Test
    void segmentsOfAnEpochComeByStartOffsetEvenWhenALaterOneWaitsForItsDeletion() {
        copy(started(5, 0, 99, Map.of(0, 0L)));
        copy(started(4, 100, 199, Map.of(0, 100L, 1, 150L)));
        apply(started(3, 200, 299, Map.of(0, 200L)), deleteStarted(3));
        assertEquals(List.of(5L, 4L, 3L), numbers(cache.segments(0)));
        assertEquals(List.of(5L, 4L, 3L), numbers(cache.segments()));
    }

    /** Kafka's expiry stops at the first segment that it keeps (RemoteLogManager.cleanupExpiredRemoteLogSegments). */
    @Test
    void expirySeesFirstWhatWaitsForItsDeletion() {
        copy(started(5, 0, 99, Map.of(0, 0L)));
        apply(started(4, 100, 199, Map.of(0, 100L)));
        apply(started(3, 300, 399, Map.of(0, 300L)), deleteStarted(3));
        apply(started(2, 200, 299, Map.of(0, 200L)), deleteStarted(2));
        assertEquals(List.of(2L, 3L, 5L, 4L), numbers(cache.segmentsForExpiry(0)));
    }

    @Test
    void aListingIsOfOneMoment() {
        copy(started(1, 0, 99, Map.of(0, 0L)));
        var segments = cache.segments(0);
        apply(deleteStarted(1), deleteFinished(1));
        copy(started(2, 100, 199, Map.of(0, 100L)));
        assertEquals(List.of(1L), numbers(segments));
    }

    @Test
    void theSizeSumsUpEveryListedState() {
        apply(started(1, 0, 99, Map.of(0, 0L)));
        copy(started(2, 100, 199, Map.of(0, 100L, 1, 150L)));
        copy(started(3, 200, 299, Map.of(1, 200L)));
        apply(deleteStarted(3));
        assertEquals(11 + 12, cache.size(0));
        assertEquals(12 + 13, cache.size(1));
        apply(deleteFinished(3));
        assertEquals(12, cache.size(1));
        assertEquals(0, cache.size(2));
    }

    @Test
    void theNextTransactionIndexIsTheFirstThatIsNotEmpty() {
        copy(withoutTxnIndex(started(1, 0, 99, Map.of(0, 0L))));
        copy(withoutTxnIndex(started(2, 100, 199, Map.of(0, 100L))));
        copy(started(3, 200, 299, Map.of(0, 200L)));
        copy(withoutTxnIndex(started(4, 300, 399, Map.of(0, 300L))));
        assertEquals(Optional.of(3L), nextWithTxnIndex(0, 50));
        assertEquals(Optional.of(3L), nextWithTxnIndex(0, 250));
        assertEquals(Optional.empty(), nextWithTxnIndex(0, 300));
        assertEquals(Optional.empty(), nextWithTxnIndex(0, 400));
        apply(deleteStarted(2));
        assertEquals(Optional.empty(), nextWithTxnIndex(0, 50));
    }

    @Test
    void anEpochNeverReachesBeyondItsSegment() {
        copy(withoutTxnIndex(started(1, 0, 99, Map.of(0, 0L, 1, 5_000L))));
        assertEquals(Optional.empty(), found(0, 100));
        assertEquals(Optional.empty(), nextWithTxnIndex(0, 0));
    }

    @Test
    void theSearchForATransactionIndexEndsWithTheLastOffsetThereIs() {
        copy(withoutTxnIndex(started(1, 0, Long.MAX_VALUE, Map.of(0, Long.MIN_VALUE))));
        assertEquals(Optional.empty(), nextWithTxnIndex(0, 0));
    }

    @Test
    void anAnswerTellsAllThatWasWrittenAndWhoWroteLast() {
        SegmentEvent event = withCustomMetadata(started(1, 5, 100, Map.of(3, 5L, 7, 90L)), "first");
        apply(event, withCustomMetadata(finished(1), "second and longer"), deleteStarted(1));
        RemoteLogSegmentMetadata expected = KafkaSegmentApi.metadata(
                new RemoteLogSegmentId(PARTITION, id(1)),
                5,
                100,
                501,
                2,
                10_001,
                11,
                Optional.of(new CustomMetadata("second and longer".getBytes())),
                org.apache.kafka.server.log.remote.storage.RemoteLogSegmentState.DELETE_SEGMENT_STARTED,
                Map.of(3, 5L, 7, 90L),
                false);
        assertEquals(expected, cache.segments().next());
    }

    @Test
    void customMetadataOfTheStartedCopyStaysWhenTheFinishedOneBringsNone() {
        apply(withCustomMetadata(started(1, 0, 99, Map.of(0, 0L)), "path"), finished(1));
        assertEquals("path", new String(cache.segments().next().customMetadata().orElseThrow().value()));
    }

    @Test
    void aRepetitionChangesNothingAndCountsAsNoFault() {
        apply(started(1, 0, 99, Map.of(0, 0L)), started(1, 0, 500, Map.of(0, 0L)), finished(1));
        RemoteLogSegmentMetadata before = cache.segments().next();
        apply(withCustomMetadata(finished(1), "other"));
        assertEquals(before, cache.segments().next());
        assertEquals(0, cache.ignoredEvents());
    }

    @Test
    void whatFitsNothingIsCountedAndIgnored() {
        apply(started(1, 0, 99, Map.of(0, 0L)));
        apply(deleteFinished(1), finished(9), deleteStarted(9), deleteFinished(9));
        assertEquals(4, cache.ignoredEvents());
        apply(finished(1), started(1, 0, 99, Map.of(0, 0L)), deleteStarted(1), finished(1));
        assertEquals(6, cache.ignoredEvents());
        assertEquals(List.of(1L), numbers(cache.segments()));
    }

    @Test
    void malformedEventsAreCountedAndIgnored() {
        SegmentEvent good = started(1, 0, 99, Map.of(0, 0L));
        List<SegmentEvent> malformed = List.of(
                SegmentEvent.getDefaultInstance(),
                good.toBuilder().setSegmentId(ByteString.copyFromUtf8("short")).build(),
                good.toBuilder().setStateValue(77).build(),
                later(1, RemoteLogSegmentState.REMOTE_LOG_SEGMENT_STATE_UNSPECIFIED),
                good.toBuilder().setStartOffset(-1).build(),
                good.toBuilder().setStartOffset(100).build(),
                good.toBuilder().setSegmentSizeBytes(1L << 31).build(),
                good.toBuilder().setSegmentSizeBytes(-1).build(),
                good.toBuilder().clearSegmentLeaderEpochs().build());
        malformed.forEach(cache::apply);
        assertEquals(malformed.size(), cache.ignoredEvents());
        cache.load(malformed, Map.of());
        assertEquals(2L * malformed.size(), cache.ignoredEvents());
        assertFalse(cache.segments().hasNext());
    }

    @Test
    void aLoadReplacesEverything() {
        copy(started(1, 0, 99, Map.of(0, 0L)));
        cache.load(
                List.of(started(3, 100, 199, Map.of(2, 100L)), inState(
                        started(2, 0, 99, Map.of(2, 0L)), RemoteLogSegmentState.COPY_SEGMENT_FINISHED)),
                Map.of(2, 50L, 1, 70L));
        assertEquals(List.of(2L, 3L), numbers(cache.segments()));
        assertEquals(Optional.empty(), cache.highestOffset(0));
        assertEquals(Optional.of(70L), cache.highestOffset(1));
        assertEquals(Optional.of(99L), cache.highestOffset(2));
        assertEquals(Optional.of(2L), found(2, 50));
        apply(finished(3), deleteStarted(2), deleteFinished(2));
        assertEquals(Optional.of(3L), found(2, 150));
        assertEquals(1, cache.count());
    }

    @Test
    void ofALoadedSegmentThatComesTwiceTheFirstOneStands() {
        cache.load(List.of(started(1, 0, 99, Map.of(0, 0L)), started(1, 500, 599, Map.of(0, 500L))), Map.of());
        assertEquals(1, cache.count());
        assertEquals(1, cache.ignoredEvents());
        apply(finished(1), deleteStarted(1), deleteFinished(1));
        assertEquals(List.of(), numbers(cache.segments()));
    }

    @Test
    void theHeapThatIsTakenGrowsAndShrinksWithTheSegments() {
        long empty = cache.heapBytes();
        apply(started(1, 0, 99, Map.of(0, 0L)));
        long one = cache.heapBytes();
        apply(withCustomMetadata(finished(1), "x".repeat(1_000)));
        assertTrue(one > empty + 80 && cache.heapBytes() >= one + 1_000);
        apply(deleteStarted(1), deleteFinished(1));
        assertTrue(cache.heapBytes() < one && cache.heapBytes() >= empty);
    }

    @Test
    void aNewCacheKnowsNothing() {
        assertEquals(Optional.empty(), found(0, 0));
        assertEquals(Optional.empty(), nextWithTxnIndex(0, 0));
        assertEquals(Optional.empty(), cache.highestOffset(0));
        assertEquals(List.of(), numbers(cache.segments()));
        assertEquals(List.of(), numbers(cache.segments(0)));
        assertEquals(0, cache.size(0));
        assertEquals(0, cache.count());
    }

    private void apply(SegmentEvent... events) {
        List.of(events).forEach(cache::apply);
    }

    private void copy(SegmentEvent started) {
        apply(started, finished(SegmentEvents.uuid(started.getSegmentId()).getLeastSignificantBits()));
    }

    private Optional<Long> found(int epoch, long offset) {
        return cache.segment(epoch, offset).map(TestSegments::number);
    }

    private Optional<Long> nextWithTxnIndex(int epoch, long offset) {
        return cache.nextSegmentWithTxnIndex(epoch, offset).map(TestSegments::number);
    }

    private static SegmentEvent withoutTxnIndex(SegmentEvent event) {
        return event.toBuilder().setTxnIndexEmpty(true).build();
    }

    private static SegmentEvent inState(SegmentEvent event, RemoteLogSegmentState state) {
        return event.toBuilder().setState(state).build();
    }
}

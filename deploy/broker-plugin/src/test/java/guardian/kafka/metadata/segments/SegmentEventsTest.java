package guardian.kafka.metadata.segments;

import static guardian.kafka.metadata.segments.TestSegments.PARTITION;
import static guardian.kafka.metadata.segments.TestSegments.id;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.google.protobuf.ByteString;
import guardian.v1.SegmentEvent;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentId;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata.CustomMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadataUpdate;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentState;
import org.junit.jupiter.api.Test;

class SegmentEventsTest {
    private static final RemoteLogSegmentId SEGMENT = new RemoteLogSegmentId(PARTITION, id(1));

    @Test
    void aUuidIsSixteenBytesWithTheMostSignificantFirst() {
        byte[] bytes = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
        Uuid id = new Uuid(0x0102030405060708L, 0x090A0B0C0D0E0F10L);
        assertArrayEquals(bytes, SegmentEvents.bytes(id).toByteArray());
        assertEquals(id, SegmentEvents.uuid(ByteString.copyFrom(bytes)));
        assertThrows(IllegalArgumentException.class, () -> SegmentEvents.uuid(ByteString.copyFrom(bytes, 0, 15)));
    }

    @Test
    void metadataComesBackAsItWas() {
        for (RemoteLogSegmentState state : RemoteLogSegmentState.values()) {
            for (boolean isTxnIndexEmpty : new boolean[] {false, true}) {
                RemoteLogSegmentMetadata metadata = KafkaSegmentApi.metadata(
                        SEGMENT,
                        5,
                        1L << 40,
                        -1,
                        3,
                        99,
                        1 << 30,
                        Optional.of(new CustomMetadata(new byte[] {0, 1})),
                        state,
                        Map.of(0, 5L, 9, 77L),
                        isTxnIndexEmpty);
                assertEquals(metadata, SegmentEvents.metadata(PARTITION, SegmentEvents.of(metadata)));
            }
        }
    }

    @Test
    void anUpdateComesBackAsItWas() {
        for (RemoteLogSegmentState state : RemoteLogSegmentState.values()) {
            RemoteLogSegmentMetadataUpdate update = new RemoteLogSegmentMetadataUpdate(
                    SEGMENT, 42, Optional.of(new CustomMetadata(new byte[] {7})), state, 5);
            assertEquals(update, SegmentEvents.update(PARTITION, SegmentEvents.of(update)));
        }
        RemoteLogSegmentMetadataUpdate bare = new RemoteLogSegmentMetadataUpdate(
                SEGMENT, 42, Optional.empty(), RemoteLogSegmentState.COPY_SEGMENT_FINISHED, 5);
        assertEquals(bare, SegmentEvents.update(PARTITION, SegmentEvents.of(bare)));
    }

    @Test
    void whatKafkaCannotSayIsRefused() {
        SegmentEvent event = TestSegments.started(1, 0, 9, Map.of(0, 0L));
        assertThrows(IllegalArgumentException.class, () -> SegmentEvents.metadata(
                PARTITION, event.toBuilder().setSegmentSizeBytes(1L << 31).build()));
        assertThrows(IllegalArgumentException.class, () -> SegmentEvents.metadata(
                PARTITION, event.toBuilder().clearState().build()));
        assertThrows(IllegalArgumentException.class, () -> SegmentEvents.update(
                PARTITION, event.toBuilder().setStateValue(99).build()));
    }
}

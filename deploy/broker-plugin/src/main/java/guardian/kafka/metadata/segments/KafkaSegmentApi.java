package guardian.kafka.metadata.segments;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentId;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata.CustomMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentState;

/**
 * The broker's RemoteLogSegmentMetadata, whatever its version: since 4.0 it says whether a segment's transaction index
 * is empty. A 3.9 broker says nothing about it, so there no index counts as empty. Which of the two this broker is gets
 * found out once; the handles are constants, which the JIT compiles like direct calls.
 */
final class KafkaSegmentApi {
    private static final MethodHandles.Lookup LOOKUP = MethodHandles.publicLookup();
    private static final MethodType OLD_CONSTRUCTOR = MethodType.methodType(
            void.class,
            RemoteLogSegmentId.class,
            long.class,
            long.class,
            long.class,
            int.class,
            long.class,
            int.class,
            Optional.class,
            RemoteLogSegmentState.class,
            Map.class);
    private static final MethodHandle CONSTRUCTOR = constructor();
    private static final MethodHandle IS_TXN_INDEX_EMPTY = isTxnIndexEmptyGetter();

    private KafkaSegmentApi() {}

    /** Throws IllegalArgumentException for what no segment can be, as the broker's constructor does. */
    static RemoteLogSegmentMetadata metadata(
            RemoteLogSegmentId id,
            long startOffset,
            long endOffset,
            long maxTimestampMs,
            int brokerId,
            long eventTimestampMs,
            int sizeInBytes,
            Optional<CustomMetadata> customMetadata,
            RemoteLogSegmentState state,
            Map<Integer, Long> leaderEpochs,
            boolean isTxnIndexEmpty) {
        try {
            return (RemoteLogSegmentMetadata) CONSTRUCTOR.invokeExact(
                    id,
                    startOffset,
                    endOffset,
                    maxTimestampMs,
                    brokerId,
                    eventTimestampMs,
                    sizeInBytes,
                    customMetadata,
                    state,
                    leaderEpochs,
                    isTxnIndexEmpty);
        } catch (Throwable failure) {
            throw unchecked(failure);
        }
    }

    static boolean isTxnIndexEmpty(RemoteLogSegmentMetadata metadata) {
        try {
            return (boolean) IS_TXN_INDEX_EMPTY.invokeExact(metadata);
        } catch (Throwable failure) {
            throw unchecked(failure);
        }
    }

    private static MethodHandle constructor() {
        try {
            return LOOKUP.findConstructor(
                    RemoteLogSegmentMetadata.class, OLD_CONSTRUCTOR.appendParameterTypes(boolean.class));
        } catch (ReflectiveOperationException beforeKafka4) {
            return MethodHandles.dropArguments(
                    oldConstructor(), OLD_CONSTRUCTOR.parameterCount(), boolean.class);
        }
    }

    private static MethodHandle oldConstructor() {
        try {
            return LOOKUP.findConstructor(RemoteLogSegmentMetadata.class, OLD_CONSTRUCTOR);
        } catch (ReflectiveOperationException unknownKafka) {
            throw new IllegalStateException(
                    "this broker's RemoteLogSegmentMetadata has no constructor that is known: use Kafka 3.9 to 4.3",
                    unknownKafka);
        }
    }

    private static MethodHandle isTxnIndexEmptyGetter() {
        try {
            return LOOKUP.findVirtual(
                    RemoteLogSegmentMetadata.class, "isTxnIdxEmpty", MethodType.methodType(boolean.class));
        } catch (ReflectiveOperationException beforeKafka4) {
            return MethodHandles.dropArguments(
                    MethodHandles.constant(boolean.class, false), 0, RemoteLogSegmentMetadata.class);
        }
    }

    private static RuntimeException unchecked(Throwable failure) {
        if (failure instanceof Error error) {
            throw error;
        }
        return failure instanceof RuntimeException known ? known : new IllegalStateException(failure);
    }
}

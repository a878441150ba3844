package guardian.kafka.metadata;

import guardian.kafka.metadata.segments.SegmentEvents;
import guardian.kafka.metadata.store.FencedWriterException;
import guardian.kafka.metadata.store.RefusedEventException;
import guardian.kafka.metadata.store.SegmentEventStore;
import guardian.v1.SegmentEvent;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadataUpdate;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentState;
import org.apache.kafka.server.log.remote.storage.RemoteStorageException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A write, from the call to the moment when the local cache has it.
 *
 * <p>What can be known before the write goes out is waited for inside the call, with a limit, and thrown by the call:
 * that is what Kafka retries quietly. What goes wrong later fails the future, which Kafka logs as an error.
 */
final class SegmentWriter {
    private static final Logger LOG = LoggerFactory.getLogger(SegmentWriter.class);

    private final SegmentEventStore store;
    private final long waitNanos;
    private final long seenWithinNanos;
    private final ManagerCounters counters;

    SegmentWriter(SegmentEventStore store, Duration waitLimit, Duration seenWithin, ManagerCounters counters) {
        this.store = store;
        this.waitNanos = waitLimit.toNanos();
        this.seenWithinNanos = seenWithin.toNanos();
        this.counters = counters;
    }

    CompletableFuture<Void> add(ManagedPartition partition, RemoteLogSegmentMetadata segment)
            throws RemoteStorageException {
        ManagedPartition.Permit permit = partition.awaitCopyPermit(waitNanos, store);
        partition.started(segment, permit);
        CompletableFuture<Void> added = append(partition, SegmentEvents.of(segment), permit);
        added.whenComplete((done, failure) -> {
            if (isCertainlyNotStored(failure)) {
                partition.notStarted(segment.remoteLogSegmentId().id());
            }
        });
        return added;
    }

    CompletableFuture<Void> update(ManagedPartition partition, RemoteLogSegmentMetadataUpdate update)
            throws RemoteStorageException {
        ManagedPartition.Permit permit = partition.awaitUpdatePermit(waitNanos, store);
        Uuid segment = update.remoteLogSegmentId().id();
        if (update.state() != RemoteLogSegmentState.COPY_SEGMENT_FINISHED) {
            return append(partition, SegmentEvents.of(update), permit)
                    .thenRun(() -> partition.notStarted(segment));
        }
        ManagedPartition.Permit ofCopy = partition.finishing(segment, permit);
        return append(partition, SegmentEvents.of(update), ofCopy)
                .thenRun(() -> giveUp(partition, ofCopy, partition.finished(segment))
                        .whenComplete((done, failure) -> {
                            if (failure != null) {
                                partition.sweepAgain(ofCopy.leadership());
                            }
                        }));
    }

    /**
     * Marks copies for deletion that nobody will finish. The future fails when one of them could not be marked: then the
     * next sweep may find it again, and does unless the mark was stored after all.
     */
    CompletableFuture<Void> giveUp(
            ManagedPartition partition, ManagedPartition.Permit permit, List<Copies.Orphan> orphans) {
        return CompletableFuture.allOf(orphans.stream()
                .map(orphan -> append(partition, deletion(orphan), permit).whenComplete((done, failure) -> {
                    if (failure == null) {
                        counters.orphanFound(orphan.bytes());
                        LOG.info("{}: the copy of segment {} ({} bytes) was started and never finished: it will be deleted",
                                partition.id(), orphan.segment(), orphan.bytes());
                    } else {
                        partition.notAnOrphan(orphan.segment());
                    }
                }))
                .toArray(CompletableFuture<?>[]::new));
    }

    private SegmentEvent deletion(Copies.Orphan orphan) {
        return SegmentEvent.newBuilder()
                .setSegmentId(SegmentEvents.bytes(orphan.segment()))
                .setState(guardian.v1.RemoteLogSegmentState.DELETE_SEGMENT_STARTED)
                .setBrokerId(counters.brokerId())
                .setEventTimestampMs(System.currentTimeMillis())
                .build();
    }

    private CompletableFuture<Void> append(
            ManagedPartition partition, SegmentEvent event, ManagedPartition.Permit permit) {
        CompletableFuture<Void> write = new CompletableFuture<>();
        long startedAt = System.nanoTime();
        write.whenComplete((done, failure) -> counters.written(System.nanoTime() - startedAt, failure == null));
        send(partition, event, permit, write);
        return write;
    }

    private void send(
            ManagedPartition partition, SegmentEvent event, ManagedPartition.Permit permit, CompletableFuture<Void> write) {
        store.append(partition.id(), event, permit.token()).whenComplete((nextEventId, failure) -> {
            if (failure == null) {
                if (partition.isSeen(nextEventId, event, write, System.nanoTime() + seenWithinNanos)) {
                    write.complete(null);
                }
            } else if (Failures.cause(failure) instanceof FencedWriterException fence) {
                afterFence(partition, event, permit, write, fence);
            } else {
                write.completeExceptionally(Failures.ofWrite(partition.id(), failure));
            }
        });
    }

    private void afterFence(
            ManagedPartition partition,
            SegmentEvent event,
            ManagedPartition.Permit permit,
            CompletableFuture<Void> write,
            FencedWriterException fence) {
        Runnable retry = () -> {
            ManagedPartition.Permit renewed = partition.permitOf(permit.leadership());
            if (renewed.token() >= fence.highestToken()) {
                send(partition, event, renewed, write);
            } else {
                afterFence(partition, event, permit, write, fence);
            }
        };
        ManagedPartition.AfterFence next = partition.fenced(permit, fence, retry);
        if (next instanceof ManagedPartition.AfterFence.Resend resend) {
            send(partition, event, resend.permit(), write);
        } else if (next instanceof ManagedPartition.AfterFence.GiveUp giveUp) {
            counters.fenced();
            if (giveUp.isNewlyFenced()) {
                LOG.warn("{}: fenced: this broker's token is {}, another broker's {}: nothing is copied or deleted here"
                        + " until Kafka names this broker as the leader again",
                        partition.id(), fence.ownToken(), fence.highestToken());
            }
            write.completeExceptionally(Failures.fenced(partition.id(), fence));
        }
    }

    private static boolean isCertainlyNotStored(Throwable failure) {
        if (failure == null) {
            return false;
        }
        Throwable reason = Failures.cause(failure).getCause();
        return reason instanceof FencedWriterException || reason instanceof RefusedEventException;
    }
}

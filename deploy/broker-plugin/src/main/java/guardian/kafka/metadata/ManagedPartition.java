package guardian.kafka.metadata;

import guardian.kafka.metadata.segments.PartitionCache;
import guardian.kafka.metadata.segments.SegmentEvents;
import guardian.kafka.metadata.store.FencedWriterException;
import guardian.kafka.metadata.store.SegmentEventStore;
import guardian.v1.SegmentEvent;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentState;
import org.apache.kafka.server.log.remote.storage.RemotePartitionDeleteState;
import org.apache.kafka.server.log.remote.storage.RemoteResourceNotFoundException;
import org.apache.kafka.server.log.remote.storage.RemoteStorageException;

/**
 * What this broker may do with one partition: its role, its token, and its copies. What it has heard of the segments is
 * in {@link CacheFeed}.
 *
 * <pre>
 *   NONE ──► FOLLOWER ◄──► LEADER ──► FENCED        back to LEADER or FOLLOWER: only when Kafka says so
 *     ▲          │            │          │
 *     └──────────┴────────────┴──────────┘ stop     the token stays, for deletes that are under way
 * </pre>
 *
 * <p>Look-ups read one volatile field and take no lock; everything else happens in the monitor, which nobody holds while
 * calling others. Futures are completed outside it.
 */
final class ManagedPartition {
    enum Role {
        NONE,
        FOLLOWER,
        LEADER,
        FENCED
    }

    /** What a write goes out with. */
    record Permit(Leadership leadership, long token) {}

    private final TopicIdPartition id;
    private final CacheFeed feed;
    private final Copies copies = new Copies();
    private Role role = Role.NONE;
    private Leadership leadership;
    private FencedWriterException fencedBy;
    private RemotePartitionDeleteState deletion;
    private boolean isDeleted;
    private boolean isClosed;
    private long stoppedAtNanos = System.nanoTime();
    private volatile PartitionCache readable;
    private volatile Role visibleRole = Role.NONE;

    ManagedPartition(TopicIdPartition id) {
        this.id = id;
        this.feed = new CacheFeed(id);
    }

    TopicIdPartition id() {
        return id;
    }

    // Look-ups ------------------------------------------------------------------------------------------------------

    /** The loaded cache; throws when the partition is not this broker's, not loaded, or deleted. */
    PartitionCache readable() throws RemoteStorageException {
        PartitionCache loaded = readable;
        if (loaded == null) {
            throw Failures.raise(whyUnreadable());
        }
        return loaded;
    }

    private synchronized Exception whyUnreadable() {
        if (isDeleted) {
            return Failures.deleted(id);
        } else if (role == Role.NONE) {
            return Failures.notAssigned(id);
        }
        return Failures.retriable(id + ": its remote segments are not loaded from Guardian yet");
    }

    /** Whether copies, clean-ups and look-ups make sense now: for a leader, whether it could write. */
    synchronized boolean isReady() {
        return switch (role) {
            case FOLLOWER -> readable != null;
            case LEADER -> isWritable();
            case NONE, FENCED -> false;
        };
    }

    Role role() {
        return visibleRole;
    }

    synchronized boolean isLoadedHere() {
        return readable != null;
    }

    synchronized boolean hasToken() {
        return role == Role.LEADER && leadership.hasToken();
    }

    /** Null while there is nothing to look up. */
    PartitionCache readableOrNull() {
        return readable;
    }

    // Roles ---------------------------------------------------------------------------------------------------------

    /**
     * Kafka says that this broker leads.
     *
     * @return the leadership to claim for; empty when the partition is deleted
     */
    synchronized Optional<Leadership> lead() {
        if (isDeleted || isClosed) {
            return Optional.empty();
        }
        if (role != Role.LEADER) {
            leadership = new Leadership();
        }
        fencedBy = null;
        become(Role.LEADER);
        leadership.claiming();
        return Optional.of(leadership);
    }

    synchronized void followOnly() {
        if (!isDeleted && !isClosed) {
            become(Role.FOLLOWER);
        }
    }

    /** Drops the cache. What was written and is only waiting to be seen is done. */
    List<CompletableFuture<Void>> stop(long nowNanos) {
        synchronized (this) {
            become(Role.NONE);
            stoppedAtNanos = nowNanos;
            return dropCache();
        }
    }

    /** Deleted in Guardian: nothing can be written or read any more. */
    synchronized List<CompletableFuture<Void>> deleted() {
        isDeleted = true;
        deletion = RemotePartitionDeleteState.DELETE_PARTITION_FINISHED;
        copies.clear();
        return dropCache();
    }

    synchronized boolean isForgettable(long stoppedBeforeNanos) {
        return role == Role.NONE && stoppedAtNanos - stoppedBeforeNanos < 0;
    }

    synchronized void close() {
        isClosed = true;
        notifyAll();
    }

    /** Counts a claim that is made again for the same leadership; false when Kafka has named another leader since. */
    synchronized boolean claimAgain(Leadership claimed) {
        if (isCurrent(claimed) || isFenced(claimed)) {
            claimed.claiming();
            return true;
        }
        return false;
    }

    /**
     * The answer to a claim. If a write was fenced while the claim was tried again, another broker has led in between:
     * then it is the beginning of a new leadership.
     *
     * @return writes that waited for it
     */
    synchronized List<Runnable> claimed(Leadership claimed, SegmentEventStore.ClaimResult result) {
        if (result.isGranted()) {
            if (isFenced(claimed)) {
                leadership = new Leadership();
                leadership.granted(result.fencingToken(), result.nextEventId());
                fencedBy = null;
                become(Role.LEADER);
            }
            claimed.granted(result.fencingToken(), result.nextEventId());
        } else {
            claimed.notGranted(result.error());
        }
        claimed.claimAnswered();
        notifyAll();
        return claimed.takeAfterClaim();
    }

    private boolean isFenced(Leadership of) {
        return role == Role.FENCED && leadership == of && !isDeleted && !isClosed;
    }

    synchronized boolean isCurrent(Leadership of) {
        return role == Role.LEADER && leadership == of && !isDeleted && !isClosed;
    }

    /** What to do about a write that was refused because of its token. */
    sealed interface AfterFence {
        record Resend(Permit permit) implements AfterFence {}

        record Wait() implements AfterFence {}

        record GiveUp(boolean isNewlyFenced) implements AfterFence {}
    }

    /**
     * A write was refused because of its token. That may be this broker's own doing: claims go out while writes are under
     * way. If it is not, the partition has another leader, and nothing is written here until Kafka names this one again.
     */
    synchronized AfterFence fenced(Permit permit, FencedWriterException fence, Runnable retry) {
        Leadership mine = permit.leadership();
        if (!isCurrent(mine)) {
            return new AfterFence.GiveUp(false);
        } else if (mine.token() > permit.token() && mine.token() >= fence.highestToken()) {
            return new AfterFence.Resend(new Permit(mine, mine.token()));
        } else if (mine.isClaiming()) {
            mine.runAfterClaim(retry);
            return new AfterFence.Wait();
        }
        fencedBy = fence;
        become(Role.FENCED);
        return new AfterFence.GiveUp(true);
    }

    /** The token to write with after a claim that was waited for. */
    synchronized Permit permitOf(Leadership of) {
        return new Permit(of, of.token());
    }

    private void become(Role next) {
        role = next;
        visibleRole = next;
        readable = next != Role.NONE && !isDeleted ? feed.loadedCache() : null;
        notifyAll();
    }

    private List<CompletableFuture<Void>> dropCache() {
        readable = null;
        notifyAll();
        return feed.drop();
    }

    // Writes --------------------------------------------------------------------------------------------------------

    /** Waits until a copy may be started. Throws when there is no hope, or not in time. */
    Permit awaitCopyPermit(long limitNanos, SegmentEventStore store) throws RemoteStorageException {
        return awaitPermit(limitNanos, store, true);
    }

    /**
     * Waits until a segment may be changed. A broker that has led the partition and leads it no more writes with its last
     * token, and Guardian judges: deletes that were under way come through as long as nobody else has claimed.
     */
    Permit awaitUpdatePermit(long limitNanos, SegmentEventStore store) throws RemoteStorageException {
        return awaitPermit(limitNanos, store, false);
    }

    private synchronized Permit awaitPermit(long limitNanos, SegmentEventStore store, boolean onlyLeader)
            throws RemoteStorageException {
        long deadline = System.nanoTime() + limitNanos;
        while (true) {
            if (isClosed) {
                throw new RemoteStorageException(id + ": the broker's metadata manager is closed");
            } else if (isDeleted) {
                throw Failures.deleted(id);
            } else if (role == Role.FENCED) {
                throw Failures.fenced(id, fencedBy);
            } else if (role != Role.LEADER && (onlyLeader || leadership == null)) {
                throw role == Role.NONE ? Failures.notAssigned(id) : notLeading();
            } else if (!store.status().isReachable()) {
                throw Failures.raise(Failures.retriable(id + ": Guardian can't be reached: " + store.status().lastError()));
            } else if (role != Role.LEADER || isWritable()) {
                return new Permit(leadership, leadership.token());
            }
            await(deadline);
        }
    }

    /** Waits until the partition is loaded: for callers that come rarely and can't come again. */
    synchronized void awaitLoaded(long limitNanos, SegmentEventStore store) throws RemoteStorageException {
        long deadline = System.nanoTime() + limitNanos;
        while (readable == null && role != Role.NONE && !isDeleted && !isClosed && store.status().isReachable()) {
            await(deadline);
        }
    }

    private void await(long deadlineNanos) throws RemoteStorageException {
        long left = deadlineNanos - System.nanoTime();
        if (left <= 0) {
            throw Failures.raise(Failures.retriable(id + ": waited for " + missing()));
        }
        try {
            wait(Math.max(1, Math.min(left / 1_000_000, 200)));
        } catch (InterruptedException cancelled) {
            Thread.currentThread().interrupt();
            throw Failures.raise(Failures.retriable(id + ": interrupted while it waited for " + missing()));
        }
    }

    private String missing() {
        if (readable == null) {
            return "its remote segments to be loaded from Guardian";
        } else if (!leadership.hasToken()) {
            return "its fencing token: " + leadership.claimError();
        }
        return "events up to " + leadership.currentFrom() + ", has those up to " + feed.nextEventId();
    }

    private boolean isWritable() {
        return readable != null
                && role == Role.LEADER
                && leadership.hasToken()
                && feed.hasAllBefore(leadership.currentFrom());
    }

    private RemoteStorageException notLeading() {
        return new RemoteStorageException(id + ": this broker does not lead the partition: only the leader may write");
    }

    synchronized void started(RemoteLogSegmentMetadata segment, Permit permit) {
        copies.start(segment, permit.leadership(), System.nanoTime());
    }

    synchronized void notStarted(Uuid segment) {
        copies.forget(segment);
    }

    /**
     * The permit to finish a copy: that of the leadership it was started under. A later leadership of the same broker
     * sweeps it, and must not finish it: the sweep would delete what counts as finished.
     */
    synchronized Permit finishing(Uuid segment, Permit now) throws RemoteStorageException {
        Leadership under = copies.leadershipOf(segment).orElse(null);
        if (under == null || (role == Role.LEADER && under != leadership)) {
            throw new RemoteStorageException(id + ": the copy of segment " + segment + " was not started under this broker's"
                    + " claim with token " + now.token() + " and can't be finished: copy the segment again");
        }
        return new Permit(under, under.token());
    }

    /** A copy is finished; returns the ones that were given up for it. */
    synchronized List<Copies.Orphan> finished(Uuid segment) {
        return copies.finish(segment);
    }

    /** The leadership that has yet to look for orphans, and can. */
    synchronized Optional<Leadership> sweepable() {
        return role == Role.LEADER && isWritable() && !leadership.isSwept() ? Optional.of(leadership) : Optional.empty();
    }

    /** Copies that somebody else started, or this broker under an earlier claim; empty when they were looked for already. */
    synchronized List<Copies.Orphan> takeSweep(Leadership of) {
        if (!isCurrent(of) || !isWritable() || !of.takeSweep()) {
            return List.of();
        }
        List<RemoteLogSegmentMetadata> unfinished = new ArrayList<>();
        readable.segments().forEachRemaining(each -> {
            if (each.state() == RemoteLogSegmentState.COPY_SEGMENT_STARTED) {
                unfinished.add(each);
            }
        });
        return copies.giveUpOthers(unfinished, of);
    }

    /** A sweep did not come through; false when it is none of this broker's business any more. */
    synchronized boolean sweepAgain(Leadership of) {
        of.sweepAgain();
        return isCurrent(of);
    }

    synchronized void notAnOrphan(Uuid segment) {
        copies.noOrphan(segment);
    }

    // What is stored ------------------------------------------------------------------------------------------------

    /**
     * A write is stored: its future is done when the cache has it, or at once when there is no cache to have it.
     *
     * @param nextEventId its event's id is lower
     * @return whether it is done
     */
    synchronized boolean isSeen(
            long nextEventId, SegmentEvent event, CompletableFuture<Void> write, long deadlineNanos) {
        if (role == Role.NONE || isDeleted || isClosed || feed.hasAllBefore(nextEventId)) {
            return true;
        } else if (role == Role.LEADER && feed.loadedCache() != null && UnseenWrites.mayBeEarly(event)) {
            feed.applyEarly(nextEventId, event);
            return true;
        }
        feed.await(nextEventId, write, deadlineNanos);
        return false;
    }

    /**
     * Begins with what is stored.
     *
     * @param swept gets the orphans that are gone now
     * @return writes that are done now
     */
    synchronized List<CompletableFuture<Void>> loaded(
            List<SegmentEvent> live, Map<Integer, Long> goneHighestOffsets, long next, List<Copies.Orphan> swept) {
        if (role == Role.NONE || isDeleted) {
            return List.of();
        }
        List<CompletableFuture<Void>> seen = feed.load(live, goneHighestOffsets, next);
        if (!copies.isEmpty()) {
            swept.addAll(copies.goneExcept(
                    live.stream().map(each -> SegmentEvents.uuid(each.getSegmentId())).collect(Collectors.toSet())));
        }
        become(role);
        return seen;
    }

    /**
     * Applies what is stored, in order.
     *
     * @param swept gets the orphans that are gone now
     * @return writes that are done now
     */
    synchronized List<CompletableFuture<Void>> apply(
            long firstEventId, List<SegmentEvent> events, List<Copies.Orphan> swept) {
        if (feed.loadedCache() == null || feed.hasAllBefore(firstEventId + events.size())) {
            return List.of();
        }
        if (!copies.isEmpty()) {
            events.forEach(event -> gone(event).ifPresent(swept::add));
        }
        boolean wasWritable = isWritable();
        List<CompletableFuture<Void>> seen = feed.apply(firstEventId, events);
        if (!wasWritable && isWritable()) {
            notifyAll();
        }
        return seen;
    }

    private Optional<Copies.Orphan> gone(SegmentEvent event) {
        return event.getState() == guardian.v1.RemoteLogSegmentState.DELETE_SEGMENT_FINISHED
                ? copies.gone(SegmentEvents.uuid(event.getSegmentId()))
                : Optional.empty();
    }

    /** Writes that are stored but were not seen in time. */
    synchronized List<CompletableFuture<Void>> takeOverdue(long nowNanos) {
        return feed.takeOverdue(nowNanos);
    }

    // Deletion of the partition ---------------------------------------------------------------------------------------

    synchronized void requireDeletionStep(RemotePartitionDeleteState next) throws RemoteResourceNotFoundException {
        if (isDeleted) {
            throw Failures.deleted(id);
        }
        if (deletion != null && !RemotePartitionDeleteState.isValidTransition(deletion, next)) {
            throw new IllegalArgumentException(id + ": its deletion can't go from " + deletion + " to " + next
                    + ": send DELETE_PARTITION_MARKED, STARTED, FINISHED in this order");
        }
    }

    synchronized void deletion(RemotePartitionDeleteState reached) {
        deletion = reached;
    }

    // For metrics ---------------------------------------------------------------------------------------------------

    synchronized long copiesUnderWay() {
        return role == Role.LEADER ? copies.underWay(leadership) : 0;
    }

    /** Since when the longest copy goes on; empty: none does. */
    synchronized Optional<Long> oldestCopyNanos() {
        return role == Role.LEADER ? copies.oldestNanos(leadership) : Optional.empty();
    }
}

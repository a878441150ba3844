package guardian.kafka.metadata.store;

import guardian.kafka.common.BackOff;
import guardian.v1.ListLiveSegmentsReply;
import guardian.v1.ListLiveSegmentsRequest;
import guardian.v1.SegmentEvent;
import guardian.v1.TieringGrpc;
import guardian.v1.TopicIdPartition;
import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * Reads the live segments of partitions, many at once and spread over all members, for as long as it takes.
 *
 * <p>What was acknowledged before a load began is in it, whichever member answers.
 */
final class Loader implements AutoCloseable {
    private static final Duration PATIENCE = Duration.ofSeconds(30);

    private final StoreLoop loop;
    private final LeaderFinder finder;
    private final int maxUnderWay;
    private final StoreSettings.Limits limits;
    private final Counters counters;
    private final Deque<Load> waiting = new ArrayDeque<>();
    private int underWay;
    private boolean isClosed;

    /** Called once for each load that is not cancelled. */
    interface Target {
        void loaded(List<SegmentEvent> live, Map<Integer, Long> goneHighestOffsets, long nextEventId);

        void deleted();
    }

    Loader(StoreLoop loop, LeaderFinder finder, StoreSettings.Limits limits, Counters counters) {
        this.loop = loop;
        this.finder = finder;
        this.limits = limits;
        this.counters = counters;
        maxUnderWay = limits.loadsInFlight();
    }

    Load load(TopicIdPartition partition, Target target) {
        Load load = new Load(partition, target);
        waiting.add(load);
        pump();
        return load;
    }

    @Override
    public void close() {
        isClosed = true;
        waiting.clear();
    }

    private void pump() {
        while (!isClosed && underWay < maxUnderWay && !waiting.isEmpty()) {
            Load load = waiting.poll();
            if (!load.isCancelled) {
                underWay++;
                load.begin();
            }
        }
    }

    /** One partition's, through all of its attempts. */
    final class Load {
        private final ListLiveSegmentsRequest request;
        private final Target target;
        private final BackOff backOff = limits.newBackOff();
        private boolean isCancelled;

        private Load(TopicIdPartition partition, Target target) {
            request = ListLiveSegmentsRequest.newBuilder().setPartition(partition).build();
            this.target = target;
        }

        void cancel() {
            isCancelled = true;
        }

        private void begin() {
            String endpoint = finder.anyMember();
            TieringGrpc.newStub(finder.channel(endpoint))
                    .withDeadlineAfter(PATIENCE.toNanos(), TimeUnit.NANOSECONDS)
                    .listLiveSegments(request, new Pages(endpoint));
        }

        private void end() {
            underWay--;
            pump();
        }

        private void retryLater(String endpoint, Status status) {
            counters.retries.increment();
            finder.failed(endpoint, status);
            loop.after(backOff.next(), () -> {
                waiting.add(this);
                pump();
            });
        }

        /** What one member answers. */
        private final class Pages implements StreamObserver<ListLiveSegmentsReply> {
            private final String endpoint;
            private final List<SegmentEvent> live = new ArrayList<>();
            private final Map<Integer, Long> goneHighestOffsets = new HashMap<>();
            private long nextEventId = -1;

            Pages(String endpoint) {
                this.endpoint = endpoint;
            }

            @Override
            public void onNext(ListLiveSegmentsReply page) {
                live.addAll(page.getSegmentsList());
                goneHighestOffsets.putAll(page.getGoneHighestOffsetsMap());
                nextEventId = page.getNextEventId();
            }

            @Override
            public void onError(Throwable error) {
                Status status = Status.fromThrowable(error);
                if (status.getCode() != Status.Code.NOT_FOUND) {
                    retryLater(endpoint, status);
                } else if (!isCancelled) {
                    target.deleted();
                }
                end();
            }

            @Override
            public void onCompleted() {
                if (nextEventId < 0) {
                    retryLater(endpoint, Status.INTERNAL.withDescription("no page of live segments"));
                } else {
                    finder.answered(endpoint);
                    counters.loads.increment();
                    if (!isCancelled) {
                        target.loaded(live, goneHighestOffsets, nextEventId);
                    }
                }
                end();
            }
        }
    }
}

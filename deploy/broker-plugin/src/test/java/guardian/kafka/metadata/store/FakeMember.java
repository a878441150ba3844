package guardian.kafka.metadata.store;

import guardian.v1.ClaimPartitionsReply;
import guardian.v1.ClaimPartitionsRequest;
import guardian.v1.DeletePartitionsReply;
import guardian.v1.DeletePartitionsRequest;
import guardian.v1.FollowSegmentEventsReply;
import guardian.v1.FollowSegmentEventsRequest;
import guardian.v1.GetRaftStatusRequest;
import guardian.v1.ListLiveSegmentsReply;
import guardian.v1.ListLiveSegmentsRequest;
import guardian.v1.OpenSessionReply;
import guardian.v1.OpenSessionRequest;
import guardian.v1.RaftGrpc;
import guardian.v1.RaftMember;
import guardian.v1.RaftStatus;
import guardian.v1.SessionRef;
import guardian.v1.SessionsGrpc;
import guardian.v1.StreamSegmentEventsReply;
import guardian.v1.StreamSegmentEventsRequest;
import guardian.v1.TieringGrpc;
import guardian.v1.TopicIdPartition;
import io.grpc.Context;
import io.grpc.Contexts;
import io.grpc.ForwardingServerCallListener.SimpleForwardingServerCallListener;
import io.grpc.InsecureServerCredentials;
import io.grpc.Metadata;
import io.grpc.Server;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.okhttp.OkHttpServerBuilder;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * One member of the fake group: its own endpoint, the group's store.
 *
 * <p>All that it does for a client it does under the group's lock, on threads that hold no lock of a connection: a test
 * that stores something holds the group's lock when it writes to the connections of those who follow.
 */
final class FakeMember {
    static final int WINDOW = 64;
    private static final Context.Key<SessionRef> SESSION = Context.key("session");
    private static final Duration BIND_LIMIT = Duration.ofSeconds(30);

    private final FakeGroup group;
    private final int port;
    private final List<Follow> follows = new CopyOnWriteArrayList<>();
    final AtomicInteger appendStreams = new AtomicInteger();
    final AtomicInteger followStreams = new AtomicInteger();
    final AtomicInteger loads = new AtomicInteger();
    private Server server;
    private Alive alive;
    /** Takes what comes, answers nothing, tells nothing. */
    volatile boolean isSilent;
    /** Dies when it has carried out the next append, before it answers. */
    volatile boolean diesAfterStoring;

    FakeMember(FakeGroup group) throws IOException {
        this.group = group;
        server = start(0);
        port = server.getPort();
    }

    String endpoint() {
        return "127.0.0.1:" + port;
    }

    /** Once it returns, nothing more is carried out or told. */
    void kill() {
        synchronized (group) {
            alive.isOver = true;
            follows.clear();
        }
        server.shutdownNow();
    }

    /** The port may be taken for a moment: by the old socket, or by a client's attempt to connect that got its number. */
    void restart() throws Exception {
        long deadline = System.nanoTime() + BIND_LIMIT.toNanos();
        while (true) {
            try {
                server = start(port);
                return;
            } catch (IOException taken) {
                if (System.nanoTime() - deadline > 0) {
                    throw taken;
                }
                Thread.sleep(10);
            }
        }
    }

    /** Pages of news to all who follow the partition here. */
    void tell(TopicIdPartition partition) {
        if (!isSilent) {
            follows.forEach(follow -> follow.tell(partition));
        }
    }

    /** To all who follow anything here, whatever it says. */
    void send(FollowSegmentEventsReply page) {
        synchronized (group) {
            follows.forEach(follow -> follow.out.onNext(page));
        }
    }

    private Server start(int onPort) throws IOException {
        alive = new Alive();
        return OkHttpServerBuilder.forPort(new InetSocketAddress("127.0.0.1", onPort), InsecureServerCredentials.create())
                .permitKeepAliveTime(1, TimeUnit.SECONDS)
                .intercept(new SessionHeader())
                .intercept(alive)
                .addService(new Raft())
                .addService(new Sessions())
                .addService(new Tiering())
                .build()
                .start();
    }

    private static <R> void answer(StreamObserver<R> out, R reply) {
        out.onNext(reply);
        out.onCompleted();
    }

    private static final class SessionHeader implements ServerInterceptor {
        private static final Metadata.Key<byte[]> KEY =
                Metadata.Key.of("guardian-session-bin", Metadata.BINARY_BYTE_MARSHALLER);

        @Override
        public <Q, R> ServerCall.Listener<Q> interceptCall(
                ServerCall<Q, R> call, Metadata headers, ServerCallHandler<Q, R> next) {
            byte[] value = headers.get(KEY);
            try {
                SessionRef session =
                        value == null ? SessionRef.getDefaultInstance() : SessionRef.parseFrom(value);
                return Contexts.interceptCall(Context.current().withValue(SESSION, session), call, headers, next);
            } catch (IOException e) {
                throw new IllegalStateException(e);
            }
        }
    }

    /** A server that is shut down may still read what its connections hold: a dead process does not. */
    private final class Alive implements ServerInterceptor {
        private boolean isOver; // guarded by the group's lock

        @Override
        public <Q, R> ServerCall.Listener<Q> interceptCall(
                ServerCall<Q, R> call, Metadata headers, ServerCallHandler<Q, R> next) {
            synchronized (group) {
                return isOver ? new ServerCall.Listener<>() {} : whileAlive(next.startCall(call, headers));
            }
        }

        private <Q> ServerCall.Listener<Q> whileAlive(ServerCall.Listener<Q> served) {
            return new SimpleForwardingServerCallListener<>(served) {
                @Override
                public void onMessage(Q message) {
                    unlessOver(() -> super.onMessage(message));
                }

                @Override
                public void onHalfClose() {
                    unlessOver(super::onHalfClose);
                }
            };
        }

        private void unlessOver(Runnable step) {
            synchronized (group) {
                if (!isOver) {
                    step.run();
                }
            }
        }
    }

    private final class Raft extends RaftGrpc.RaftImplBase {
        @Override
        public void getRaftStatus(GetRaftStatusRequest request, StreamObserver<RaftStatus> out) {
            RaftStatus.Builder status = RaftStatus.newBuilder().setLeaderEndpoint(group.leaderEndpoint());
            group.members.forEach(member -> status.addMembers(
                    RaftMember.newBuilder().setEndpoint(member.endpoint()).setIsVoter(true)));
            answer(out, status.build());
        }
    }

    private final class Sessions extends SessionsGrpc.SessionsImplBase {
        @Override
        public void openSession(OpenSessionRequest request, StreamObserver<OpenSessionReply> out) {
            answer(out, OpenSessionReply.newBuilder()
                    .setSessionId(group.openSession())
                    .setWindow(Math.min(WINDOW, request.getWindow()))
                    .build());
        }
    }

    private final class Tiering extends TieringGrpc.TieringImplBase {
        @Override
        public StreamObserver<StreamSegmentEventsRequest> streamSegmentEvents(
                StreamObserver<StreamSegmentEventsReply> out) {
            appendStreams.incrementAndGet();
            return new Requests<>(out) {
                @Override
                public void onNext(StreamSegmentEventsRequest request) {
                    if (isSilent) {
                        return;
                    }
                    StreamSegmentEventsReply reply = group.append(endpoint(), request);
                    if (diesAfterStoring) {
                        diesAfterStoring = false;
                        kill();
                    } else {
                        out.onNext(reply);
                    }
                }
            };
        }

        @Override
        public StreamObserver<FollowSegmentEventsRequest> followSegmentEvents(
                StreamObserver<FollowSegmentEventsReply> out) {
            followStreams.incrementAndGet();
            Follow follow = new Follow(out);
            follows.add(follow);
            return new Requests<>(out) {
                @Override
                public void onNext(FollowSegmentEventsRequest request) {
                    if (!isSilent) {
                        follow.change(request);
                    }
                }

                @Override
                public void onError(Throwable error) {
                    follows.remove(follow);
                }
            };
        }

        @Override
        public void claimPartitions(ClaimPartitionsRequest request, StreamObserver<ClaimPartitionsReply> out) {
            try {
                answer(out, group.claim(request, SESSION.get()));
            } catch (StatusRuntimeException e) {
                out.onError(e);
            }
        }

        @Override
        public void deletePartitions(DeletePartitionsRequest request, StreamObserver<DeletePartitionsReply> out) {
            group.delete(request.getPartitionsList());
            answer(out, DeletePartitionsReply.getDefaultInstance());
        }

        @Override
        public void listLiveSegments(ListLiveSegmentsRequest request, StreamObserver<ListLiveSegmentsReply> out) {
            loads.incrementAndGet();
            ListLiveSegmentsReply reply = group.live(request.getPartition());
            if (reply == null) {
                out.onError(Status.NOT_FOUND.withDescription("the partition is deleted").asRuntimeException());
            } else {
                answer(out, reply);
            }
        }
    }

    private abstract static class Requests<Q> implements StreamObserver<Q> {
        private final StreamObserver<?> out;

        Requests(StreamObserver<?> out) {
            this.out = out;
        }

        @Override
        public void onError(Throwable error) {
            // The client is gone.
        }

        @Override
        public void onCompleted() {
            out.onCompleted();
        }
    }

    /** What one stream follows, and where it is. */
    private final class Follow {
        private final StreamObserver<FollowSegmentEventsReply> out;
        private final Map<TopicIdPartition, Long> next = new HashMap<>();

        Follow(StreamObserver<FollowSegmentEventsReply> out) {
            this.out = out;
            ServerCallStreamObserver<?> call = (ServerCallStreamObserver<?>) out;
            call.setOnCancelHandler(() -> { }); // telling one who has gone is no error
        }

        void change(FollowSegmentEventsRequest request) {
            synchronized (group) {
                request.getDropList().forEach(next::remove);
                request.getAddList().forEach(added -> {
                    next.put(added.getPartition(), added.getFromEventId());
                    tell(added.getPartition());
                });
            }
        }

        void tell(TopicIdPartition partition) {
            Long from = next.get(partition);
            if (from == null) {
                return;
            }
            FollowSegmentEventsReply page = group.page(partition, from);
            if (page.getDeleted() || page.getOutOfRange()) {
                next.remove(partition);
            } else {
                next.put(partition, page.getNextEventId());
            }
            out.onNext(page);
        }
    }
}

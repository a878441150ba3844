package guardian.kafka.metadata.store;

import guardian.v1.OpenSessionReply;
import guardian.v1.OpenSessionRequest;
import guardian.v1.SessionsGrpc;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** Opens sessions. One that is opened twice, since an answer was lost, does no harm: the other one expires. */
final class Sessions {
    private final LeaderCalls calls;
    private final OpenSessionRequest request;
    private final Duration patience;

    Sessions(LeaderCalls calls, StoreSettings settings) {
        this.calls = calls;
        patience = settings.limits().silenceLimit();
        request = OpenSessionRequest.newBuilder()
                .setWindow(settings.limits().sessionWindow())
                .setOwner("broker " + settings.brokerId() + " of " + settings.clusterId() + " " + settings.writer())
                .build();
    }

    CompletableFuture<Session> open() {
        return calls.<OpenSessionReply>call(patience, (member, limit, reply) -> SessionsGrpc.newStub(member)
                        .withDeadlineAfter(limit.toNanos(), TimeUnit.NANOSECONDS)
                        .openSession(request, reply))
                .thenApply(opened -> new Session(opened.getSessionId(), opened.getWindow()));
    }
}

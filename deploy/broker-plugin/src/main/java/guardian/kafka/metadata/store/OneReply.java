package guardian.kafka.metadata.store;

import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import java.util.function.Consumer;

/** A unary call's outcome: the reply, or why there is none. */
final class OneReply<R> implements StreamObserver<R> {
    private final Consumer<R> taken;
    private final Consumer<Status> missed;
    private R reply;

    OneReply(Consumer<R> taken, Consumer<Status> missed) {
        this.taken = taken;
        this.missed = missed;
    }

    @Override
    public void onNext(R value) {
        reply = value;
    }

    @Override
    public void onError(Throwable error) {
        missed.accept(Status.fromThrowable(error));
    }

    @Override
    public void onCompleted() {
        if (reply == null) {
            missed.accept(Status.INTERNAL.withDescription("the member ended the call without a reply"));
        } else {
            taken.accept(reply);
        }
    }
}

package guardian.kafka.activity;

import java.util.List;
import org.apache.kafka.server.authorizer.Action;
import org.apache.kafka.server.authorizer.AuthorizableRequestContext;
import org.apache.kafka.server.authorizer.AuthorizationResult;

/** Takes what an authorizer has decided. No method throws or waits; any thread may call. */
public interface Recorder extends AutoCloseable {
    /** Counts nothing. */
    Recorder NONE = new Recorder() {
        @Override
        public void record(
                AuthorizableRequestContext request, List<Action> actions, List<AuthorizationResult> results) {}

        @Override
        public void close() {}
    };

    /** The results belong to the actions one by one. */
    void record(AuthorizableRequestContext request, List<Action> actions, List<AuthorizationResult> results);

    @Override
    void close();
}

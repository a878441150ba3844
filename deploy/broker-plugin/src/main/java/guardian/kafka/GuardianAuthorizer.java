package guardian.kafka;

import guardian.kafka.activity.Activity;
import guardian.kafka.activity.Recorder;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import org.apache.kafka.metadata.authorizer.StandardAuthorizer;
import org.apache.kafka.server.authorizer.Action;
import org.apache.kafka.server.authorizer.AuthorizableRequestContext;
import org.apache.kafka.server.authorizer.AuthorizationResult;

/**
 * Kafka's StandardAuthorizer, which also counts who does what: principal, client and address, resource and operation.
 *
 * <p>Set {@code authorizer.class.name} to it. Every decision is StandardAuthorizer's, made before anything is counted,
 * and counting never fails or delays a request. The metrics reporter sends the counts ({@link Activity}).
 */
public final class GuardianAuthorizer extends StandardAuthorizer {
    private volatile Recorder recorder = Recorder.NONE;

    @Override
    public void configure(Map<String, ?> configs) {
        super.configure(configs);
        Recorder before = recorder;
        recorder = Activity.recorder(configs);
        before.close();
    }

    @Override
    public List<AuthorizationResult> authorize(AuthorizableRequestContext request, List<Action> actions) {
        List<AuthorizationResult> results = super.authorize(request, actions);
        recorder.record(request, actions, results);
        return results;
    }

    @Override
    public void close() throws IOException {
        try {
            super.close();
        } finally {
            recorder.close();
        }
    }
}

package guardian.kafka.activity;

import java.net.InetAddress;
import java.net.UnknownHostException;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourceType;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.security.auth.SecurityProtocol;
import org.apache.kafka.server.authorizer.Action;
import org.apache.kafka.server.authorizer.AuthorizableRequestContext;

/** A request as far as authorizers look at it. */
record TestRequest(KafkaPrincipal principal, String clientId, InetAddress clientAddress)
        implements AuthorizableRequestContext {

    static TestRequest of(String user, String clientId, String address) {
        return new TestRequest(new KafkaPrincipal(KafkaPrincipal.USER_TYPE, user), clientId, address(address));
    }

    /** One reference to the resource, and of interest to an audit whatever the result. */
    static Action action(AclOperation operation, ResourceType type, String name) {
        return action(operation, type, name, 1, true, true);
    }

    static Action action(
            AclOperation operation, ResourceType type, String name, int references, boolean ifAllowed, boolean ifDenied) {
        ResourcePattern pattern = new ResourcePattern(type, name, PatternType.LITERAL);
        return new Action(operation, pattern, references, ifAllowed, ifDenied);
    }

    static InetAddress address(String address) {
        try {
            return InetAddress.getByName(address);
        } catch (UnknownHostException e) {
            throw new IllegalArgumentException(e);
        }
    }

    @Override
    public String listenerName() {
        return "SASL";
    }

    @Override
    public SecurityProtocol securityProtocol() {
        return SecurityProtocol.SASL_PLAINTEXT;
    }

    @Override
    public int requestType() {
        return 1;
    }

    @Override
    public int requestVersion() {
        return 1;
    }

    @Override
    public int correlationId() {
        return 1;
    }
}

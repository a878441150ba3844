package guardian.kafka;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.net.InetAddress;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.errors.AuthorizerNotReadyException;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.metrics.internals.PluginMetricsImpl;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourceType;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.security.auth.SecurityProtocol;
import org.apache.kafka.metadata.authorizer.StandardAcl;
import org.apache.kafka.metadata.authorizer.StandardAuthorizer;
import org.apache.kafka.server.authorizer.Action;
import org.apache.kafka.server.authorizer.AuthorizableRequestContext;
import org.junit.jupiter.api.Test;

class GuardianAuthorizerTest {
    private static final List<String> USERS = List.of("alice", "bob", "root");
    private static final List<String> TOPICS = List.of("orders", "orders-eu", "payments");
    private static final List<AclOperation> OPERATIONS =
            List.of(AclOperation.READ, AclOperation.WRITE, AclOperation.DESCRIBE);

    /** One whose client id can't be read, which is nothing that a decision needs. */
    private record Request(KafkaPrincipal principal, InetAddress clientAddress, boolean isBroken)
            implements AuthorizableRequestContext {
        @Override
        public String clientId() {
            if (isBroken) {
                throw new IllegalStateException("broken");
            }
            return "app";
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

    private static Request request(String user, boolean isBroken) {
        return new Request(
                new KafkaPrincipal(KafkaPrincipal.USER_TYPE, user), InetAddress.getLoopbackAddress(), isBroken);
    }

    private static Action action(AclOperation operation, String topic) {
        return new Action(
                operation, new ResourcePattern(ResourceType.TOPIC, topic, PatternType.LITERAL), 1, true, true);
    }

    private static void prepare(StandardAuthorizer authorizer, Map<String, ?> configs, Metrics metrics, long seed) {
        authorizer.configure(configs);
        String name = authorizer.getClass().getSimpleName() + configs + seed;
        authorizer.withPluginMetrics(new PluginMetricsImpl(metrics, Map.of("name", name)));
        Random random = new Random(seed);
        Set<StandardAcl> acls = new LinkedHashSet<>();
        while (acls.size() < 6) {
            acls.add(new StandardAcl(
                    ResourceType.TOPIC,
                    TOPICS.get(random.nextInt(TOPICS.size())),
                    random.nextBoolean() ? PatternType.LITERAL : PatternType.PREFIXED,
                    "User:" + USERS.get(random.nextInt(USERS.size())),
                    "*",
                    OPERATIONS.get(random.nextInt(OPERATIONS.size())),
                    random.nextInt(3) > 0 ? AclPermissionType.ALLOW : AclPermissionType.DENY));
        }
        acls.forEach(acl -> authorizer.addAcl(Uuid.randomUuid(), acl));
        authorizer.completeInitialLoad();
    }

    @Test
    void itDecidesAsStandardAuthorizerDoesEvenWhereCountingFails() throws Exception {
        List<Action> actions = new ArrayList<>();
        OPERATIONS.forEach(operation -> TOPICS.forEach(topic -> actions.add(action(operation, topic))));
        Map<String, String> strict = Map.of("super.users", "User:root");
        Map<String, String> open = Map.of(StandardAuthorizer.ALLOW_EVERYONE_IF_NO_ACL_IS_FOUND_CONFIG, "true");
        Map<String, String> wrong = Map.of("super.users", "User:root", "guardian.activity.slice.s", "soon");
        try (Metrics metrics = new Metrics()) {
            for (Map<String, String> configs : List.of(strict, open, wrong)) {
                for (long seed = 0; seed < 20; seed++) {
                    try (StandardAuthorizer standard = new StandardAuthorizer();
                            StandardAuthorizer guardian = new GuardianAuthorizer()) {
                        prepare(standard, configs, metrics, seed);
                        prepare(guardian, configs, metrics, seed);
                        for (String user : USERS) {
                            var expected = standard.authorize(request(user, false), actions);
                            assertEquals(expected, guardian.authorize(request(user, false), actions));
                            assertEquals(expected, guardian.authorize(request(user, true), actions));
                            for (AclOperation operation : OPERATIONS) {
                                assertEquals(
                                        standard.authorizeByResourceType(
                                                request(user, false), operation, ResourceType.TOPIC),
                                        guardian.authorizeByResourceType(
                                                request(user, false), operation, ResourceType.TOPIC));
                            }
                        }
                    }
                }
            }
        }
    }

    @Test
    void beforeItsAclsAreLoadedItRefusesToAnswerAsStandardAuthorizerDoes() throws Exception {
        try (StandardAuthorizer guardian = new GuardianAuthorizer()) {
            guardian.configure(new HashMap<>());
            assertThrows(
                    AuthorizerNotReadyException.class,
                    () -> guardian.authorize(
                            request("alice", false), List.of(action(AclOperation.READ, "orders"))));
        }
    }
}

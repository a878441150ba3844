package guardian.kafka.activity;

import guardian.kafka.GuardianAuthorizer;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.metrics.internals.PluginMetricsImpl;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourceType;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.metadata.authorizer.StandardAcl;
import org.apache.kafka.metadata.authorizer.StandardAuthorizer;
import org.apache.kafka.server.authorizer.Action;
import org.apache.kafka.server.authorizer.AuthorizableRequestContext;
import org.apache.kafka.server.authorizer.AuthorizationResult;

/**
 * What counting costs a broker: nanoseconds of CPU for each authorization, by 1 and by 8 threads, among 10,000 different
 * ones. Prints one JSON object on a line: {@code audit_ns} is the larger of both thread counts' times to count one,
 * {@code standard_ns} and {@code guardian_ns} what StandardAuthorizer and GuardianAuthorizer take in all. Arguments, all
 * optional: authorizations a round, rounds.
 *
 * <p>Each authorization is of a request of its own, whose texts were just read from bytes, as in a broker: nothing is
 * hashed yet. What it takes to make the request is measured alone, and left out. Each number is the median of its
 * rounds, which take turns.
 */
public final class AuditCost {
    private static final int CLIENTS = 1_000;
    private static final int TOPICS_OF_A_CLIENT = 10;
    private static final int TOPICS = 1_000;
    private static final int[] THREADS = {1, 8};
    private static final ThreadMXBean CPU = ManagementFactory.getThreadMXBean();

    /** What is done with each request. */
    private interface Work {
        List<AuthorizationResult> authorize(AuthorizableRequestContext request, List<Action> actions);
    }

    private final int authorizations;
    private final byte[][] clientIds = new byte[CLIENTS][];
    private final KafkaPrincipal[] principals = new KafkaPrincipal[CLIENTS];
    private final InetAddress[] addresses = new InetAddress[CLIENTS];
    private final byte[][] topics = new byte[TOPICS][];

    private AuditCost(int authorizations) {
        this.authorizations = authorizations;
        for (int client = 0; client < CLIENTS; client++) {
            clientIds[client] = ("payments-service-consumer-" + client).getBytes(StandardCharsets.UTF_8);
            principals[client] = new KafkaPrincipal(KafkaPrincipal.USER_TYPE, "tenant-" + client / 10);
            addresses[client] = TestRequest.address("10.1." + client / 250 + '.' + client % 250);
        }
        for (int topic = 0; topic < TOPICS; topic++) {
            topics[topic] = ("payments.settlement.events-" + topic).getBytes(StandardCharsets.UTF_8);
        }
    }

    public static void main(String[] arguments) throws Exception {
        int authorizations = arguments.length > 0 ? Integer.parseInt(arguments[0]) : 1_000_000;
        int rounds = arguments.length > 1 ? Integer.parseInt(arguments[1]) : 7;
        new AuditCost(authorizations).measure(rounds);
    }

    private void measure(int rounds) throws Exception {
        StringBuilder numbers = new StringBuilder();
        double worst = 0;
        List<AuthorizationResult> allowed = List.of(AuthorizationResult.ALLOWED);
        try (Metrics metrics = new Metrics();
                Recorder recorder = Activity.recorder(Map.of());
                StandardAuthorizer standard = ready(new StandardAuthorizer(), metrics, "standard");
                StandardAuthorizer guardian = ready(new GuardianAuthorizer(), metrics, "guardian")) {
            List<Work> works = List.of(
                    (request, actions) -> allowed,
                    (request, actions) -> {
                        recorder.record(request, actions, allowed);
                        return allowed;
                    },
                    standard::authorize,
                    guardian::authorize);
            for (int threads : THREADS) {
                double[][] nanos = new double[works.size()][rounds];
                // The first round warms up.
                for (int round = -1; round < rounds; round++) {
                    for (int work = 0; work < works.size(); work++) {
                        nanos[work][Math.max(round, 0)] = nanosEach(works.get(work), threads);
                    }
                }
                double made = median(nanos[0]);
                double counted = median(nanos[1]) - made;
                worst = Math.max(worst, counted);
                numbers.append(String.format(
                        ", \"audit_ns_%1$dt\": %2$.0f, \"standard_ns_%1$dt\": %3$.0f, \"guardian_ns_%1$dt\": %4$.0f",
                        threads,
                        counted,
                        median(nanos[2]) - made,
                        median(nanos[3]) - made));
            }
        }
        System.out.printf(
                "{\"what\": \"audit\", \"keys\": %d, \"audit_ns\": %.0f%s}%n",
                CLIENTS * TOPICS_OF_A_CLIENT, worst, numbers);
    }

    private static StandardAuthorizer ready(StandardAuthorizer authorizer, Metrics metrics, String name) {
        authorizer.withPluginMetrics(new PluginMetricsImpl(metrics, Map.of("authorizer", name)));
        authorizer.configure(Map.of("process.roles", "broker", "node.id", "1"));
        for (int topic = 0; topic < TOPICS; topic++) {
            authorizer.addAcl(new Uuid(1, topic), new StandardAcl(
                    ResourceType.TOPIC,
                    "payments.settlement.events-" + topic,
                    PatternType.LITERAL,
                    "User:*",
                    "*",
                    AclOperation.READ,
                    AclPermissionType.ALLOW));
        }
        authorizer.completeInitialLoad();
        return authorizer;
    }

    private double nanosEach(Work work, int threads) throws Exception {
        ExecutorService workers = Executors.newFixedThreadPool(threads);
        try {
            CyclicBarrier together = new CyclicBarrier(threads);
            List<Callable<Long>> tasks = new ArrayList<>();
            for (int thread = 0; thread < threads; thread++) {
                int seed = thread;
                tasks.add(() -> {
                    together.await();
                    return run(work, authorizations / threads, new SplittableRandom(seed));
                });
            }
            long nanos = 0;
            for (Future<Long> each : workers.invokeAll(tasks)) {
                nanos += each.get();
            }
            return (double) nanos / (authorizations / threads * threads);
        } finally {
            workers.shutdownNow();
        }
    }

    /** The thread's own CPU time: what else the machine does is not counted. */
    private long run(Work work, int times, SplittableRandom random) {
        int allowed = 0;
        long from = CPU.getCurrentThreadCpuTime();
        for (int i = 0; i < times; i++) {
            int client = random.nextInt(CLIENTS);
            int topic = (client * 7 + random.nextInt(TOPICS_OF_A_CLIENT)) % TOPICS;
            String clientId = new String(clientIds[client], StandardCharsets.UTF_8);
            String name = new String(topics[topic], StandardCharsets.UTF_8);
            AuthorizationResult result = work.authorize(
                            new TestRequest(principals[client], clientId, addresses[client]),
                            List.of(TestRequest.action(AclOperation.READ, ResourceType.TOPIC, name)))
                    .get(0);
            allowed += result == AuthorizationResult.ALLOWED ? 1 : 0;
        }
        long nanos = CPU.getCurrentThreadCpuTime() - from;
        if (allowed != times) {
            throw new IllegalStateException(allowed + " of " + times + " were allowed");
        }
        return nanos;
    }

    private static double median(double[] values) {
        double[] sorted = values.clone();
        Arrays.sort(sorted);
        return sorted[sorted.length / 2];
    }
}

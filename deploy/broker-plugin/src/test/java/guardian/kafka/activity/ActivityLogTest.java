package guardian.kafka.activity;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import guardian.v1.ActivitySlice;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.resource.ResourceType;
import org.apache.kafka.server.authorizer.Action;
import org.apache.kafka.server.authorizer.AuthorizableRequestContext;
import org.apache.kafka.server.authorizer.AuthorizationResult;
import org.junit.jupiter.api.Test;

class ActivityLogTest {
    private static final List<AuthorizationResult> ALLOWED = List.of(AuthorizationResult.ALLOWED);
    private static final List<AuthorizationResult> DENIED = List.of(AuthorizationResult.DENIED);
    private static final TestRequest ALICE = TestRequest.of("alice", "app-1", "10.0.0.1");

    private static ActivityLog log(Map<String, ?> settings) {
        return new ActivityLog(ActivitySettings.read(settings), new QuotaBytes(), 1_000);
    }

    private static Action topic(AclOperation operation, String name) {
        return TestRequest.action(operation, ResourceType.TOPIC, name);
    }

    private static Map<String, List<Long>> counted(ActivityLog log) {
        log.close(2_000);
        return Counted.in(log.after(0));
    }

    @Test
    void itCountsWhoDidWhatWithWhichResource() {
        ActivityLog log = log(Map.of());
        TestRequest bob = TestRequest.of("bob", null, "2001:db8::1");
        log.record(ALICE, List.of(topic(AclOperation.READ, "orders")), ALLOWED);
        log.record(
                ALICE,
                List.of(topic(AclOperation.READ, "orders"), topic(AclOperation.READ, "secrets")),
                List.of(AuthorizationResult.ALLOWED, AuthorizationResult.DENIED));
        log.record(ALICE, List.of(topic(AclOperation.WRITE, "orders")), ALLOWED);
        log.record(bob, List.of(TestRequest.action(AclOperation.READ, ResourceType.GROUP, "orders")), DENIED);
        assertEquals(
                Map.of(
                        "User:alice app-1 10.0.0.1 TOPIC orders READ", List.of(2L, 0L),
                        "User:alice app-1 10.0.0.1 TOPIC orders WRITE", List.of(1L, 0L),
                        "User:alice app-1 10.0.0.1 TOPIC secrets READ", List.of(0L, 1L),
                        "User:bob  2001:db8:0:0:0:0:0:1 GROUP orders READ", List.of(0L, 1L)),
                counted(log));
    }

    @Test
    void whatKafkaAsksWithoutDoingItIsNoAccess() {
        ActivityLog log = log(Map.of());
        Action describedOnly =
                TestRequest.action(AclOperation.DELETE, ResourceType.TOPIC, "orders", 1, false, false);
        Action leftOutWhenDenied =
                TestRequest.action(AclOperation.DESCRIBE, ResourceType.TOPIC, "orders", 1, true, false);
        Action anyTopic = TestRequest.action(AclOperation.WRITE, ResourceType.TOPIC, "hardcode", 0, true, false);
        log.record(ALICE, List.of(describedOnly), ALLOWED);
        log.record(ALICE, List.of(describedOnly), DENIED);
        log.record(ALICE, List.of(leftOutWhenDenied), DENIED);
        log.record(ALICE, List.of(anyTopic), ALLOWED);
        assertEquals(Map.of(), counted(log));
        log.record(ALICE, List.of(leftOutWhenDenied), ALLOWED);
        assertEquals(Map.of("User:alice app-1 10.0.0.1 TOPIC orders DESCRIBE", List.of(1L, 0L)), counted(log));
    }

    @Test
    void withoutAddressesClientsThatDifferInNothingElseAreOne() {
        ActivityLog log = log(Map.of(ActivitySettings.ADDRESSES, "false"));
        log.record(ALICE, List.of(topic(AclOperation.READ, "orders")), ALLOWED);
        TestRequest elsewhere = TestRequest.of("alice", "app-1", "10.0.0.2");
        log.record(elsewhere, List.of(topic(AclOperation.READ, "orders")), ALLOWED);
        assertEquals(Map.of("User:alice app-1  TOPIC orders READ", List.of(2L, 0L)), counted(log));
    }

    @Test
    void slicesFollowOneAnotherWithoutAHole() {
        ActivityLog log = log(Map.of());
        log.close(60_000);
        log.close(120_000);
        // The clock was set back.
        log.close(110_000);
        log.close(180_000);
        List<ActivitySlice> slices = log.after(0);
        assertEquals(
                List.of(1L, 2L, 3L, 4L),
                slices.stream().map(ActivitySlice::getNumber).toList());
        assertEquals(
                List.of(1_000L, 60_000L, 120_000L, 110_000L),
                slices.stream().map(ActivitySlice::getFromMs).toList());
        assertEquals(
                List.of(60_000L, 120_000L, 120_000L, 180_000L),
                slices.stream().map(ActivitySlice::getToMs).toList());
        assertEquals(slices.subList(2, 4), log.after(2));
    }

    @Test
    void aClosedSliceNeverChanges() {
        ActivityLog log = log(Map.of());
        log.record(ALICE, List.of(topic(AclOperation.READ, "orders")), ALLOWED);
        log.close(60_000);
        List<ActivitySlice> before = log.after(0);
        log.record(ALICE, List.of(topic(AclOperation.READ, "orders")), ALLOWED);
        assertEquals(before, log.after(0));
        log.close(120_000);
        assertEquals(before.get(0), log.after(0).get(0));
        assertEquals(1, Counted.in(log.after(1)).size());
    }

    @Test
    void whatFindsNoRoomIsCountedAndTheNextSliceHasRoomAgain() {
        ActivityLog log = log(Map.of(ActivitySettings.MAX_ENTRIES, "100"));
        for (int round = 0; round < 2; round++) {
            for (int i = 0; i < 130; i++) {
                log.record(ALICE, List.of(topic(AclOperation.READ, "topic-" + i)), ALLOWED);
            }
            log.close(60_000);
        }
        for (ActivitySlice slice : log.after(0)) {
            assertEquals(100, slice.getPrincipalsCount());
            assertEquals(30, slice.getDropped());
        }
        assertEquals(2, log.after(0).size());
    }

    @Test
    void oneWhoListsAllTopicsLeavesRoomForReadersAndWriters() {
        ActivityLog log = log(Map.of(ActivitySettings.MAX_ENTRIES, "100"));
        for (int i = 0; i < 1_000; i++) {
            log.record(ALICE, List.of(topic(AclOperation.DESCRIBE, "topic-" + i)), ALLOWED);
        }
        log.record(ALICE, List.of(topic(AclOperation.READ, "orders")), ALLOWED);
        Map<String, List<Long>> counts = counted(log);
        assertEquals(51, counts.size());
        assertEquals(List.of(1L, 0L), counts.get("User:alice app-1 10.0.0.1 TOPIC orders READ"));
    }

    @Test
    void longNamesTakeTheRoomThatTheyNeed() {
        ActivityLog log = log(Map.of(ActivitySettings.MEMORY_MB, "1"));
        String name = "x".repeat(10_000);
        for (int i = 0; i < 1_000; i++) {
            TestRequest request = TestRequest.of("alice", name + i, "10.0.0.1");
            log.record(request, List.of(topic(AclOperation.READ, "orders")), ALLOWED);
        }
        log.close(60_000);
        ActivitySlice slice = log.after(0).get(0);
        assertTrue(slice.getPrincipalsCount() > 10, "entries: " + slice.getPrincipalsCount());
        assertTrue(slice.getSerializedSize() < 512 * 1024, "bytes: " + slice.getSerializedSize());
        assertEquals(1_000, slice.getPrincipalsCount() + slice.getDropped());
    }

    @Test
    void aRequestThatCantBeReadIsADroppedCount() {
        ActivityLog log = log(Map.of());
        AuthorizableRequestContext broken = new TestRequest(null, "app-1", null);
        log.record(broken, List.of(topic(AclOperation.READ, "orders")), ALLOWED);
        log.record(ALICE, List.of(topic(AclOperation.READ, "orders")), List.of());
        log.close(60_000);
        assertEquals(2, log.after(0).get(0).getDropped());
        assertEquals(0, log.after(0).get(0).getPrincipalsCount());
    }

    /** Each thread keeps a map of its own, which is obviously right; in the end slices and maps must agree. */
    @Test
    void noCountIsLostOrMadeTwiceWhileSlicesClose() throws Exception {
        ActivityLog log = log(Map.of());
        ExecutorService threads = Executors.newFixedThreadPool(4);
        try {
            List<Callable<Map<String, List<Long>>>> tasks = IntStream.range(0, 4)
                    .<Callable<Map<String, List<Long>>>>mapToObj(seed -> () -> recordAtRandom(log, new Random(seed)))
                    .toList();
            List<Future<Map<String, List<Long>>>> running =
                    tasks.stream().map(threads::submit).toList();
            List<ActivitySlice> slices = new ArrayList<>();
            while (!running.stream().allMatch(Future::isDone)) {
                log.close(2_000);
                slices.addAll(log.after(slices.size()));
            }
            log.close(2_000);
            slices.addAll(log.after(slices.size()));
            Map<String, List<Long>> expected = new TreeMap<>();
            for (Future<Map<String, List<Long>>> each : running) {
                each.get(30, TimeUnit.SECONDS).forEach((access, counts) -> expected.merge(
                        access,
                        counts,
                        (one, other) -> List.of(one.get(0) + other.get(0), one.get(1) + other.get(1))));
            }
            assertEquals(expected, new TreeMap<>(Counted.in(slices)));
            assertEquals(0, slices.stream().mapToLong(ActivitySlice::getDropped).sum());
        } finally {
            threads.shutdownNow();
        }
    }

    private static Map<String, List<Long>> recordAtRandom(ActivityLog log, Random random) {
        Map<String, long[]> own = new TreeMap<>();
        List<AclOperation> operations = List.of(AclOperation.READ, AclOperation.WRITE, AclOperation.DESCRIBE);
        for (int i = 0; i < 50_000; i++) {
            String user = "user-" + random.nextInt(7);
            String client = "client-" + random.nextInt(7);
            String address = "10.0.0." + random.nextInt(3);
            String name = "topic-" + random.nextInt(11);
            AclOperation operation = operations.get(random.nextInt(operations.size()));
            boolean allowed = random.nextInt(4) > 0;
            log.record(
                    TestRequest.of(user, client, address), List.of(topic(operation, name)), allowed ? ALLOWED : DENIED);
            String access = String.join(" ", "User:" + user, client, address, "TOPIC", name, operation.name());
            own.computeIfAbsent(access, any -> new long[2])[allowed ? 0 : 1]++;
        }
        return own.entrySet().stream()
                .collect(Collectors.toMap(Map.Entry::getKey, each -> List.of(each.getValue()[0], each.getValue()[1])));
    }
}

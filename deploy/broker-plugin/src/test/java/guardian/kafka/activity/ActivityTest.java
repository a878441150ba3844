package guardian.kafka.activity;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import guardian.v1.ActivitySlice;
import guardian.v1.CollectRequest;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.BooleanSupplier;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.resource.ResourceType;
import org.apache.kafka.server.authorizer.AuthorizationResult;
import org.junit.jupiter.api.Test;

class ActivityTest {
    private static final long LIFE_MS = 1_700_000_000_000L;
    private static final Map<String, String> EVERY_SECOND = Map.of(ActivitySettings.SLICE_S, "1");

    private final Activity activity = new Activity(LIFE_MS);

    private static CollectRequest after(long lifeMs, long number) {
        return CollectRequest.newBuilder()
                .setWithActivity(true)
                .setActivityLifeMs(lifeMs)
                .setActivityAfter(number)
                .build();
    }

    /** As a reader gets them, answer by answer. */
    private List<ActivitySlice> all() {
        List<ActivitySlice> slices = new ArrayList<>();
        List<ActivitySlice> more = activity.slicesFor(after(0, 0));
        while (!more.isEmpty()) {
            slices.addAll(more);
            more = activity.slicesFor(after(LIFE_MS, slices.get(slices.size() - 1).getNumber()));
        }
        return slices;
    }

    private static void record(Recorder recorder, String topic) {
        recorder.record(
                TestRequest.of("alice", "app", "10.0.0.1"),
                List.of(TestRequest.action(AclOperation.READ, ResourceType.TOPIC, topic)),
                List.of(AuthorizationResult.ALLOWED));
    }

    private static void waitFor(BooleanSupplier condition) throws InterruptedException {
        long deadline = System.nanoTime() + 30_000_000_000L;
        while (!condition.getAsBoolean()) {
            assertTrue(System.nanoTime() < deadline, "not within 30 s");
            Thread.sleep(20);
        }
    }

    @Test
    void withoutAnAuthorizerThereAreNoSlices() {
        assertEquals(List.of(), all());
    }

    @Test
    void aReaderOfAnotherLifeGetsAllAndOneOfThisLifeWhatItLacks() throws Exception {
        try (Recorder recorder = activity.newRecorder(EVERY_SECOND)) {
            record(recorder, "orders");
            waitFor(() -> all().size() >= 2);
            List<ActivitySlice> slices = activity.slicesFor(after(LIFE_MS - 1, 100));
            assertEquals(1, slices.get(0).getNumber());
            assertEquals(2, activity.slicesFor(after(LIFE_MS, 1)).get(0).getNumber());
            assertEquals(List.of(), activity.slicesFor(after(LIFE_MS, 1_000)));
            assertEquals(List.of(), activity.slicesFor(CollectRequest.getDefaultInstance()));
            assertEquals(slices, activity.slicesFor(after(0, 0)).subList(0, slices.size()));
        }
    }

    @Test
    void twoAuthorizersOfANodeCountTogetherAndNumbersGoOnAfterBothWereClosed() throws Exception {
        Recorder broker = activity.newRecorder(EVERY_SECOND);
        Recorder controller = activity.newRecorder(EVERY_SECOND);
        record(broker, "orders");
        record(controller, "orders");
        controller.close();
        controller.close();
        record(broker, "orders");
        waitFor(() -> !Counted.in(all()).isEmpty());
        waitFor(() -> Counted.in(all()).values().iterator().next().get(0) == 3);
        broker.close();
        int before = all().size();
        try (Recorder again = activity.newRecorder(EVERY_SECOND)) {
            record(again, "payments");
            waitFor(() -> Counted.in(all()).size() == 2);
            List<ActivitySlice> slices = all();
            assertTrue(slices.size() > before);
            for (int i = 0; i < slices.size(); i++) {
                assertEquals(i + 1, slices.get(i).getNumber());
            }
        }
    }

    @Test
    void whatIsTurnedOffOrWrongCountsNothingAndHarmsNobody() {
        for (Map<String, String> off : List.of(
                Map.of(ActivitySettings.ENABLE, "false"),
                Map.of(ActivitySettings.ENABLE, "maybe"),
                Map.of(ActivitySettings.SLICE_S, "0"),
                Map.of(ActivitySettings.MEMORY_MB, "much"),
                Map.of("process.roles", "controller"))) {
            assertSame(Recorder.NONE, activity.newRecorder(off), "settings: " + off);
        }
        record(Recorder.NONE, "orders");
        try (Recorder on = activity.newRecorder(Map.of("process.roles", "controller, broker"))) {
            assertNotSame(Recorder.NONE, on);
        }
    }
}

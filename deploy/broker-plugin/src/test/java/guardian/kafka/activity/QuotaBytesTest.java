package guardian.kafka.activity;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.common.MetricName;
import org.apache.kafka.common.metrics.KafkaMetric;
import org.apache.kafka.common.metrics.Measurable;
import org.apache.kafka.common.metrics.MetricConfig;
import org.apache.kafka.common.metrics.stats.Rate;
import org.apache.kafka.common.utils.Time;
import org.junit.jupiter.api.Test;

class QuotaBytesTest {
    private final QuotaBytes bytes = new QuotaBytes();

    private static KafkaMetric metric(String group, String name, String user, String clientId, Measurable value) {
        Map<String, String> tags = new LinkedHashMap<>();
        tags.put("user", user);
        tags.put("client-id", clientId);
        return new KafkaMetric(
                new Object(), new MetricName(name, group, "", tags), value, new MetricConfig(), Time.SYSTEM);
    }

    private static KafkaMetric rate(String group, String user, String clientId, double rate) {
        return metric(group, "byte-rate", user, clientId, (config, now) -> rate);
    }

    private QuotaBytes.Moved moved(String user, String clientId) {
        return bytes.drain().getOrDefault(new QuotaBytes.Owner(user, clientId), new QuotaBytes.Moved());
    }

    @Test
    void ratesAreSummedUpByOwner() {
        bytes.put(rate("Produce", "CN%3Dalice", "app", 100));
        bytes.put(rate("Fetch", "CN%3Dalice", "app", 30));
        bytes.put(rate("Fetch", "", "other", 7));
        bytes.put(metric("Produce", "throttle-time", "bob", "app", (config, now) -> 5));
        bytes.put(rate("Request", "bob", "app", 5));
        bytes.sample(2, 10);
        bytes.sample(3, 10);
        Map<QuotaBytes.Owner, QuotaBytes.Moved> all = bytes.drain();
        assertEquals(2, all.size());
        QuotaBytes.Moved alice = all.get(new QuotaBytes.Owner("CN=alice", "app"));
        assertEquals(500, alice.produced);
        assertEquals(150, alice.fetched);
        assertEquals(35, all.get(new QuotaBytes.Owner("", "other")).fetched);
        assertEquals(Map.of(), bytes.drain());
    }

    @Test
    void whatMovesNothingOrHasNoValueIsLeftOut() {
        bytes.put(rate("Produce", "idle", "app", 0));
        bytes.put(rate("Produce", "odd", "app", Double.NaN));
        bytes.put(metric("Produce", "byte-rate", "broken", "app", (config, now) -> {
            throw new IllegalStateException("broken");
        }));
        bytes.put(rate("Produce", "%zz", "app", 1));
        KafkaMetric gone = rate("Produce", "gone", "app", 1);
        bytes.put(gone);
        bytes.remove(gone);
        bytes.sample(1, 10);
        assertEquals(1, moved("%zz", "app").produced);
    }

    @Test
    void clientsBeyondTheLimitAreLeftOut() {
        for (int i = 0; i < 20; i++) {
            bytes.put(rate("Produce", "alice", "app-" + i, 1));
        }
        bytes.sample(1, 15);
        bytes.sample(1, 15);
        Map<QuotaBytes.Owner, QuotaBytes.Moved> all = bytes.drain();
        assertEquals(15, all.size());
        all.values().forEach(moved -> assertEquals(2, moved.produced));
    }

    /** Kafka's own Rate with a quota's windows (11 of a second), fed at random for ten minutes. */
    @Test
    void theSumOverTimeIsWhatWasMoved() {
        Random random = new Random(5);
        Rate rate = new Rate();
        MetricConfig windows = new MetricConfig().samples(11).timeWindow(1, TimeUnit.SECONDS);
        long[] now = {1_000_000};
        bytes.put(metric("Produce", "byte-rate", "alice", "app", (config, at) -> rate.measure(windows, now[0])));
        double sent = 0;
        for (int step = 1; step <= 630 * 20; step++) {
            now[0] += 50;
            // Silence at the end: the last window must have run out.
            if (step < 600 * 20 && random.nextInt(3) == 0) {
                double some = random.nextInt(100_000);
                rate.record(windows, some, now[0]);
                sent += some;
            }
            if (step % 100 == 0) {
                bytes.sample(5, 10);
            }
        }
        assertEquals(sent, moved("alice", "app").produced, 0.03 * sent);
    }
}

package guardian.kafka.activity;

import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.kafka.common.MetricName;
import org.apache.kafka.common.metrics.KafkaMetric;
import org.apache.kafka.common.utils.Sanitizer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What each client moved, from the rates that Kafka keeps to enforce client quotas.
 *
 * <p>Kafka has no counters of a client's bytes, only a rate over the last ten to eleven seconds
 * (quota.window.num × quota.window.size.seconds). Sampled more often than that and summed up over time, it gives every
 * byte its weight once, on average, up to a window late.
 */
final class QuotaBytes {
    private static final Logger LOG = LoggerFactory.getLogger(QuotaBytes.class);
    private static final String BYTE_RATE = "byte-rate";
    private static final String PRODUCE = "Produce";
    private static final String FETCH = "Fetch";

    /** Whose bytes: as the quota's tags tell, one of them is empty unless the quota has both. */
    record Owner(String user, String clientId) {}

    /** Bytes, of which a part may be counted so far. */
    static final class Moved {
        double produced;
        double fetched;
    }

    private final Map<MetricName, KafkaMetric> rates = new ConcurrentHashMap<>();
    private Map<Owner, Moved> moved = new HashMap<>();

    void put(KafkaMetric metric) {
        MetricName name = metric.metricName();
        if (name.name().equals(BYTE_RATE) && (name.group().equals(PRODUCE) || name.group().equals(FETCH))) {
            rates.put(name, metric);
        }
    }

    void remove(KafkaMetric metric) {
        rates.remove(metric.metricName(), metric);
    }

    /** Adds what the rates make of the time since the last sample, for at most so many clients. */
    synchronized void sample(double seconds, int maxOwners) {
        for (KafkaMetric metric : rates.values()) {
            try {
                if (metric.metricValue() instanceof Double rate && rate > 0 && rate < Double.POSITIVE_INFINITY) {
                    add(metric.metricName(), rate * seconds, maxOwners);
                }
            } catch (RuntimeException | LinkageError e) {
                LOG.debug("{} has no value", metric.metricName(), e);
            }
        }
    }

    synchronized Map<Owner, Moved> drain() {
        Map<Owner, Moved> all = moved;
        moved = new HashMap<>();
        return all;
    }

    private void add(MetricName name, double bytes, int maxOwners) {
        Owner owner = new Owner(user(name.tags()), name.tags().getOrDefault("client-id", ""));
        Moved soFar = moved.get(owner);
        if (soFar == null) {
            if (moved.size() >= maxOwners) {
                return;
            }
            soFar = new Moved();
            moved.put(owner, soFar);
        }
        if (name.group().equals(PRODUCE)) {
            soFar.produced += bytes;
        } else {
            soFar.fetched += bytes;
        }
    }

    /** A principal's name: Kafka writes it into its tag as into a URL. */
    private static String user(Map<String, String> tags) {
        String user = tags.getOrDefault("user", "");
        try {
            return Sanitizer.desanitize(user);
        } catch (IllegalArgumentException e) {
            return user;
        }
    }
}

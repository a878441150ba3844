package guardian.kafka.activity;

import guardian.v1.ActivitySlice;
import guardian.v1.CollectRequest;
import java.lang.management.ManagementFactory;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.kafka.common.metrics.KafkaMetric;
import org.apache.kafka.server.authorizer.Action;
import org.apache.kafka.server.authorizer.AuthorizableRequestContext;
import org.apache.kafka.server.authorizer.AuthorizationResult;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Where the authorizer, which knows who does what, and the metrics reporter, which Guardian calls, meet in a broker.
 *
 * <p>Kafka makes each of them by itself, in any order; either may be missing. Without an authorizer there are no slices
 * at all, so that nobody takes "not counted" for "nothing happened". No method throws.
 */
public final class Activity {
    private static final Logger LOG = LoggerFactory.getLogger(Activity.class);
    private static final Activity OF_THIS_BROKER =
            new Activity(ManagementFactory.getRuntimeMXBean().getStartTime());

    private final long lifeMs;
    private final QuotaBytes bytes = new QuotaBytes();
    private volatile ActivityLog log;
    private SliceTimer timer;
    private int recorders;

    Activity(long lifeMs) {
        this.lifeMs = lifeMs;
    }

    /** For an authorizer with the broker's configuration; one that counts nothing when that is off or wrong. */
    public static Recorder recorder(Map<String, ?> configs) {
        return OF_THIS_BROKER.newRecorder(configs);
    }

    /** What a call of the collector gets: the slices that it asked for, as many as fit. */
    public static List<ActivitySlice> slices(CollectRequest request) {
        return OF_THIS_BROKER.slicesFor(request);
    }

    /** To be told of every metric of Kafka's own registry. */
    public static void metricChanged(KafkaMetric metric) {
        OF_THIS_BROKER.bytes.put(metric);
    }

    public static void metricRemoved(KafkaMetric metric) {
        OF_THIS_BROKER.bytes.remove(metric);
    }

    List<ActivitySlice> slicesFor(CollectRequest request) {
        ActivityLog counted = log;
        if (counted == null || !request.getWithActivity()) {
            return List.of();
        }
        return counted.after(request.getActivityLifeMs() == lifeMs ? request.getActivityAfter() : 0);
    }

    Recorder newRecorder(Map<String, ?> configs) {
        try {
            ActivitySettings settings = ActivitySettings.read(configs);
            if (settings.enabled()) {
                return begin(settings);
            }
            LOG.info("Client activity is not counted: {} is false, or this node is no broker", ActivitySettings.ENABLE);
        } catch (IllegalArgumentException e) {
            LOG.error("Client activity is not counted: {}", e.getMessage());
        } catch (RuntimeException | LinkageError | OutOfMemoryError e) {
            LOG.error("Client activity is not counted", e);
        }
        return Recorder.NONE;
    }

    /** A node that is broker and controller has two authorizers: they count together. */
    private synchronized Recorder begin(ActivitySettings settings) {
        if (log == null) {
            log = new ActivityLog(settings, bytes, System.currentTimeMillis());
        }
        if (recorders == 0) {
            timer = SliceTimer.start(log, settings.sliceSeconds());
        }
        recorders++;
        return new LogRecorder(log);
    }

    private synchronized void end() {
        recorders--;
        if (recorders == 0) {
            timer.close();
        }
    }

    private final class LogRecorder implements Recorder {
        private final ActivityLog counted;
        private final AtomicBoolean open = new AtomicBoolean(true);

        LogRecorder(ActivityLog counted) {
            this.counted = counted;
        }

        @Override
        public void record(
                AuthorizableRequestContext request, List<Action> actions, List<AuthorizationResult> results) {
            counted.record(request, actions, results);
        }

        @Override
        public void close() {
            if (open.compareAndSet(true, false)) {
                end();
            }
        }
    }
}

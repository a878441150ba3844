package guardian.kafka.reporter.metrics;

import guardian.v1.MetricBatch;
import java.util.List;
import java.util.function.BooleanSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Reads the metrics of one collection into its batch, until its time is up. */
public final class ValueSink {
    private static final Logger LOG = LoggerFactory.getLogger(ValueSink.class);

    /** To look at the clock takes as long as to read a metric. */
    private static final int METRICS_A_LOOK = 8;

    /** The caller is gone or the collection takes too long: what is left is not worth the broker's time. */
    public static final class Expired extends RuntimeException {
        private static final long serialVersionUID = 1L;

        Expired() {
            super("the collection was not done in time", null, false, false);
        }
    }

    private final MetricBatch.Builder batch;
    private final BooleanSupplier expired;
    private final double[] values = new double[Listing.MOST_ATTRIBUTES];

    ValueSink(MetricBatch.Builder batch, BooleanSupplier expired) {
        this.batch = batch;
        this.expired = expired;
    }

    /** @throws Expired when the collection must end */
    void take(List<Listing.Slot> slots) {
        for (int i = 0; i < slots.size(); i++) {
            if (i % METRICS_A_LOOK == 0 && expired.getAsBoolean()) {
                throw new Expired();
            }
            take(slots.get(i));
        }
    }

    /** Kafka's gauges are mostly of Scala, which declares no exception: any may come. */
    private void take(Listing.Slot slot) {
        try {
            if (!slot.reader().read(values)) {
                return;
            }
        } catch (Exception | LinkageError e) {
            LOG.debug("{} has no value", slot.mbean(), e);
            return;
        }
        for (int i = 0; i < slot.attributes(); i++) {
            if (slot.wants(i)) {
                batch.addIds(slot.firstId() + i);
                batch.addValues(values[i]);
            }
        }
    }
}

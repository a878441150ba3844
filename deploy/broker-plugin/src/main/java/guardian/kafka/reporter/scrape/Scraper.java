package guardian.kafka.reporter.scrape;

import guardian.kafka.reporter.metrics.BatchCollector;
import guardian.kafka.reporter.metrics.ValueSink;
import guardian.v1.CollectRequest;
import guardian.v1.MetricBatch;
import java.time.Duration;
import java.util.Arrays;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;

/**
 * What is scraped: a caller of the collector as Guardian's members are, with the names that it has seen turned into
 * Prometheus'. Scrapes that come within a second share one collection.
 */
public final class Scraper {
    private final BatchCollector collector;
    private final NameFilter shown;
    private final long freshNs;
    private final long limitNs;
    private final ReentrantLock collecting = new ReentrantLock();
    private SeriesTable table;
    private Exposition last;
    private long lastAtNs;

    /**
     * @param fresh how long a collection is shown
     * @param limit of a collection, and of the wait for another caller's
     */
    public Scraper(BatchCollector collector, NameFilter shown, Duration fresh, Duration limit) {
        this.collector = collector;
        this.shown = shown;
        this.freshNs = fresh.toNanos();
        this.limitNs = limit.toNanos();
    }

    /**
     * Nothing when the one who collects does not come to an end.
     *
     * @throws ValueSink.Expired when it takes too long
     */
    Optional<Exposition> scrape() throws InterruptedException {
        if (!collecting.tryLock(limitNs, TimeUnit.NANOSECONDS)) {
            return Optional.empty();
        }
        try {
            if (last == null || System.nanoTime() - lastAtNs > freshNs) {
                last = collect();
                lastAtNs = System.nanoTime();
            }
            return Optional.of(last);
        } finally {
            collecting.unlock();
        }
    }

    private Exposition collect() {
        long startedNs = System.nanoTime();
        CollectRequest.Builder request = CollectRequest.newBuilder();
        if (table != null) {
            request.setDictionaryId(table.dictionaryId()).setKnownNames(table.size());
        }
        MetricBatch batch = collector.collect(request.build(), () -> System.nanoTime() - startedNs > limitNs);
        if (table == null || table.dictionaryId() != batch.getDictionaryId()) {
            table = new SeriesTable(batch.getDictionaryId(), shown);
        }
        table.extend(batch.getNamesList());
        double[] values = new double[table.size()];
        Arrays.fill(values, Double.NaN);
        for (int i = 0; i < batch.getIdsCount(); i++) {
            values[batch.getIds(i)] = batch.getValues(i);
        }
        MetricBatch rest = batch.toBuilder().clearNames().clearIds().clearValues().build();
        return new Exposition(table.families(), values, rest, shown);
    }
}

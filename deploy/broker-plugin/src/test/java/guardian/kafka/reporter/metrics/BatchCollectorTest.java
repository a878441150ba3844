package guardian.kafka.reporter.metrics;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.yammer.metrics.core.Gauge;
import com.yammer.metrics.core.Histogram;
import com.yammer.metrics.core.MetricName;
import com.yammer.metrics.core.MetricsRegistry;
import guardian.v1.ActivitySlice;
import guardian.v1.CollectRequest;
import guardian.v1.HostFacts;
import guardian.v1.MetricBatch;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class BatchCollectorTest {
    private static final ActivitySlice SLICE = ActivitySlice.newBuilder().setNumber(7).build();

    private final MetricsRegistry registry = new MetricsRegistry();
    private final AtomicLong nanoTime = new AtomicLong();
    private final BatchCollector collector = collector(10_000);

    @AfterEach
    void stop() {
        registry.shutdown();
    }

    private BatchCollector collector(int namesAlwaysKept) {
        return new BatchCollector(
                List.of(new YammerMetricSource(registry)),
                request -> HostFacts.getDefaultInstance(),
                MetricBatch::newBuilder,
                request -> request.getWithActivity() ? List.of(SLICE) : List.of(),
                nanoTime::get,
                namesAlwaysKept);
    }

    private static MetricName name(String name) {
        return new MetricName("kafka.server", "T", name, null, "kafka.server:type=T,name=" + name);
    }

    private <T> void gauge(String name, T value) {
        registry.newGauge(name(name), new Gauge<T>() {
            @Override
            public T value() {
                if (value instanceof RuntimeException e) {
                    throw e;
                }
                return value;
            }
        });
    }

    private static MetricBatch collect(BatchCollector collector, CollectRequest request) {
        return collector.collect(request, () -> false);
    }

    private static Map<String, Double> named(List<String> names, MetricBatch batch) {
        Map<String, Double> values = new HashMap<>();
        for (int i = 0; i < batch.getIdsCount(); i++) {
            values.put(names.get(batch.getIds(i)), batch.getValues(i));
        }
        return values;
    }

    private static Map<String, Double> named(MetricBatch batch) {
        return named(batch.getNamesList(), batch);
    }

    @Test
    void whoAsksForTheIdentityAloneGetsNothingElse() {
        gauge("G", 7);
        MetricBatch batch = collect(
                collector, CollectRequest.newBuilder().setIdentityOnly(true).setWithActivity(true).build());
        assertEquals(MetricBatch.newBuilder().setCollectedAtMs(batch.getCollectedAtMs()).build(), batch);
    }

    @Test
    void everyKindOfMetricHasItsJmxAttributes() {
        gauge("G", 7);
        registry.newCounter(name("C")).inc(3);
        registry.newMeter(name("M"), "bytes", TimeUnit.SECONDS).mark(5);
        registry.newHistogram(name("H"), false).update(11);
        registry.newTimer(name("T"), TimeUnit.MILLISECONDS, TimeUnit.SECONDS).update(20, TimeUnit.MILLISECONDS);
        Map<String, Double> values = named(collect(collector, CollectRequest.getDefaultInstance()));
        assertEquals(7.0, values.get("kafka.server:type=T,name=G:Value"));
        assertEquals(3.0, values.get("kafka.server:type=T,name=C:Count"));
        assertEquals(5.0, values.get("kafka.server:type=T,name=M:Count"));
        assertEquals(11.0, values.get("kafka.server:type=T,name=H:Max"));
        assertEquals(11.0, values.get("kafka.server:type=T,name=H:50thPercentile"));
        assertEquals(1.0, values.get("kafka.server:type=T,name=T:Count"));
        assertEquals(20.0, values.get("kafka.server:type=T,name=T:Min"), 1e-9);
        assertEquals(20.0, values.get("kafka.server:type=T,name=T:999thPercentile"), 1e-9);
        assertEquals(1 + 1 + 5 + 11 + 15, values.size());
    }

    @Test
    void aMetricThatThrowsOrIsNoNumberIsLeftOut() {
        gauge("Broken", new IllegalStateException("closed"));
        gauge("Text", "4.3.0");
        gauge("Good", 1.5);
        assertEquals(
                Map.of("kafka.server:type=T,name=Good:Value", 1.5),
                named(collect(collector, CollectRequest.getDefaultInstance())));
    }

    @Test
    void aSecondCallBringsNoNamesAndAThirdOnlyTheNewOnes() {
        gauge("A", 1);
        MetricBatch first = collect(collector, CollectRequest.getDefaultInstance());
        List<String> names = new ArrayList<>(first.getNamesList());
        MetricBatch second = collect(collector, knowing(first, names));
        assertEquals(0, second.getNamesCount());
        assertEquals(1, second.getFirstNameId());
        gauge("B", 2);
        MetricBatch third = collect(collector, knowing(second, names));
        assertEquals(List.of("kafka.server:type=T,name=B:Value"), third.getNamesList());
        names.addAll(third.getNamesList());
        assertEquals(2.0, named(names, third).get("kafka.server:type=T,name=B:Value"));
    }

    @Test
    void aMetricThatIsGoneIsReadNoMore() {
        gauge("Stays", 1);
        gauge("Goes", 2);
        MetricBatch first = collect(collector, CollectRequest.getDefaultInstance());
        registry.removeMetric(name("Goes"));
        assertEquals(
                Map.of("kafka.server:type=T,name=Stays:Value", 1.0),
                named(first.getNamesList(), collect(collector, CollectRequest.getDefaultInstance())));
    }

    @Test
    void aMetricThatIsReplacedIsReadAnew() {
        gauge("A", 1);
        collect(collector, CollectRequest.getDefaultInstance());
        registry.removeMetric(name("A"));
        registry.newCounter(name("A")).inc(5);
        assertEquals(
                Map.of("kafka.server:type=T,name=A:Count", 5.0),
                named(collect(collector, CollectRequest.getDefaultInstance())));
    }

    @Test
    void aHistogramThatIsUpdatedIsReadAnewAndOneThatStandsStillIsTheSame() {
        Histogram histogram = registry.newHistogram(name("H"), false);
        histogram.update(1);
        MetricBatch first = collect(collector, CollectRequest.getDefaultInstance());
        Map<String, Double> before = named(first);
        assertEquals(before, named(first.getNamesList(), collect(collector, CollectRequest.getDefaultInstance())));
        histogram.update(9);
        Map<String, Double> after =
                named(first.getNamesList(), collect(collector, CollectRequest.getDefaultInstance()));
        assertEquals(2.0, after.get("kafka.server:type=T,name=H:Count"));
        assertEquals(9.0, after.get("kafka.server:type=T,name=H:Max"));
        assertEquals(5.0, after.get("kafka.server:type=T,name=H:Mean"));
        assertEquals(9.0, after.get("kafka.server:type=T,name=H:999thPercentile"));
    }

    @Test
    void aPrefixMayChooseSomeOfAMetricsAttributes() {
        registry.newMeter(name("M"), "bytes", TimeUnit.SECONDS).mark(5);
        MetricBatch all = collect(collector, CollectRequest.getDefaultInstance());
        CollectRequest counts = knowing(all, all.getNamesList()).toBuilder()
                .addNamePrefixes("kafka.server:type=T,name=M:Count")
                .build();
        Map<String, Double> expected = Map.of("kafka.server:type=T,name=M:Count", 5.0);
        assertEquals(expected, named(all.getNamesList(), collect(collector, counts)));
        assertEquals(expected, named(all.getNamesList(), collect(collector, counts)));
        assertEquals(5, collect(collector, knowing(all, all.getNamesList())).getIdsCount());
    }

    @Test
    void aPrefixChoosesValuesAndLeavesIdsAsTheyAre() {
        gauge("A", 1);
        gauge("B", 2);
        MetricBatch all = collect(collector, CollectRequest.getDefaultInstance());
        CollectRequest onlyB = knowing(all, all.getNamesList()).toBuilder()
                .addNamePrefixes("kafka.server:type=T,name=B")
                .build();
        assertEquals(
                Map.of("kafka.server:type=T,name=B:Value", 2.0),
                named(all.getNamesList(), collect(collector, onlyB)));
    }

    @Test
    void aListIsAsOldAsTheRequestAllows() {
        CollectRequest old = CollectRequest.newBuilder()
                .addNamePrefixes("kafka.server:")
                .setMaxListingAgeMs(10_000)
                .build();
        CollectRequest exact =
                CollectRequest.newBuilder().addNamePrefixes("kafka.server:").build();
        gauge("A", 1);
        assertEquals(1, collect(collector, old).getIdsCount());
        gauge("B", 2);
        nanoTime.addAndGet(TimeUnit.SECONDS.toNanos(10) - 1);
        assertEquals(1, collect(collector, old).getIdsCount());
        nanoTime.incrementAndGet();
        assertEquals(2, collect(collector, old).getIdsCount());
        gauge("C", 3);
        assertEquals(2, collect(collector, old).getIdsCount());
        assertEquals(3, collect(collector, exact).getIdsCount());
        assertEquals(3, collect(collector, old).getIdsCount());
    }

    @Test
    void namesOfMetricsThatAreGoneDoNotPileUp() {
        BatchCollector bounded = collector(10);
        gauge("Stays", 1);
        long firstId = collect(bounded, CollectRequest.getDefaultInstance()).getDictionaryId();
        MetricBatch last = null;
        for (int i = 0; i < 20; i++) {
            gauge("Client" + i, i);
            last = collect(bounded, CollectRequest.getDefaultInstance());
            registry.removeMetric(name("Client" + i));
        }
        assertNotEquals(firstId, last.getDictionaryId());
        assertEquals(
                Map.of("kafka.server:type=T,name=Stays:Value", 1.0, "kafka.server:type=T,name=Client19:Value", 19.0),
                named(last));
        assertEquals(true, last.getNamesCount() <= 12, "names: " + last.getNamesCount());
    }

    @Test
    void aCallerThatOnlyEverAsksForAFewGetsTheNamesOnce() {
        BatchCollector bounded = collector(10);
        for (int i = 0; i < 20; i++) {
            gauge("G" + i, i);
        }
        CollectRequest few = CollectRequest.newBuilder()
                .addNamePrefixes("kafka.server:type=T,name=G7")
                .build();
        MetricBatch first = collect(bounded, few);
        MetricBatch second = collect(
                bounded, knowing(first, first.getNamesList()).toBuilder().mergeFrom(few).build());
        assertEquals(first.getDictionaryId(), second.getDictionaryId());
        assertEquals(0, second.getNamesCount());
    }

    @Test
    void aCollectionEndsWhenItsTimeIsUp() {
        gauge("A", 1);
        assertThrows(
                ValueSink.Expired.class, () -> collector.collect(CollectRequest.getDefaultInstance(), () -> true));
    }

    @Test
    void aMetricThatThrowsWhatNobodyDeclaresIsLeftOutAndNoOther() {
        gauge("A", 1);
        registry.newGauge(name("Fails"), new Gauge<Integer>() {
            @Override
            public Integer value() {
                throw BatchCollectorTest.<RuntimeException>undeclared(new IOException("the disk is gone"));
            }
        });
        gauge("Z", 2);
        assertEquals(
                Map.of("kafka.server:type=T,name=A:Value", 1.0, "kafka.server:type=T,name=Z:Value", 2.0),
                named(collect(collector, CollectRequest.getDefaultInstance())));
    }

    /** As Scala throws. */
    @SuppressWarnings("unchecked")
    private static <E extends Exception> E undeclared(Exception e) throws E {
        throw (E) e;
    }

    @Test
    void slicesOfActivityComeOnlyWhenTheyAreAskedFor() {
        assertEquals(List.of(), collect(collector, CollectRequest.getDefaultInstance()).getActivityList());
        CollectRequest request = CollectRequest.newBuilder().setWithActivity(true).build();
        assertEquals(List.of(SLICE), collect(collector, request).getActivityList());
    }

    private static CollectRequest knowing(MetricBatch batch, List<String> names) {
        return CollectRequest.newBuilder()
                .setDictionaryId(batch.getDictionaryId())
                .setKnownNames(names.size())
                .build();
    }
}

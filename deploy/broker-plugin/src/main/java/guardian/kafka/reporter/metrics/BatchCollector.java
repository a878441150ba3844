package guardian.kafka.reporter.metrics;

import guardian.v1.ActivitySlice;
import guardian.v1.CollectRequest;
import guardian.v1.HostFacts;
import guardian.v1.MetricBatch;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/**
 * Reads all metrics into one batch.
 *
 * <p>What there is to read is listed once, and again when a source has others, unless the request does with an older
 * list: where replicas come and go there is always a new metric, and a list is tens of thousands long.
 *
 * <p>Clients come and go, and with them metrics that bear their names. A dictionary that only grows would be a leak, so
 * it starts anew when most of its names belong to metrics that are gone.
 */
public final class BatchCollector {
    private static final int NAMES_ALWAYS_KEPT = 10_000;
    private static final int NAMES_PER_LIVE_NAME = 4;

    private final List<MetricSource> sources;
    private final Listing[] listings;
    private final Function<CollectRequest, HostFacts> host;
    private final Supplier<MetricBatch.Builder> identified;
    private final Function<CollectRequest, List<ActivitySlice>> activity;
    private final LongSupplier nanoTime;
    private final int namesAlwaysKept;
    private NameDictionary dictionary = new NameDictionary();
    private int liveNames;
    private Listed last;
    private long listedAtNs;

    /**
     * @param host the facts that a request asks for
     * @param activity the slices that it asks for
     */
    public BatchCollector(
            List<MetricSource> sources,
            Function<CollectRequest, HostFacts> host,
            Supplier<MetricBatch.Builder> identified,
            Function<CollectRequest, List<ActivitySlice>> activity) {
        this(sources, host, identified, activity, System::nanoTime, NAMES_ALWAYS_KEPT);
    }

    BatchCollector(
            List<MetricSource> sources,
            Function<CollectRequest, HostFacts> host,
            Supplier<MetricBatch.Builder> identified,
            Function<CollectRequest, List<ActivitySlice>> activity,
            LongSupplier nanoTime,
            int namesAlwaysKept) {
        this.sources = sources;
        this.listings = new Listing[sources.size()];
        this.host = host;
        this.identified = identified;
        this.activity = activity;
        this.nanoTime = nanoTime;
        this.namesAlwaysKept = namesAlwaysKept;
    }

    /** @throws ValueSink.Expired when {@code expired} turns true before all is read */
    public MetricBatch collect(CollectRequest request, BooleanSupplier expired) {
        MetricBatch.Builder batch = identified.get().setCollectedAtMs(System.currentTimeMillis());
        if (request.getIdentityOnly()) {
            return batch.build();
        }
        Listed listed = listed(TimeUnit.MILLISECONDS.toNanos(Integer.toUnsignedLong(request.getMaxListingAgeMs())));
        ValueSink sink = new ValueSink(batch, expired);
        listed.bySource().forEach(listing -> sink.take(listing.matching(request.getNamePrefixesList())));
        NameDictionary.Missing missing =
                listed.names().missing(request.getDictionaryId(), request.getKnownNames());
        return batch.setDictionaryId(listed.names().id())
                .setFirstNameId(missing.first())
                .addAllNames(missing.names())
                .setHost(host.apply(request))
                .addAllActivity(activity.apply(request))
                .build();
    }

    private record Listed(NameDictionary names, List<Listing> bySource) {}

    private synchronized Listed listed(long maxAgeNs) {
        long nowNs = nanoTime.getAsLong();
        if (last != null && nowNs - listedAtNs < maxAgeNs) {
            return last;
        }
        listedAtNs = nowNs;
        if (dictionary.size() > Math.max(namesAlwaysKept, NAMES_PER_LIVE_NAME * liveNames)) {
            dictionary = new NameDictionary();
        }
        int live = 0;
        for (int i = 0; i < listings.length; i++) {
            MetricSource source = sources.get(i);
            if (listings[i] == null || !listings[i].isCurrent(source, dictionary)) {
                listings[i] = Listing.of(source, dictionary);
            }
            live += listings[i].names();
        }
        liveNames = live;
        last = new Listed(dictionary, List.of(listings));
        return last;
    }
}

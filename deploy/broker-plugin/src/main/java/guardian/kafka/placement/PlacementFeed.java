package guardian.kafka.placement;

import guardian.kafka.common.DaemonThreads;
import guardian.kafka.common.HostAndPort;
import guardian.kafka.common.MemberChannels;
import guardian.kafka.common.Tls;
import guardian.v1.GetPlacementRequest;
import guardian.v1.PlacementGrpc;
import guardian.v1.PlacementRules;
import io.grpc.ManagedChannel;
import io.grpc.StatusRuntimeException;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.random.RandomGenerator;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The rules of this cluster as Guardian said last, fetched again and again by one thread of its own.
 *
 * <p>One member is asked until it fails, then the next one. What has not changed is not sent again. Nobody waits here, and
 * a controller ends whatever Guardian does.
 */
public final class PlacementFeed implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(PlacementFeed.class);
    private static final int CALL_S = 5;
    private static final int MAX_BYTES = 64 << 20;
    private static final Duration MOST_PAUSE = Duration.ofSeconds(10);

    private final PlacementSettings settings;
    private final LongSupplier nanoClock;
    private final Thread thread;
    private volatile Known known;
    private Optional<Tls> tls = Optional.empty();
    private ManagedChannel channel;
    private int turn;
    private int failures;

    private record Known(PlacementRules rules, long confirmedAtNanos) {}

    public PlacementFeed(PlacementSettings settings) {
        this(settings, System::nanoTime);
    }

    PlacementFeed(PlacementSettings settings, LongSupplier nanoClock) {
        this.settings = settings;
        this.nanoClock = nanoClock;
        this.turn = RandomGenerator.getDefault().nextInt(settings.members().size());
        this.thread = new DaemonThreads("guardian-placement").newThread(this::run);
    }

    /** @throws IllegalArgumentException when the certificates can't be used */
    public void start() {
        tls = settings.tls().map(Tls::new);
        thread.start();
    }

    /** Empty before the first answer, and when the last one is older than the settings allow. */
    public Optional<PlacementRules> rules() {
        Known now = known;
        if (now == null || nanoClock.getAsLong() - now.confirmedAtNanos > settings.maxAge().toNanos()) {
            return Optional.empty();
        }
        return Optional.of(now.rules);
    }

    @Override
    public void close() {
        thread.interrupt();
    }

    private void run() {
        try {
            while (!Thread.currentThread().isInterrupted()) {
                ask();
                TimeUnit.NANOSECONDS.sleep(pause().toNanos());
            }
        } catch (InterruptedException e) {
            LOG.debug("Guardian's placement rules are fetched no longer");
        } finally {
            hangUp();
        }
    }

    private void ask() {
        HostAndPort member = settings.members().get(Math.floorMod(turn, settings.members().size()));
        try {
            if (channel == null) {
                channel = connect(member);
            }
            Known before = known;
            PlacementRules answer = PlacementGrpc.newBlockingStub(channel)
                    .withDeadlineAfter(CALL_S, TimeUnit.SECONDS)
                    .getPlacement(GetPlacementRequest.newBuilder()
                            .setClusterId(settings.clusterId())
                            .setKnownVersion(before == null ? "" : before.rules.getVersion())
                            .build());
            boolean isSame = answer.getIsUnchanged() && before != null;
            if (before == null || failures > 0) {
                LOG.info("Guardian's member {} tells the placement rules of cluster {}", member, answer.getCluster());
            }
            known = new Known(isSame ? before.rules : answer, nanoClock.getAsLong());
            failures = 0;
        } catch (StatusRuntimeException e) {
            failed(member, e.getStatus().toString());
        } catch (RuntimeException | LinkageError | OutOfMemoryError e) {
            failed(member, e.toString());
        }
    }

    /** The first failure of a row is worth a line, the others are more of the same. */
    private void failed(HostAndPort member, String reason) {
        failures++;
        turn++;
        hangUp();
        if (failures == 1) {
            LOG.warn("Guardian's member {} does not tell the placement rules, another one is asked: {}", member, reason);
        } else {
            LOG.debug("Guardian's member {} does not tell the placement rules: {}", member, reason);
        }
    }

    private ManagedChannel connect(HostAndPort member) {
        tls.ifPresent(Tls::reload);
        return MemberChannels.builder(member, tls).maxInboundMessageSize(MAX_BYTES).build();
    }

    private void hangUp() {
        if (channel != null) {
            channel.shutdownNow();
            channel = null;
        }
    }

    /** Once around the members as quickly as ever, then ever more slowly. */
    private Duration pause() {
        Duration pause = settings.poll();
        for (int i = settings.members().size(); i < failures && pause.compareTo(MOST_PAUSE) < 0; i++) {
            pause = pause.multipliedBy(2);
        }
        if (failures > 0 && pause.compareTo(MOST_PAUSE) > 0 && settings.poll().compareTo(MOST_PAUSE) < 0) {
            pause = MOST_PAUSE;
        }
        long nanos = pause.toNanos();
        return Duration.ofNanos(nanos * 3 / 4 + RandomGenerator.getDefault().nextLong(nanos / 2 + 1));
    }
}

package guardian.kafka.reporter;

import guardian.kafka.common.BackOff;
import guardian.kafka.common.DaemonThreads;
import guardian.kafka.common.HostAndPort;
import guardian.kafka.common.MemberChannels;
import guardian.kafka.common.Tls;
import guardian.v1.FederationGrpc;
import guardian.v1.RegisterReporterReply;
import guardian.v1.RegisterReporterRequest;
import io.grpc.ManagedChannel;
import io.grpc.StatusRuntimeException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Tells Guardian where this broker's reporter listens: at the start and every few minutes, from one thread of its own.
 *
 * <p>The members are asked in turn. While none takes it (not reachable, or the cluster is not registered yet), the
 * pauses double; all are spread, so that a thousand brokers that start together do not call together.
 */
final class Registration implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Registration.class);
    private static final int CALL_S = 10;
    private static final int CLOSE_S = 5;

    /**
     * @param again after a success
     * @param retry after the first failure; each further one waits twice as long, up to {@code retryMost}
     */
    record Pauses(Duration again, Duration retry, Duration retryMost) {
        static final Pauses DEFAULT =
                new Pauses(Duration.ofMinutes(5), Duration.ofSeconds(1), Duration.ofMinutes(1));
    }

    private final List<HostAndPort> members;
    private final Optional<Tls> tls;
    private final Supplier<RegisterReporterRequest> request;
    private final Pauses pauses;
    private final BackOff backOff;
    private final Thread thread;
    private boolean isKnown;
    private int failures;
    private int turn;

    /** @param request made anew for each attempt, on this thread: it may look up the host's name */
    Registration(
            List<HostAndPort> members, Optional<Tls> tls, Supplier<RegisterReporterRequest> request, Pauses pauses) {
        this.members = List.copyOf(members);
        this.tls = tls;
        this.request = request;
        this.pauses = pauses;
        this.backOff = new BackOff(pauses.retry(), pauses.retryMost(), RandomGenerator.getDefault());
        this.turn = RandomGenerator.getDefault().nextInt(members.size());
        this.thread = new DaemonThreads("guardian-reporter-registration").newThread(this::run);
    }

    void start() {
        thread.start();
    }

    @Override
    public void close() {
        thread.interrupt();
    }

    private void run() {
        try {
            while (!Thread.currentThread().isInterrupted()) {
                Duration pause = isRegistered() ? backOff.spread(pauses.again()) : backOff.next();
                TimeUnit.NANOSECONDS.sleep(pause.toNanos());
            }
        } catch (InterruptedException e) {
            LOG.debug("The registration with Guardian ends");
        }
    }

    private boolean isRegistered() throws InterruptedException {
        HostAndPort member = members.get(Math.floorMod(turn++, members.size()));
        try {
            RegisterReporterRequest wanted = request.get();
            RegisterReporterReply reply = register(member, wanted);
            if (!isKnown) {
                LOG.info("Guardian's member {} knows this broker as one of cluster {} and collects from {}",
                        member, reply.getCluster(), reply.getReporter());
            }
            isKnown = true;
            failures = 0;
            backOff.reset();
            return true;
        } catch (StatusRuntimeException e) {
            failed(member, e.getStatus().toString());
        } catch (RuntimeException | LinkageError | OutOfMemoryError e) {
            failed(member, e.toString());
        }
        return false;
    }

    /** The first failure of a row is worth a line, the others are more of the same. */
    private void failed(HostAndPort member, String reason) {
        isKnown = false;
        failures++;
        if (failures == 1) {
            LOG.warn("Guardian's member {} did not register this broker's reporter, it is tried again: {}",
                    member, reason);
        } else {
            LOG.debug("Guardian's member {} did not register this broker's reporter: {}", member, reason);
        }
    }

    /** A channel for each call: there is one in minutes. */
    private RegisterReporterReply register(HostAndPort member, RegisterReporterRequest wanted)
            throws InterruptedException {
        ManagedChannel channel = MemberChannels.builder(member, tls).build();
        try {
            return FederationGrpc.newBlockingStub(channel)
                    .withDeadlineAfter(CALL_S, TimeUnit.SECONDS)
                    .registerReporter(wanted);
        } finally {
            channel.shutdownNow().awaitTermination(CLOSE_S, TimeUnit.SECONDS);
        }
    }
}

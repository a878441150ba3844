package guardian.kafka.metadata.store;

import guardian.kafka.common.BackOff;
import guardian.kafka.common.MemberSettings;
import guardian.kafka.common.TlsFiles;
import guardian.v1.FenceMode;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.random.RandomGenerator;

/**
 * Where Guardian is, who writes, and how much may be under way.
 *
 * @param endpoints of Guardian's members, host:port; one is enough to find the others
 * @param clusterId Kafka's cluster.id
 * @param writer tells this instance of the broker apart from earlier ones, for people
 * @param tls for all calls; without it they are in plain text
 */
public record StoreSettings(
        List<String> endpoints,
        String clusterId,
        int brokerId,
        String writer,
        FenceMode fence,
        Limits limits,
        Optional<TlsFiles> tls) {
    private static final int MAX_PORT = 65535;

    public StoreSettings {
        endpoints = List.copyOf(endpoints);
        if (endpoints.isEmpty()) {
            throw new IllegalArgumentException(MemberSettings.ENDPOINTS + " is empty: give host:port of Guardian's members");
        }
        endpoints.forEach(StoreSettings::requireHostAndPort);
        if (clusterId.isEmpty()) {
            throw new IllegalArgumentException("cluster.id is empty: the broker has to give it");
        }
    }

    /** With the default limits. */
    public static StoreSettings of(List<String> endpoints, String clusterId, int brokerId, String writer, FenceMode fence) {
        return new StoreSettings(endpoints, clusterId, brokerId, writer, fence, Limits.DEFAULT, Optional.empty());
    }

    public StoreSettings withLimits(Limits changed) {
        return new StoreSettings(endpoints, clusterId, brokerId, writer, fence, changed, tls);
    }

    public StoreSettings withTls(Optional<TlsFiles> changed) {
        return new StoreSettings(endpoints, clusterId, brokerId, writer, fence, limits, changed);
    }

    private static void requireHostAndPort(String endpoint) {
        int colon = endpoint.lastIndexOf(':');
        if (colon < 1 || !isPort(endpoint.substring(colon + 1))) {
            throw new IllegalArgumentException(MemberSettings.ENDPOINTS + " has '" + endpoint + "': use host:port");
        }
    }

    private static boolean isPort(String text) {
        return text.matches("[1-9]\\d{0,4}") && Integer.parseInt(text) <= MAX_PORT;
    }

    /**
     * What the store may hold and how long it tries.
     *
     * @param writeLimit within which an append or a claim is answered, or fails
     * @param silenceLimit how long a member may owe an answer before another one is asked
     * @param pendingEvents events that wait for an answer; one more fails at once
     * @param requestEvents events in one request
     * @param requestBytes bytes of events in one request; a larger event goes alone
     * @param requestsInFlight requests that are sent and not answered
     * @param sessionWindow numbers of a session that may be in use at once: above requestsInFlight
     * @param loadsInFlight partitions that are loaded at once
     * @param retryMin before the first repetition; each further one waits twice as long, up to retryMax
     */
    public record Limits(
            Duration writeLimit,
            Duration silenceLimit,
            int pendingEvents,
            int requestEvents,
            int requestBytes,
            int requestsInFlight,
            int sessionWindow,
            int loadsInFlight,
            Duration retryMin,
            Duration retryMax) {
        public static final Limits DEFAULT = new Limits(
                Duration.ofSeconds(30), Duration.ofMillis(7_500), 100_000, 1_000, 512 << 10, 8, 64, 32,
                Duration.ofMillis(50), Duration.ofSeconds(2));

        public Limits {
            requirePositive("writeLimit", writeLimit.toMillis());
            requirePositive("silenceLimit", silenceLimit.toMillis());
            requirePositive("pendingEvents", pendingEvents);
            requirePositive("requestEvents", requestEvents);
            requirePositive("requestBytes", requestBytes);
            requirePositive("requestsInFlight", requestsInFlight);
            requirePositive("loadsInFlight", loadsInFlight);
            requirePositive("retryMin", retryMin.toMillis());
            if (retryMax.compareTo(retryMin) < 0) {
                throw new IllegalArgumentException("retryMax is " + retryMax + ": use retryMin, " + retryMin + ", or more");
            }
            if (sessionWindow <= requestsInFlight) {
                throw new IllegalArgumentException(
                        "sessionWindow is " + sessionWindow + ": use more than requestsInFlight, " + requestsInFlight);
            }
        }

        /** Members may be silent for a quarter of it. */
        public Limits withWriteLimit(Duration changed) {
            return new Limits(changed, changed.dividedBy(4), pendingEvents, requestEvents, requestBytes,
                    requestsInFlight, sessionWindow, loadsInFlight, retryMin, retryMax);
        }

        Limits withSilenceLimit(Duration changed) {
            return new Limits(writeLimit, changed, pendingEvents, requestEvents, requestBytes,
                    requestsInFlight, sessionWindow, loadsInFlight, retryMin, retryMax);
        }

        public Limits withPendingEvents(int changed) {
            return new Limits(writeLimit, silenceLimit, changed, requestEvents, requestBytes,
                    requestsInFlight, sessionWindow, loadsInFlight, retryMin, retryMax);
        }

        public Limits withRetries(Duration least, Duration most) {
            return new Limits(writeLimit, silenceLimit, pendingEvents, requestEvents, requestBytes,
                    requestsInFlight, sessionWindow, loadsInFlight, least, most);
        }

        BackOff newBackOff() {
            return new BackOff(retryMin, retryMax, RandomGenerator.getDefault());
        }

        private static void requirePositive(String name, long value) {
            if (value <= 0) {
                throw new IllegalArgumentException(name + " is " + value + ": use 1 or more");
            }
        }
    }
}

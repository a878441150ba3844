package guardian.kafka.common;

import io.grpc.InsecureChannelCredentials;
import io.grpc.okhttp.OkHttpChannelBuilder;
import java.time.Duration;
import java.util.Optional;

/** Channels to Guardian's members. */
public final class MemberChannels {
    // A packet that is lost once is sent again after a second.
    private static final Duration CONNECT = Duration.ofMillis(1500);

    private MemberChannels() {}

    /**
     * Begin a channel to a member, without retries of its own: who calls has other members to ask.
     *
     * @param tls by whose files each connection is made; without it in plain text
     */
    public static OkHttpChannelBuilder builder(HostAndPort member, Optional<Tls> tls) {
        return tuned(OkHttpChannelBuilder.forAddress(
                member.host(),
                member.port(),
                tls.map(Tls::forChannel).orElseGet(InsecureChannelCredentials::create)));
    }

    static OkHttpChannelBuilder tuned(OkHttpChannelBuilder builder) {
        return builder.proxyDetector(target -> null) // Members are near: a proxy for the web knows nothing of them.
                .socketFactory(new BoundedSockets(CONNECT))
                .disableRetry();
    }
}

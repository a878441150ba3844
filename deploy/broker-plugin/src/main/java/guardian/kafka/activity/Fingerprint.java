package guardian.kafka.activity;

import java.net.Inet4Address;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.util.UUID;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.server.authorizer.Action;
import org.apache.kafka.server.authorizer.AuthorizableRequestContext;

/**
 * 128 bits that stand for an access: who, with what client, from where, does what with which resource.
 *
 * <p>Counting by them touches one line of memory; to compare the texts themselves would touch ten, each of which a busy
 * broker has long thrown out of its caches. That two of a million accesses have the same one has a chance below one in
 * 10^26, and nobody outside can bring it about: the key is made anew in each broker's life.
 */
record Fingerprint(long high, long low) {
    private static final long HIGH_KEY = UUID.randomUUID().getLeastSignificantBits();
    private static final long LOW_KEY = UUID.randomUUID().getLeastSignificantBits();
    // Odd, with as many ones as zeros, and not alike.
    private static final long HIGH_FACTOR = 0x9e3779b97f4a7c15L;
    private static final long LOW_FACTOR = 0xd6e8feb86659fd93L;

    static Fingerprint of(AuthorizableRequestContext request, boolean withAddress) {
        KafkaPrincipal principal = request.principal();
        Fingerprint who = new Fingerprint(HIGH_KEY, LOW_KEY)
                .with(principal.getPrincipalType())
                .with(principal.getName())
                .with(Access.clientId(request));
        return withAddress ? who.with(request.clientAddress()) : who;
    }

    Fingerprint with(Action action) {
        ResourcePattern pattern = action.resourcePattern();
        int kind = pattern.resourceType().ordinal() << Short.SIZE | action.operation().ordinal();
        return with(kind).with(pattern.name());
    }

    private Fingerprint with(InetAddress address) {
        if (address instanceof Inet4Address) {
            // An IPv4 address is its own hash code.
            return with(address.hashCode());
        } else if (address == null) {
            return this;
        }
        ByteBuffer bytes = ByteBuffer.wrap(address.getAddress());
        return with(bytes.getLong()).with(bytes.getLong());
    }

    private Fingerprint with(String text) {
        int length = text.length();
        long newHigh = high;
        long newLow = low;
        int at = 0;
        for (; at + 4 <= length; at += 4) {
            long four = text.charAt(at)
                    | (long) text.charAt(at + 1) << 16
                    | (long) text.charAt(at + 2) << 32
                    | (long) text.charAt(at + 3) << 48;
            newHigh = mix(newHigh ^ four, HIGH_FACTOR);
            newLow = mix(newLow ^ four, LOW_FACTOR);
        }
        // With its length, so that no two texts can be taken for two others.
        long rest = length;
        for (; at < length; at++) {
            rest = rest << 16 | text.charAt(at);
        }
        return new Fingerprint(newHigh, newLow).with(rest);
    }

    private Fingerprint with(long word) {
        return new Fingerprint(mix(high ^ word, HIGH_FACTOR), mix(low ^ word, LOW_FACTOR));
    }

    private static long mix(long word, long factor) {
        return word * factor ^ Math.multiplyHigh(word, factor);
    }
}

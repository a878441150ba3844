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
    // Stands for the type that nearly all principals have.
    private static final long USER = 1;

    static Fingerprint of(AuthorizableRequestContext request, boolean withAddress) {
        KafkaPrincipal principal = request.principal();
        String type = principal.getPrincipalType();
        Fingerprint start = new Fingerprint(~HIGH_KEY, ~LOW_KEY);
        Fingerprint who = (type.equals(KafkaPrincipal.USER_TYPE) ? start.with(USER) : start.with(type))
                .with(principal.getName())
                .with(Access.clientId(request));
        return withAddress ? who.with(request.clientAddress()) : who;
    }

    Fingerprint with(Action action) {
        ResourcePattern pattern = action.resourcePattern();
        int kind = pattern.resourceType().ordinal() << Short.SIZE | action.operation().ordinal();
        Fingerprint all = with(kind).with(pattern.name());
        return new Fingerprint(avalanche(all.high), avalanche(all.low));
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

    /** Eight letters a step; the last step takes what is left and the length, so that no text runs into the next. */
    private Fingerprint with(String text) {
        int length = text.length();
        long newHigh = high;
        long newLow = low;
        int at = 0;
        for (; at + 8 <= length; at += 8) {
            long four = four(text, at);
            long next = four(text, at + 4);
            newHigh = mix(newHigh ^ four, HIGH_KEY ^ next);
            newLow = mix(newLow ^ four, LOW_KEY ^ next);
        }
        long four = 0;
        long next = length;
        if (at + 4 <= length) {
            four = four(text, at);
            at += 4;
        }
        for (; at < length; at++) {
            next = next << Character.SIZE | text.charAt(at);
        }
        return new Fingerprint(mix(newHigh ^ four, HIGH_KEY ^ next), mix(newLow ^ four, LOW_KEY ^ next));
    }

    private Fingerprint with(long word) {
        return new Fingerprint(mix(high ^ word, HIGH_KEY), mix(low ^ word, LOW_KEY));
    }

    private static long four(String text, int at) {
        return text.charAt(at)
                | (long) text.charAt(at + 1) << Character.SIZE
                | (long) text.charAt(at + 2) << 2 * Character.SIZE
                | (long) text.charAt(at + 3) << 3 * Character.SIZE;
    }

    /** Both halves of the product: each bit of it depends on all of both factors. */
    private static long mix(long one, long other) {
        return one * other ^ Math.multiplyHigh(one, other);
    }

    /**
     * The last step of MurmurHash3's 64 bits. After {@link #mix} alone, with two keys of a hundred, names that differ in
     * their last letters share the top or the bottom bits, by which tables and stripes are chosen.
     */
    private static long avalanche(long word) {
        long once = (word ^ word >>> 33) * 0xff51afd7ed558ccdL;
        long twice = (once ^ once >>> 33) * 0xc4ceb9fe1a85ec53L;
        return twice ^ twice >>> 33;
    }
}

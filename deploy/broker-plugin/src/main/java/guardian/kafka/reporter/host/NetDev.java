package guardian.kafka.reporter.host;

import guardian.v1.NicFacts;
import java.util.ArrayList;
import java.util.List;
import java.util.function.ToLongFunction;

/** /proc/net/dev: {@code name: bytes packets errs drop fifo frame compressed multicast}, and again for what is sent. */
final class NetDev {
    private static final int FIELDS = 16;
    private static final int MOST_DIGITS = 20;
    private static final int SENT = 8;
    private static final String LOOPBACK = "lo";

    private NetDev() {}

    /**
     * Lines that are not as expected are left out.
     *
     * @param bitsPerSecond by the NIC's name, 0 when unknown
     */
    static List<NicFacts> parse(List<String> lines, ToLongFunction<String> bitsPerSecond) {
        List<NicFacts> nics = new ArrayList<>();
        for (String line : lines) {
            int colon = line.lastIndexOf(':');
            String name = line.substring(0, Math.max(0, colon)).strip();
            List<String> counters = Fields.of(line.substring(colon + 1));
            if (isName(name) && isWhole(counters)) {
                nics.add(facts(name, counters, bitsPerSecond.applyAsLong(name)));
            }
        }
        return nics;
    }

    private static boolean isName(String name) {
        return !name.isEmpty() && !name.equals(LOOPBACK) && name.indexOf(' ') < 0;
    }

    private static boolean isWhole(List<String> counters) {
        return counters.size() >= FIELDS && counters.stream().allMatch(NetDev::isNumber);
    }

    private static boolean isNumber(String text) {
        return text.length() <= MOST_DIGITS && text.chars().allMatch(each -> each >= '0' && each <= '9');
    }

    private static NicFacts facts(String name, List<String> counters, long bitsPerSecond) {
        return NicFacts.newBuilder()
                .setName(name)
                .setBytesReceived(number(counters.get(0)))
                .setPacketsReceived(number(counters.get(1)))
                .setReceiveErrors(number(counters.get(2)) + number(counters.get(3)))
                .setBytesSent(number(counters.get(SENT)))
                .setPacketsSent(number(counters.get(SENT + 1)))
                .setSendErrors(number(counters.get(SENT + 2)) + number(counters.get(SENT + 3)))
                .setBitsPerS(bitsPerSecond)
                .build();
    }

    /** Counters of the kernel have 64 bits, as the protocol's have. */
    private static long number(String counter) {
        try {
            return Long.parseUnsignedLong(counter);
        } catch (NumberFormatException e) {
            return 0;
        }
    }
}

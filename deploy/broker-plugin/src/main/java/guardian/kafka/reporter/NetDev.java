package guardian.kafka.reporter;

import guardian.v1.NicFacts;
import java.util.ArrayList;
import java.util.List;
import java.util.function.ToLongFunction;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** /proc/net/dev: {@code name: bytes packets errs drop fifo frame compressed multicast}, and again for what is sent. */
final class NetDev {
    private static final Pattern LINE = Pattern.compile("(\\S+):\\s*(\\d{1,20}(?:\\s+\\d{1,20}){15,})");
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
            Matcher fields = LINE.matcher(line.strip());
            if (fields.matches() && !fields.group(1).equals(LOOPBACK)) {
                String name = fields.group(1);
                nics.add(facts(name, fields.group(2).split("\\s+"), bitsPerSecond.applyAsLong(name)));
            }
        }
        return nics;
    }

    private static NicFacts facts(String name, String[] counters, long bitsPerSecond) {
        return NicFacts.newBuilder()
                .setName(name)
                .setBytesReceived(number(counters[0]))
                .setPacketsReceived(number(counters[1]))
                .setReceiveErrors(number(counters[2]) + number(counters[3]))
                .setBytesSent(number(counters[SENT]))
                .setPacketsSent(number(counters[SENT + 1]))
                .setSendErrors(number(counters[SENT + 2]) + number(counters[SENT + 3]))
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

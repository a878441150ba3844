package guardian.kafka.reporter.host;

import guardian.v1.CpuFacts;
import java.util.List;
import java.util.regex.Pattern;

/** /proc/stat: {@code cpu user nice system idle iowait irq softirq steal ...} in ticks, then a line for each core. */
final class CpuStat {
    /** USER_HZ, the unit of this file, is 100 on every platform that a JVM of today runs on. */
    private static final long TICK_MS = 10;

    private static final int FIELDS = 9;
    private static final String CPU = "cpu";
    private static final Pattern CORE = Pattern.compile("cpu\\d+");
    private static final Pattern NUMBER = Pattern.compile("\\d{1,18}");

    private CpuStat() {}

    static CpuFacts parse(List<String> lines) {
        CpuFacts.Builder facts = CpuFacts.newBuilder();
        for (String line : lines) {
            if (!line.startsWith(CPU)) {
                continue;
            }
            List<String> fields = Fields.of(line);
            if (fields.get(0).equals(CPU) && isWhole(fields)) {
                facts.setUserMs(ms(fields.get(1)) + ms(fields.get(2)))
                        .setSystemMs(ms(fields.get(3)) + ms(fields.get(6)) + ms(fields.get(7)))
                        .setIdleMs(ms(fields.get(4)))
                        .setIoWaitMs(ms(fields.get(5)))
                        .setStealMs(ms(fields.get(8)));
            } else if (CORE.matcher(fields.get(0)).matches()) {
                facts.setCores(facts.getCores() + 1);
            }
        }
        return facts.build();
    }

    private static boolean isWhole(List<String> fields) {
        if (fields.size() < FIELDS) {
            return false;
        }
        for (int i = 1; i < FIELDS; i++) {
            if (!NUMBER.matcher(fields.get(i)).matches()) {
                return false;
            }
        }
        return true;
    }

    private static long ms(String ticks) {
        return Long.parseLong(ticks) * TICK_MS;
    }
}

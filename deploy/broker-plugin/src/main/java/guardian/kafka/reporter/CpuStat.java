package guardian.kafka.reporter;

import guardian.v1.CpuFacts;
import java.util.List;
import java.util.regex.Pattern;

/** /proc/stat: {@code cpu user nice system idle iowait irq softirq steal ...} in ticks, then a line for each core. */
final class CpuStat {
    /** USER_HZ, the unit of this file, is 100 on every platform that a JVM of today runs on. */
    private static final long TICK_MS = 10;

    private static final int FIELDS = 9;
    private static final Pattern NUMBER = Pattern.compile("\\d{1,18}");

    private CpuStat() {}

    static CpuFacts parse(List<String> lines) {
        CpuFacts.Builder facts = CpuFacts.newBuilder();
        for (String line : lines) {
            String[] fields = line.split("\\s+");
            if (fields[0].equals("cpu") && isWhole(fields)) {
                facts.setUserMs(ms(fields[1]) + ms(fields[2]))
                        .setSystemMs(ms(fields[3]) + ms(fields[6]) + ms(fields[7]))
                        .setIdleMs(ms(fields[4]))
                        .setIoWaitMs(ms(fields[5]))
                        .setStealMs(ms(fields[8]));
            } else if (fields[0].matches("cpu\\d+")) {
                facts.setCores(facts.getCores() + 1);
            }
        }
        return facts.build();
    }

    private static boolean isWhole(String[] fields) {
        if (fields.length < FIELDS) {
            return false;
        }
        for (int i = 1; i < FIELDS; i++) {
            if (!NUMBER.matcher(fields[i]).matches()) {
                return false;
            }
        }
        return true;
    }

    private static long ms(String ticks) {
        return Long.parseLong(ticks) * TICK_MS;
    }
}

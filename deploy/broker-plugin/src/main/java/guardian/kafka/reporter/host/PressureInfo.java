package guardian.kafka.reporter.host;

import guardian.v1.PressureFacts;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.LongConsumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** /proc/pressure/{cpu,io,memory}: lines of {@code some avg10=0.00 avg60=0.00 avg300=0.00 total=n}. */
final class PressureInfo {
    private static final Pattern TOTAL = Pattern.compile(" total=(\\d{1,18})\\s*$");

    private PressureInfo() {}

    /**
     * Nothing where the kernel does not tell.
     *
     * @param lines of the file with that name below /proc
     */
    static Optional<PressureFacts> read(Function<String, List<String>> lines) {
        List<String> cpu = lines.apply("pressure/cpu");
        List<String> io = lines.apply("pressure/io");
        List<String> memory = lines.apply("pressure/memory");
        if (cpu.isEmpty() && io.isEmpty() && memory.isEmpty()) {
            return Optional.empty();
        }
        PressureFacts.Builder facts = PressureFacts.newBuilder();
        parse(cpu, facts::setCpuSomeUs, ignored -> {});
        parse(io, facts::setIoSomeUs, facts::setIoFullUs);
        parse(memory, facts::setMemorySomeUs, facts::setMemoryFullUs);
        return Optional.of(facts.build());
    }

    private static void parse(List<String> lines, LongConsumer some, LongConsumer full) {
        for (String line : lines) {
            Matcher total = TOTAL.matcher(line);
            if (total.find()) {
                long micros = Long.parseLong(total.group(1));
                if (line.startsWith("some ")) {
                    some.accept(micros);
                } else if (line.startsWith("full ")) {
                    full.accept(micros);
                }
            }
        }
    }
}

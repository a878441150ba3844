package guardian.kafka.reporter.scrape;

import guardian.v1.MetricBatch;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.List;

/**
 * One scrape as text, written as it is made: never whole in memory.
 *
 * @param families of the metrics
 * @param values by their ids, NaN where there is none
 * @param batch for the rest: who the broker is, and its host
 */
record Exposition(List<SeriesTable.Family> families, double[] values, MetricBatch batch, NameFilter shown) {
    private static final double LARGEST_WHOLE = 1L << 53;

    /** @param wanted what this caller asks for, of what is shown at all */
    void write(TextFormat format, NameFilter wanted, OutputStream out) throws IOException {
        Writer writer = new Writer(format, wanted, out);
        try {
            HostFamilies.write(batch, (series, help, value) -> {
                if (shown.shows(series.family() + series.suffix())) {
                    writer.sample(series.family(), series.kind(), help, series.head(), value);
                }
            });
            families.forEach(family -> write(family, writer));
        } catch (UncheckedIOException e) {
            throw e.getCause();
        }
        if (format == TextFormat.OPEN_METRICS) {
            writer.text("# EOF\n");
        }
    }

    private void write(SeriesTable.Family family, Writer writer) {
        for (SeriesTable.Line line : family.lines()) {
            double value = line.value(values);
            if (!Double.isNaN(value)) {
                writer.sample(family.name(), family.kind(), family.help(), line.head(), value);
            }
        }
    }

    private static final class Writer {
        private final TextFormat format;
        private final NameFilter wanted;
        private final OutputStream out;
        private String family = "";

        Writer(TextFormat format, NameFilter wanted, OutputStream out) {
            this.format = format;
            this.wanted = wanted;
            this.out = out;
        }

        void sample(String name, Series.Kind kind, String help, String head, double value) {
            if (!wanted.shows(head)) {
                return;
            }
            try {
                if (!name.equals(family)) {
                    family = name;
                    describe(name, kind, help);
                }
                text(head);
                text(" ");
                text(number(value));
                text("\n");
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        /** In Prometheus' own text a counter is described under the name of its sample. */
        private void describe(String name, Series.Kind kind, String help) throws IOException {
            boolean isTotal = kind == Series.Kind.COUNTER && format == TextFormat.PROMETHEUS;
            String described = isTotal ? name + "_total" : name;
            text("# TYPE " + described + " " + kind.in(format) + "\n");
            text("# HELP " + described + " " + help.replace("\\", "\\\\").replace("\n", "\\n") + "\n");
        }

        private void text(String text) throws IOException {
            out.write(text.getBytes(StandardCharsets.UTF_8));
        }
    }

    static String number(double value) {
        if (Double.isInfinite(value)) {
            return value > 0 ? "+Inf" : "-Inf";
        }
        boolean isWhole = value == Math.rint(value) && Math.abs(value) < LARGEST_WHOLE;
        return isWhole ? Long.toString((long) value) : Double.toString(value);
    }
}

package guardian.kafka.reporter.host;

import java.util.ArrayList;
import java.util.List;
import java.util.StringTokenizer;

/** A line of /proc in its parts, between any number of blanks. Without a pattern, which would have to be matched for each. */
final class Fields {
    private Fields() {}

    static List<String> of(String line) {
        StringTokenizer tokens = new StringTokenizer(line);
        List<String> fields = new ArrayList<>(tokens.countTokens());
        while (tokens.hasMoreTokens()) {
            fields.add(tokens.nextToken());
        }
        return fields;
    }
}

package guardian.kafka.hdfs;

import java.util.Locale;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Where a segment lies: {@code <topic>-<topic id>/<partition>/<start offset>-<segment id>} with two endings.
 *
 * <p>{@code .log} is the segment, byte for byte; it is there if and only if the copy is complete. {@code .indexes} is
 * everything else in one file, since a NameNode holds every file in memory. While they are written both end in
 * {@code .tmp} besides.
 */
record SegmentPath(String topic, String topicId, int partition, long startOffset, String segmentId) {
    static final String PARTIAL = ".tmp";

    private static final String LOG = ".log";
    private static final String INDEXES = ".indexes";
    // HDFS allows 255 bytes a name; the id alone says which topic it is.
    private static final int MOST_TOPIC_CHARS = 200;
    private static final Pattern FORM =
            Pattern.compile("([a-zA-Z0-9._-]+)-([\\w-]{22})/(\\d{1,10})/(\\d{20})-([\\w-]{22})(\\.log|\\.indexes)(\\.tmp)?");

    /** A file of a segment, as a listing finds it; kind is log, indexes or partial. */
    record SegmentFile(SegmentPath segment, String kind) {}

    String log() {
        return base() + LOG;
    }

    String indexes() {
        return base() + INDEXES;
    }

    String partitionFolder() {
        return topicFolder() + "/" + partition;
    }

    String topicFolder() {
        return topic.substring(0, Math.min(topic.length(), MOST_TOPIC_CHARS)) + "-" + topicId;
    }

    /** The reverse: what a file is, by its path under the root; empty when it is nothing of ours. */
    static Optional<SegmentFile> parse(String path) {
        Matcher match = FORM.matcher(path);
        if (!match.matches()) {
            return Optional.empty();
        }
        try {
            SegmentPath segment = new SegmentPath(
                    match.group(1),
                    match.group(2),
                    Integer.parseInt(match.group(3)),
                    Long.parseLong(match.group(4)),
                    match.group(5));
            String kind = match.group(7) != null ? "partial" : match.group(6).substring(1);
            return Optional.of(new SegmentFile(segment, kind));
        } catch (NumberFormatException e) {
            return Optional.empty();
        }
    }

    private String base() {
        return String.format(Locale.ROOT, "%s/%020d-%s", partitionFolder(), startOffset, segmentId);
    }
}

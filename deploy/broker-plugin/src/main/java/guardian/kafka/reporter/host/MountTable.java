package guardian.kafka.reporter.host;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * /proc/self/mountinfo: {@code id parent major:minor root mount-point ...}.
 *
 * <p>It says the same as st_dev, but through {@code guardian.host.proc}: in a container that is given the host's /proc,
 * and in tests that give every log dir a disk of its own.
 */
public final class MountTable {
    private static final Pattern LINE = Pattern.compile("\\d+ \\d+ (\\d+):(\\d+) \\S+ (\\S+) .*");
    private static final Pattern OCTAL = Pattern.compile("\\\\([0-7]{3})");

    private record Mount(Path point, Device device) {}

    private final List<Mount> mounts = new ArrayList<>();

    /** Lines that are not as expected are left out. */
    static MountTable parse(List<String> lines) {
        MountTable table = new MountTable();
        for (String line : lines) {
            Matcher fields = LINE.matcher(line);
            if (fields.matches()) {
                Device device = new Device(Integer.parseInt(fields.group(1)), Integer.parseInt(fields.group(2)));
                table.mounts.add(new Mount(Path.of(unescape(fields.group(3))), device));
            }
        }
        return table;
    }

    /** The device mounted nearest above an absolute path; of two mounts on one point the later hides the earlier. */
    Optional<Device> deviceOf(Path path) {
        Mount nearest = null;
        for (Mount mount : mounts) {
            boolean covers = path.startsWith(mount.point());
            if (covers && (nearest == null || mount.point().getNameCount() >= nearest.point().getNameCount())) {
                nearest = mount;
            }
        }
        return Optional.ofNullable(nearest).map(Mount::device);
    }

    private static String unescape(String mountPoint) {
        return OCTAL.matcher(mountPoint).replaceAll(match ->
                Matcher.quoteReplacement(String.valueOf((char) Integer.parseInt(match.group(1), 8))));
    }
}

package guardian.kafka.reporter;

import guardian.kafka.common.HostAndPort;
import guardian.kafka.reporter.listener.ReporterSettings;
import java.net.InetAddress;
import java.net.UnknownHostException;

/** Where others reach a listener: what the operator says, else the host that it is bound to, else this host's name. */
final class Advertised {
    private Advertised() {}

    /**
     * May look the host's name up.
     *
     * @param setting host, or host:port for gRPC; empty when it is not set
     * @param bound with the port that it really has
     */
    static HostAndPort of(String setting, HostAndPort bound) {
        if (setting.isEmpty()) {
            return bound.isWildcard() ? bound.withHost(hostName()) : bound;
        } else if (setting.matches(".*[^:]:\\d+|\\[.*]:\\d+")) {
            return HostAndPort.parse(ReporterSettings.ADVERTISED, setting);
        }
        return bound.withHost(setting.replaceAll("^\\[|]$", ""));
    }

    private static String hostName() {
        try {
            return InetAddress.getLocalHost().getCanonicalHostName();
        } catch (UnknownHostException e) {
            return InetAddress.getLoopbackAddress().getHostName();
        }
    }
}

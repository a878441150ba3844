package guardian.kafka.common;

import java.nio.file.Path;

/**
 * Where the broker's own certificate and key are, and the CA of those that it talks to, all in PEM.
 *
 * <p>All parts read the settings that the reporter had first, hence their names.
 */
public record TlsFiles(Path certificate, Path key, Path ca) {
    public static final String CERTIFICATE = "guardian.reporter.ssl.certificate.file";
    public static final String KEY = "guardian.reporter.ssl.key.file";
    public static final String CA = "guardian.reporter.ssl.ca.file";
}

package guardian.kafka.reporter;

import java.nio.file.Path;

/** Where the reporter's own certificate and key are, and the CA of those who may call it, all in PEM. */
public record TlsFiles(Path certificate, Path key, Path ca) {
    public static final String CERTIFICATE = "guardian.reporter.ssl.certificate.file";
    public static final String KEY = "guardian.reporter.ssl.key.file";
    public static final String CA = "guardian.reporter.ssl.ca.file";
}

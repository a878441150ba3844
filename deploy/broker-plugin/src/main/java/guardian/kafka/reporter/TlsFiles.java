package guardian.kafka.reporter;

import java.nio.file.Path;

/** Where the reporter's own certificate and key are, and the CA of those who may call it, all in PEM. */
record TlsFiles(Path certificate, Path key, Path ca) {
    static final String CERTIFICATE = "guardian.reporter.ssl.certificate.file";
    static final String KEY = "guardian.reporter.ssl.key.file";
    static final String CA = "guardian.reporter.ssl.ca.file";
}

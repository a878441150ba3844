package guardian.kafka.common;

import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import guardian.v1.BrokerReporterGrpc;
import guardian.v1.CollectRequest;
import guardian.v1.MetricBatch;
import io.grpc.ManagedChannel;
import io.grpc.Server;
import io.grpc.StatusRuntimeException;
import io.grpc.okhttp.OkHttpChannelBuilder;
import io.grpc.okhttp.OkHttpServerBuilder;
import io.grpc.stub.StreamObserver;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TlsTest {
    @TempDir
    Path dir;

    private TestCertificates certificates;
    private Tls tls;
    private Server server;

    private static final class EmptyReporter extends BrokerReporterGrpc.BrokerReporterImplBase {
        @Override
        public void collect(CollectRequest request, StreamObserver<MetricBatch> answer) {
            answer.onNext(MetricBatch.getDefaultInstance());
            answer.onCompleted();
        }
    }

    @BeforeEach
    void serve() throws Exception {
        certificates = new TestCertificates(dir);
        certificates.install("server", "ca");
        tls = new Tls(certificates.files());
        server = OkHttpServerBuilder.forPort(new InetSocketAddress("127.0.0.1", 0), tls.forServer())
                .addService(new EmptyReporter())
                .build()
                .start();
    }

    @AfterEach
    void stop() {
        server.shutdownNow();
    }

    private boolean isCalled(String client, String ca) throws Exception {
        return TestCertificates.isCalled(server.getPort(), client, ca);
    }

    @Test
    void aChannelShowsWhatLiesThereWhenItConnects() throws Exception {
        TestCertificates caller = new TestCertificates(Files.createDirectory(dir.resolve("caller")));
        caller.install("other-client", "ca");
        ManagedChannel channel = OkHttpChannelBuilder.forAddress(
                        "127.0.0.1", server.getPort(), new Tls(caller.files()).forChannel())
                .build();
        BrokerReporterGrpc.BrokerReporterBlockingStub reporter = BrokerReporterGrpc.newBlockingStub(channel);
        try {
            assertThrows(StatusRuntimeException.class, () -> TestCertificates.collect(reporter));
            caller.install("client", "ca");
            channel.resetConnectBackoff();
            TestCertificates.collect(reporter.withWaitForReady());
        } finally {
            channel.shutdownNow();
        }
    }

    @Test
    void filesThatDoNotFitTogetherChangeNothing() throws Exception {
        certificates.replace("certificate.pem", TestCertificates.resource("other-server.pem"));
        tls.reload();
        Files.writeString(dir.resolve("key.pem"), "half a fi");
        tls.reload();
        assertTrue(isCalled("client", "ca"));
        certificates.install("other-server", "other-ca");
        tls.reload();
        assertTrue(isCalled("other-client", "other-ca"));
    }

    @Test
    void aBadFileIsNamedWithItsSetting() throws Exception {
        certificates.replace("key.pem", TestCertificates.resource("client.key"));
        assertNames(TlsFiles.KEY);
        Files.writeString(dir.resolve("key.pem"), "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n");
        assertNames(TlsFiles.KEY);
        certificates.install("server", "ca");
        Files.writeString(dir.resolve("ca.pem"), "");
        assertNames(TlsFiles.CA);
        Files.delete(dir.resolve("certificate.pem"));
        assertNames(TlsFiles.CERTIFICATE);
    }

    private void assertNames(String setting) {
        String message =
                assertThrows(IllegalArgumentException.class, () -> new Tls(certificates.files())).getMessage();
        assertTrue(message.startsWith(setting + " is " + dir), message);
    }
}

package guardian.kafka.reporter;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import guardian.kafka.common.HostAndPort;
import guardian.kafka.common.TestCertificates;
import guardian.kafka.common.Tls;
import guardian.kafka.common.TlsFiles;
import guardian.kafka.reporter.listener.Eventually;
import guardian.v1.FederationGrpc;
import guardian.v1.RegisterReporterReply;
import guardian.v1.RegisterReporterRequest;
import io.grpc.InsecureServerCredentials;
import io.grpc.Server;
import io.grpc.ServerCredentials;
import io.grpc.Status;
import io.grpc.okhttp.OkHttpServerBuilder;
import io.grpc.stub.StreamObserver;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class RegistrationTest {
    private static final Duration LONG = Duration.ofHours(1);
    private static final Duration SHORT = Duration.ofMillis(1);
    private static final RegisterReporterRequest WHERE = RegisterReporterRequest.newBuilder()
            .setClusterId("c1")
            .setBrokerId(7)
            .setReporter("b7:9404")
            .setMetricsUrl("http://b7:9405/metrics")
            .build();

    private final BlockingQueue<RegisterReporterRequest> calls = new LinkedBlockingQueue<>();
    private final AtomicInteger refusals = new AtomicInteger();
    private Server guardian;
    private Registration registration;

    private final class FakeFederation extends FederationGrpc.FederationImplBase {
        @Override
        public void registerReporter(RegisterReporterRequest request, StreamObserver<RegisterReporterReply> answer) {
            calls.add(request);
            if (refusals.getAndUpdate(left -> Math.max(0, left - 1)) > 0) {
                answer.onError(Status.NOT_FOUND.withDescription("the cluster is not registered").asRuntimeException());
                return;
            }
            answer.onNext(RegisterReporterReply.newBuilder().setCluster("live").build());
            answer.onCompleted();
        }
    }

    private HostAndPort member(ServerCredentials credentials) throws Exception {
        InetSocketAddress anyPort = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
        guardian = OkHttpServerBuilder.forPort(anyPort, credentials).addService(new FakeFederation()).build().start();
        return new HostAndPort("127.0.0.1", guardian.getPort());
    }

    private void register(List<HostAndPort> members, Optional<Tls> tls, Registration.Pauses pauses) {
        registration = new Registration(members, tls, () -> WHERE, pauses);
        registration.start();
    }

    private void assertCalled(int times) throws InterruptedException {
        for (int i = 0; i < times; i++) {
            assertEquals(WHERE, calls.poll(60, TimeUnit.SECONDS));
        }
    }

    @AfterEach
    void stop() {
        if (registration != null) {
            registration.close();
        }
        if (guardian != null) {
            guardian.shutdownNow();
        }
    }

    @Test
    void theBrokerIsRegisteredAtTheStartAndAgainAndAgain() throws Exception {
        register(List.of(member(InsecureServerCredentials.create())), Optional.empty(),
                new Registration.Pauses(SHORT, LONG, LONG));
        assertCalled(3);
    }

    @Test
    void aRefusalIsTriedAgainAndASuccessIsNotAtOnce() throws Exception {
        refusals.set(3);
        register(List.of(member(InsecureServerCredentials.create())), Optional.empty(),
                new Registration.Pauses(LONG, SHORT, SHORT));
        assertCalled(4);
        assertEquals(null, calls.poll(200, TimeUnit.MILLISECONDS));
    }

    @Test
    void ofMembersThatDoNotAnswerTheNextOneIsAsked() throws Exception {
        HostAndPort gone;
        try (ServerSocket unused = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            gone = new HostAndPort("127.0.0.1", unused.getLocalPort());
        }
        HostAndPort unknown = new HostAndPort("no.such.host.invalid", 1);
        register(List.of(gone, member(InsecureServerCredentials.create()), unknown), Optional.empty(),
                new Registration.Pauses(SHORT, SHORT, SHORT));
        assertCalled(2);
    }

    @Test
    void itIsCalledOverTlsWithTheReportersOwnFiles() throws Exception {
        TlsFiles server = TestCertificates.resources("server", "ca");
        TlsFiles client = TestCertificates.resources("client", "ca");
        register(List.of(member(new Tls(server).forServer())), Optional.of(new Tls(client)),
                new Registration.Pauses(SHORT, SHORT, SHORT));
        assertCalled(2);
    }

    @Test
    void aClosedOneCallsNoMore() throws Exception {
        register(List.of(member(InsecureServerCredentials.create())), Optional.empty(),
                new Registration.Pauses(SHORT, SHORT, SHORT));
        assertCalled(1);
        registration.close();
        Eventually.holds("its thread has ended", () -> Thread.getAllStackTraces().keySet().stream()
                .noneMatch(thread -> thread.getName().startsWith("guardian-reporter-registration")));
        registration = null;
    }

    @Test
    void whatIsAdvertisedCanBeCalled() {
        HostAndPort bound = new HostAndPort("10.0.0.7", 9404);
        assertEquals("10.0.0.7:9404", Advertised.of("", bound).toString());
        assertEquals("b7.example:9404", Advertised.of("b7.example", bound).toString());
        assertEquals("b7.example:19404", Advertised.of("b7.example:19404", bound).toString());
        assertEquals("[fd00::7]:9404", Advertised.of("fd00::7", bound).toString());
        assertEquals("[fd00::7]:19404", Advertised.of("[fd00::7]:19404", bound).toString());
        for (String wildcard : List.of("0.0.0.0", "::", "0:0:0:0:0:0:0:0")) {
            HostAndPort advertised = Advertised.of("", new HostAndPort(wildcard, 9404));
            assertFalse(advertised.isWildcard(), advertised.toString());
            assertTrue(advertised.toString().endsWith(":9404"));
        }
    }
}

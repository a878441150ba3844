package guardian.kafka.placement;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import guardian.v1.GetPlacementRequest;
import guardian.v1.PlacementGrpc;
import guardian.v1.PlacementRules;
import io.grpc.InsecureServerCredentials;
import io.grpc.Server;
import io.grpc.Status;
import io.grpc.okhttp.OkHttpServerBuilder;
import io.grpc.stub.StreamObserver;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class PlacementFeedTest {
    private final BlockingQueue<GetPlacementRequest> calls = new LinkedBlockingQueue<>();
    private final AtomicLong nanos = new AtomicLong();
    private volatile String version = "v1";
    private volatile boolean isDown;
    private Server guardian;
    private PlacementFeed feed;

    private final class FakePlacement extends PlacementGrpc.PlacementImplBase {
        @Override
        public void getPlacement(GetPlacementRequest request, StreamObserver<PlacementRules> answer) {
            calls.add(request);
            if (isDown) {
                answer.onError(Status.UNAVAILABLE.asRuntimeException());
                return;
            }
            String now = version;
            boolean isSame = request.getKnownVersion().equals(now);
            PlacementRules.Builder rules = PlacementRules.newBuilder().setVersion(now).setIsUnchanged(isSame);
            answer.onNext(isSame ? rules.build() : rules.setCluster("live-" + now).build());
            answer.onCompleted();
        }
    }

    private void start(String before) throws Exception {
        InetSocketAddress anyPort = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
        guardian = OkHttpServerBuilder.forPort(anyPort, InsecureServerCredentials.create())
                .addService(new FakePlacement())
                .build()
                .start();
        feed = new PlacementFeed(
                PlacementSettings.read(Map.of(
                        "guardian.endpoints", before + "127.0.0.1:" + guardian.getPort(),
                        "guardian.cluster.id", "c1",
                        "guardian.placement.poll.ms", "100",
                        "guardian.placement.max.age.ms", "60000")),
                nanos::get);
        feed.start();
    }

    private String cluster() {
        return feed.rules().map(PlacementRules::getCluster).orElse("");
    }

    private static void await(BooleanSupplier holds) throws InterruptedException {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
        while (!holds.getAsBoolean()) {
            assertTrue(System.nanoTime() < deadline, "it did not come to that within a minute");
            TimeUnit.MILLISECONDS.sleep(5);
        }
    }

    @AfterEach
    void stop() {
        feed.close();
        guardian.shutdownNow();
    }

    @Test
    void theNewestRulesCountAndWhatIsKnownIsNotSentAgain() throws Exception {
        start("");
        await(() -> cluster().equals("live-v1"));
        GetPlacementRequest first = calls.poll(60, TimeUnit.SECONDS);
        assertEquals("c1", first.getClusterId());
        assertEquals("", first.getKnownVersion());
        await(() -> calls.stream().anyMatch(call -> call.getKnownVersion().equals("v1")));
        assertEquals("live-v1", cluster(), "an answer without content confirms what is known");
        version = "v2";
        await(() -> cluster().equals("live-v2"));
    }

    @Test
    void whileNobodyAnswersTheRulesGetOldAndThenAreNotKnown() throws Exception {
        start("");
        await(() -> cluster().equals("live-v1"));
        isDown = true;
        // A call that was under way when it went down may still confirm once more.
        int before = calls.size();
        await(() -> calls.size() > before + 2);
        nanos.addAndGet(Duration.ofSeconds(59).toNanos());
        assertEquals("live-v1", cluster());
        nanos.addAndGet(Duration.ofSeconds(2).toNanos());
        assertEquals("", cluster());
        isDown = false;
        await(() -> cluster().equals("live-v1"));
    }

    @Test
    void aMemberThatIsDownIsPassedOver() throws Exception {
        int nobody;
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            nobody = socket.getLocalPort();
        }
        start("127.0.0.1:" + nobody + ",");
        await(() -> cluster().equals("live-v1"));
    }
}

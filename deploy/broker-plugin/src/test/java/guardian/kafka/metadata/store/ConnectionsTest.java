package guardian.kafka.metadata.store;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.ConnectivityState;
import io.grpc.InsecureServerCredentials;
import io.grpc.ManagedChannel;
import io.grpc.Server;
import io.grpc.okhttp.OkHttpServerBuilder;
import java.net.InetSocketAddress;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

class ConnectionsTest {
    @Test
    @Timeout(60)
    void noReaderIsLeftOfAChannelThatIsJustConnectedWhenItIsClosed() throws Exception {
        Server server = OkHttpServerBuilder.forPort(
                        new InetSocketAddress("127.0.0.1", 0), InsecureServerCredentials.create())
                .build()
                .start();
        try {
            Connections connections = new Connections(Runnable::run, Optional.empty());
            ManagedChannel channel = connections.to("127.0.0.1:" + server.getPort());
            CompletableFuture<Thread> reader = new CompletableFuture<>();
            CountDownLatch goOn = new CountDownLatch(1);
            whenReady(channel, () -> {
                reader.complete(Thread.currentThread());
                await(goOn);
            });
            channel.getState(true);
            reader.get(30, TimeUnit.SECONDS);

            connections.close();
            Thread ending = new Thread(connections::awaitEnd);
            ending.start();
            while (ending.getState() != Thread.State.TIMED_WAITING) {
                assertTrue(ending.isAlive(), "it waits for the reader, which has not gone on");
                Thread.onSpinWait();
            }
            goOn.countDown();
            ending.join();

            assertFalse(reader.get().isAlive(), () -> "reads still: " + reader.join());
        } finally {
            server.shutdownNow().awaitTermination();
        }
    }

    /** What runs then runs on the thread that reads the connection. */
    private static void whenReady(ManagedChannel channel, Runnable then) {
        ConnectivityState state = channel.getState(false);
        if (state == ConnectivityState.READY) {
            then.run();
        } else {
            channel.notifyWhenStateChanged(state, () -> whenReady(channel, then));
        }
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}

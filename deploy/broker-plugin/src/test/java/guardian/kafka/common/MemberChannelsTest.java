package guardian.kafka.common;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.grpc.CallOptions;
import io.grpc.EquivalentAddressGroup;
import io.grpc.InsecureChannelCredentials;
import io.grpc.InsecureServerCredentials;
import io.grpc.ManagedChannel;
import io.grpc.MethodDescriptor;
import io.grpc.NameResolver;
import io.grpc.NameResolverProvider;
import io.grpc.NameResolverRegistry;
import io.grpc.Server;
import io.grpc.ServerServiceDefinition;
import io.grpc.StatusOr;
import io.grpc.okhttp.OkHttpChannelBuilder;
import io.grpc.okhttp.OkHttpServerBuilder;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.ServerCalls;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.SocketTimeoutException;
import java.net.URI;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A member's name with two addresses, the first of which swallows packets: its queue is full. */
class MemberChannelsTest {
    private static final byte[] ANSWER = {42};
    private static final MethodDescriptor<byte[], byte[]> METHOD = MethodDescriptor.<byte[], byte[]>newBuilder()
            .setType(MethodDescriptor.MethodType.UNARY)
            .setFullMethodName("test/Ask")
            .setRequestMarshaller(new Bytes())
            .setResponseMarshaller(new Bytes())
            .build();

    private final List<SocketChannel> waiting = new ArrayList<>();
    private Server member;
    private ServerSocket hole;
    private Addresses addresses;

    @BeforeEach
    void start() throws IOException {
        member = OkHttpServerBuilder.forPort(
                        new InetSocketAddress("127.0.0.1", 0), InsecureServerCredentials.create())
                .addService(ServerServiceDefinition.builder("test")
                        .addMethod(METHOD, ServerCalls.asyncUnaryCall((request, answers) -> {
                            answers.onNext(ANSWER);
                            answers.onCompleted();
                        }))
                        .build())
                .build()
                .start();
        hole = new ServerSocket(member.getPort(), 1, InetAddress.getByName("127.0.0.2"));
        for (int i = 0; i < 8; i++) {
            SocketChannel caller = SocketChannel.open();
            caller.configureBlocking(false);
            caller.connect(hole.getLocalSocketAddress());
            waiting.add(caller);
        }
        addresses = new Addresses(List.of(
                new EquivalentAddressGroup(hole.getLocalSocketAddress()),
                new EquivalentAddressGroup(new InetSocketAddress("127.0.0.1", member.getPort()))));
        NameResolverRegistry.getDefaultRegistry().register(addresses);
    }

    @AfterEach
    void stop() throws IOException {
        NameResolverRegistry.getDefaultRegistry().deregister(addresses);
        for (SocketChannel caller : waiting) {
            caller.close();
        }
        hole.close();
        member.shutdownNow();
    }

    @Test
    void aConnectionThatIsSwallowedEndsAtTheLimit() {
        BoundedSockets sockets = new BoundedSockets(Duration.ofMillis(200));
        assertThrows(
                SocketTimeoutException.class,
                () -> sockets.createSocket(hole.getInetAddress(), hole.getLocalPort()));
    }

    @Test
    void theNextAddressIsTried() {
        ManagedChannel channel = MemberChannels.tuned(
                        OkHttpChannelBuilder.forTarget("several:///member", InsecureChannelCredentials.create()))
                .build();
        try {
            // A tenth of what the operating system takes to give the first address up.
            CallOptions limit = CallOptions.DEFAULT.withDeadlineAfter(13, TimeUnit.SECONDS);
            assertArrayEquals(ANSWER, ClientCalls.blockingUnaryCall(channel, METHOD, limit, new byte[0]));
        } finally {
            channel.shutdownNow();
        }
    }

    private static final class Bytes implements MethodDescriptor.Marshaller<byte[]> {
        @Override
        public InputStream stream(byte[] value) {
            return new ByteArrayInputStream(value);
        }

        @Override
        public byte[] parse(InputStream stream) {
            try {
                return stream.readAllBytes();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    private static final class Addresses extends NameResolverProvider {
        private final List<EquivalentAddressGroup> known;

        Addresses(List<EquivalentAddressGroup> known) {
            this.known = known;
        }

        @Override
        protected boolean isAvailable() {
            return true;
        }

        @Override
        protected int priority() {
            return 0;
        }

        @Override
        public String getDefaultScheme() {
            return "several";
        }

        @Override
        public NameResolver newNameResolver(URI target, NameResolver.Args args) {
            return new NameResolver() {
                @Override
                public String getServiceAuthority() {
                    return "member";
                }

                @Override
                public void start(Listener2 listener) {
                    listener.onResult(ResolutionResult.newBuilder()
                            .setAddressesOrError(StatusOr.fromValue(known))
                            .build());
                }

                @Override
                public void shutdown() {}
            };
        }
    }
}

package guardian.kafka.metadata.store;

import guardian.kafka.common.TlsFiles;
import guardian.kafka.metadata.segments.SegmentEvents;
import guardian.v1.FenceMode;
import guardian.v1.SegmentEvent;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentId;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadataUpdate;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentState;

/**
 * The store against real members, for tests and measurements that start it as a process.
 *
 * <pre>
 *     bench ENDPOINTS IN_FLIGHT EVENTS PARTITIONS   one line: events/s and latencies
 *     write ENDPOINTS IN_FLIGHT PARTITIONS FILE     until FILE.stop is there; FILE gets what was acknowledged and heard
 * </pre>
 *
 * <p>It uses no class that the plugin's jar relocates, so it compiles against that jar as well.
 */
final class StoreDriver {
    private static final int BROKER = 1;

    private final Uuid topicId = Uuid.randomUuid();
    private final List<TopicIdPartition> partitions;
    private final Heard heard = new Heard();
    private final GrpcSegmentEventStore store;

    private StoreDriver(String endpoints, int partitionCount) {
        partitions = IntStream.range(0, partitionCount)
                .mapToObj(number -> new TopicIdPartition(topicId, new TopicPartition("driven", number)))
                .toList();
        StoreSettings settings = StoreSettings.of(
                List.of(endpoints.split(",")), "driver-" + topicId, BROKER, "driver", FenceMode.CLAIM_ORDER);
        store = new GrpcSegmentEventStore(settings.withTls(tls()), heard);
    }

    /** By the system properties of a broker's settings, if they are there. */
    private static Optional<TlsFiles> tls() {
        return Optional.ofNullable(System.getProperty(TlsFiles.CERTIFICATE))
                .map(certificate -> new TlsFiles(
                        Path.of(certificate),
                        Path.of(System.getProperty(TlsFiles.KEY)),
                        Path.of(System.getProperty(TlsFiles.CA))));
    }

    public static void main(String[] arguments) throws Exception {
        String endpoints = arguments[1];
        int inFlight = Integer.parseInt(arguments[2]);
        if (arguments[0].equals("bench")) {
            new StoreDriver(endpoints, Integer.parseInt(arguments[4])).bench(inFlight, Integer.parseInt(arguments[3]));
        } else {
            new StoreDriver(endpoints, Integer.parseInt(arguments[3])).write(inFlight, arguments[4]);
        }
    }

    private void bench(int inFlight, int events) throws Exception {
        append(inFlight, Math.min(events, 20 * inFlight)); // a warm JVM
        long began = System.nanoTime();
        long[] latencies = append(inFlight, events);
        double seconds = (System.nanoTime() - began) / 1e9;
        Arrays.sort(latencies);
        System.out.printf(
                "%d in flight, %d partitions: %.0f events/s, p50 %.1f ms, p99 %.1f ms; %s%n",
                inFlight,
                partitions.size(),
                events / seconds,
                latencies[events / 2] / 1e6,
                latencies[events * 99 / 100] / 1e6,
                store.status());
        store.close();
    }

    /** First events of new segments, each sent when an earlier one is answered; latencies in nanoseconds. */
    private long[] append(int inFlight, int events) throws InterruptedException {
        Semaphore room = new Semaphore(inFlight);
        long[] latencies = new long[events];
        for (int i = 0; i < events; i++) {
            room.acquire();
            int number = i;
            long began = System.nanoTime();
            TopicIdPartition partition = partitions.get(i % partitions.size());
            store.append(partition, SegmentEvents.of(started(partition, i)), 0).whenComplete((next, failure) -> {
                latencies[number] = System.nanoTime() - began;
                if (failure != null) {
                    failure.printStackTrace();
                }
                room.release();
            });
        }
        room.acquire(inFlight);
        return latencies;
    }

    /** Pairs of events, the second sent before the first is answered: in another order it would be refused. */
    private void write(int inFlight, String file) throws Exception {
        Map<String, Integer> acknowledged = new ConcurrentHashMap<>();
        AtomicInteger failures = new AtomicInteger();
        store.follow(partitions);
        store.claim(partitions).get().forEach((partition, claim) -> heard.tokens.put(partition, claim.fencingToken()));
        Semaphore room = new Semaphore(inFlight);
        for (int i = 0; !Files.exists(Path.of(file + ".stop")); i++) {
            room.acquire(2);
            Thread.sleep(2); // members that start again need some of the machine
            TopicIdPartition partition = partitions.get(i % partitions.size());
            RemoteLogSegmentMetadata started = started(partition, i);
            for (SegmentEvent event : List.of(SegmentEvents.of(started), SegmentEvents.of(finished(started)))) {
                String line = line(partition, event);
                store.append(partition, event, heard.tokens.get(partition)).whenComplete((next, failure) -> {
                    if (failure == null) {
                        acknowledged.merge(line, 1, Integer::sum);
                    } else {
                        failures.incrementAndGet();
                        System.err.println(line + " " + failure);
                    }
                    room.release();
                });
            }
            if (i % 100 == 0) {
                System.out.println("acknowledged " + acknowledged.size());
            }
        }
        room.acquire(inFlight);
        heard.waitFor(acknowledged.size());
        store.close();
        report(file, acknowledged.keySet(), failures.get());
    }

    private void report(String file, Iterable<String> acknowledged, int failures) throws IOException {
        try (PrintStream out = new PrintStream(file, StandardCharsets.UTF_8)) {
            acknowledged.forEach(line -> out.println("acknowledged " + line));
            heard.lines.forEach(line -> out.println("heard " + line));
            heard.faults.forEach(line -> out.println("fault " + line));
            out.println("failures " + failures);
            out.println("status " + store.status());
            out.println("cluster driver-" + topicId);
        }
    }

    private static String line(TopicIdPartition partition, SegmentEvent event) {
        Uuid segment = SegmentEvents.uuid(event.getSegmentId());
        return partition.topicId() + " " + partition.partition() + " " + segment + " " + event.getStateValue();
    }

    private static RemoteLogSegmentMetadata started(TopicIdPartition partition, int number) {
        return new RemoteLogSegmentMetadata(
                new RemoteLogSegmentId(partition, Uuid.randomUuid()),
                number * 100L,
                number * 100L + 99,
                1_000L,
                BROKER,
                1_000L,
                1 << 20,
                Map.of(0, number * 100L));
    }

    private static RemoteLogSegmentMetadataUpdate finished(RemoteLogSegmentMetadata started) {
        return new RemoteLogSegmentMetadataUpdate(
                started.remoteLogSegmentId(),
                2_000L,
                Optional.empty(),
                RemoteLogSegmentState.COPY_SEGMENT_FINISHED,
                BROKER);
    }

    /** What the listener was told, and what was wrong with its order. */
    private static final class Heard implements SegmentEventStore.Listener {
        private final Map<TopicIdPartition, Long> tokens = new ConcurrentHashMap<>();
        private final Map<TopicIdPartition, Long> next = new HashMap<>();
        private final Queue<String> lines = new ConcurrentLinkedQueue<>();
        private final Queue<String> faults = new ConcurrentLinkedQueue<>();

        void waitFor(int count) throws InterruptedException {
            long deadline = System.nanoTime() + Duration.ofSeconds(30).toNanos();
            while (lines.size() < count && System.nanoTime() < deadline) {
                Thread.sleep(20);
            }
        }

        @Override
        public void onLoaded(
                TopicIdPartition partition,
                List<SegmentEvent> live,
                Map<Integer, Long> goneHighestOffsets,
                long nextEventId) {
            Long expected = next.put(partition, nextEventId);
            if (expected != null) {
                faults.add(partition + " was loaded again at " + nextEventId + " after " + expected);
            }
        }

        @Override
        public void onEvents(TopicIdPartition partition, long firstEventId, List<SegmentEvent> events) {
            Long expected = next.put(partition, firstEventId + events.size());
            if (expected == null || expected != firstEventId) {
                faults.add(partition + " goes on at " + firstEventId + " instead of " + expected);
            }
            events.forEach(event -> lines.add(line(partition, event)));
        }

        @Override
        public void onDeleted(TopicIdPartition partition) {
            faults.add(partition + " is deleted");
        }
    }
}

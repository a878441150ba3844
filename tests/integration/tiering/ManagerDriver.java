import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import javax.management.ObjectName;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.utils.ChildFirstClassLoader;
import org.apache.kafka.server.log.remote.metadata.storage.ClassLoaderAwareRemoteLogMetadataManager;
import org.apache.kafka.server.log.remote.storage.RemoteLogMetadataManager;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentId;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadataUpdate;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentState;

/**
 * Managers in a process of their own, loaded from the plugin's jar as a broker does it, and told what to do line by line:
 * {@code java -cp 'KAFKA_LIBS/*' ManagerDriver.java PLUGIN_JAR TOPIC}. Each command is answered with one line: {@code ok ...};
 * {@code thrown KIND MESSAGE} when the method threw; {@code failed KIND MESSAGE} when its future failed. It ends with its stdin.
 *
 * <pre>
 *   open NAME BROKER_ID KEY=VALUE...     lead|follow|stop NAME PARTITION...     ready NAME PARTITION
 *   add NAME PARTITION SEGMENT START END                 update NAME PARTITION SEGMENT STATE
 *   many NAME PARTITION COUNT IN_FLIGHT                  lookups NAME PARTITION COUNT
 *   find NAME PARTITION OFFSET     list NAME PARTITION   metric NAME_OF_MBEAN ATTRIBUTE     close NAME (answers which of Guardian's threads are left)
 * </pre>
 */
final class ManagerDriver {
    private static final long LIMIT_S = 60;

    private final String jar;
    private final String topic;
    private final Map<String, RemoteLogMetadataManager> managers = new HashMap<>();

    private ManagerDriver(String jar, String topic) {
        this.jar = jar;
        this.topic = topic;
    }

    public static void main(String[] arguments) throws IOException {
        ManagerDriver driver = new ManagerDriver(arguments[0], arguments[1]);
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = commands.readLine(); line != null; line = commands.readLine()) {
            System.out.println(driver.answer(List.of(line.split(" "))).replace('\n', ' '));
        }
        System.exit(0);
    }

    private String answer(List<String> words) {
        try {
            return ("ok " + carryOut(words.get(0), words.subList(1, words.size()))).strip();
        } catch (ExecutionException e) {
            return "failed " + e.getCause().getClass().getSimpleName() + " " + e.getCause().getMessage();
        } catch (Exception e) {
            return "thrown " + e.getClass().getSimpleName() + " " + e.getMessage();
        }
    }

    private Object carryOut(String command, List<String> words) throws Exception {
        if (command.equals("metric")) {
            ObjectName mbean = new ObjectName("guardian.kafka:type=GuardianRemoteLogMetadataManager,name=" + words.get(0));
            return ManagementFactory.getPlatformMBeanServer().getAttribute(mbean, words.get(1));
        }
        String name = words.get(0);
        List<String> rest = words.subList(1, words.size());
        if (command.equals("open")) {
            managers.put(name, open(rest));
            return "";
        }
        RemoteLogMetadataManager manager = managers.get(name);
        return switch (command) {
            case "lead" -> roles(manager, partitions(rest), Set.of());
            case "follow" -> roles(manager, Set.of(), partitions(rest));
            case "stop" -> {
                manager.onStopPartitions(partitions(rest));
                yield "";
            }
            case "ready" -> RemoteLogMetadataManager.class // not in 3.9
                    .getMethod("isReady", TopicIdPartition.class)
                    .invoke(manager, partition(rest.get(0)));
            case "add" -> await(manager.addRemoteLogSegmentMetadata(segment(
                    partition(rest.get(0)), rest.get(1), Long.parseLong(rest.get(2)), Long.parseLong(rest.get(3)))));
            case "update" -> await(manager.updateRemoteLogSegmentMetadata(new RemoteLogSegmentMetadataUpdate(
                    id(partition(rest.get(0)), rest.get(1)),
                    System.currentTimeMillis(),
                    Optional.empty(),
                    RemoteLogSegmentState.valueOf(rest.get(2)),
                    1)));
            case "many" -> many(manager, partition(rest.get(0)), Integer.parseInt(rest.get(1)), Integer.parseInt(rest.get(2)));
            case "lookups" -> lookUps(manager, partition(rest.get(0)), Integer.parseInt(rest.get(1)));
            case "find" -> manager.remoteLogSegmentMetadata(partition(rest.get(0)), 0, Long.parseLong(rest.get(1)))
                    .map(each -> each.startOffset() + "-" + each.endOffset())
                    .orElse("nothing");
            case "list" -> list(manager, partition(rest.get(0)));
            case "close" -> {
                manager.close();
                yield Thread.getAllStackTraces().keySet().stream()
                        .map(Thread::getName)
                        .filter(each -> each.startsWith("guardian"))
                        .sorted()
                        .collect(Collectors.joining(" "));
            }
            default -> throw new IllegalArgumentException("no such command: " + command);
        };
    }

    private RemoteLogMetadataManager open(List<String> words) throws ReflectiveOperationException {
        ClassLoader loader = new ChildFirstClassLoader(jar, ManagerDriver.class.getClassLoader());
        RemoteLogMetadataManager plugin = (RemoteLogMetadataManager) loader
                .loadClass("guardian.kafka.GuardianRemoteLogMetadataManager")
                .getDeclaredConstructor()
                .newInstance();
        RemoteLogMetadataManager manager = new ClassLoaderAwareRemoteLogMetadataManager(plugin, loader);
        Map<String, Object> configs = new HashMap<>();
        configs.put("broker.id", Integer.parseInt(words.get(0)));
        for (String setting : words.subList(1, words.size())) {
            configs.put(setting.substring(0, setting.indexOf('=')), setting.substring(setting.indexOf('=') + 1));
        }
        manager.configure(configs);
        return manager;
    }

    private static String roles(
            RemoteLogMetadataManager manager, Set<TopicIdPartition> leaders, Set<TopicIdPartition> followers) {
        manager.onPartitionLeadershipChanges(leaders, followers);
        return "";
    }

    private static String await(CompletableFuture<Void> write) throws Exception {
        write.get(LIMIT_S, TimeUnit.SECONDS);
        return "";
    }

    /** Adds segments with some in flight; answers microseconds: all, and the 50th and 99th percentile of one. */
    private static String many(RemoteLogMetadataManager manager, TopicIdPartition partition, int count, int inFlight)
            throws Exception {
        long[] took = new long[count];
        Semaphore places = new Semaphore(inFlight);
        List<CompletableFuture<Void>> writes = new ArrayList<>();
        long began = System.nanoTime();
        for (int number = 0; number < count; number++) {
            places.acquire();
            int at = number;
            long sentAt = System.nanoTime();
            writes.add(manager.addRemoteLogSegmentMetadata(
                            segment(partition, Uuid.randomUuid(), number * 100L, number * 100L + 99))
                    .whenComplete((done, failure) -> {
                        took[at] = System.nanoTime() - sentAt;
                        places.release();
                    }));
        }
        CompletableFuture.allOf(writes.toArray(CompletableFuture<?>[]::new)).get(LIMIT_S, TimeUnit.SECONDS);
        long all = System.nanoTime() - began;
        Arrays.sort(took);
        return all / 1000 + " " + took[count / 2] / 1000 + " " + took[count * 99 / 100] / 1000;
    }

    /** Nanoseconds of one look-up on average, after as many to warm up. */
    private static long lookUps(RemoteLogMetadataManager manager, TopicIdPartition partition, int count) throws Exception {
        long began = 0;
        long found = 0;
        for (int number = -count; number < count; number++) {
            if (number == 0) {
                began = System.nanoTime();
            }
            found += manager.remoteLogSegmentMetadata(partition, 0, Math.floorMod(number * 7919, 100_000)).isPresent() ? 1 : 0;
        }
        return found < 0 ? found : (System.nanoTime() - began) / count;
    }

    private static String list(RemoteLogMetadataManager manager, TopicIdPartition partition) throws Exception {
        List<String> lines = new ArrayList<>();
        manager.listRemoteLogSegments(partition)
                .forEachRemaining(each -> lines.add(each.startOffset() + "-" + each.endOffset() + ":" + each.state()));
        return lines.stream().sorted().collect(Collectors.joining(" "));
    }

    private Set<TopicIdPartition> partitions(List<String> words) {
        return words.stream().map(this::partition).collect(Collectors.toSet());
    }

    private TopicIdPartition partition(String number) {
        return new TopicIdPartition(uuid(topic), new TopicPartition(topic, Integer.parseInt(number)));
    }

    private static RemoteLogSegmentId id(TopicIdPartition partition, String segment) {
        return new RemoteLogSegmentId(partition, uuid(partition + segment));
    }

    private static Uuid uuid(String name) {
        UUID uuid = UUID.nameUUIDFromBytes(name.getBytes(StandardCharsets.UTF_8));
        return new Uuid(uuid.getMostSignificantBits(), uuid.getLeastSignificantBits());
    }

    private static RemoteLogSegmentMetadata segment(TopicIdPartition partition, String segment, long start, long end) {
        return segment(partition, id(partition, segment).id(), start, end);
    }

    private static RemoteLogSegmentMetadata segment(TopicIdPartition partition, Uuid segment, long start, long end) {
        return new RemoteLogSegmentMetadata(new RemoteLogSegmentId(partition, segment), start, end, 1, 1,
                System.currentTimeMillis(), 1_000, Map.of(0, 0L));
    }
}

package guardian.kafka.hdfs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.Test;

class CacheSpaceTest {
    private final CacheSpace space = new CacheSpace(100);

    private void keep(String name, long bytes) {
        assertEquals(Optional.of(List.of()), space.reserve(bytes));
        space.add(name, bytes, 0);
    }

    @Test
    void theOneUsedLongestAgoGoesFirst() {
        keep("a", 40);
        keep("b", 40);
        space.release(space.use("a").orElseThrow());
        assertEquals(Optional.of(List.of("b")), space.reserve(40));
        assertTrue(space.use("b").isEmpty());
        assertTrue(space.use("a").isPresent());
    }

    @Test
    void oneInUseNeverGoes() {
        keep("a", 50);
        keep("b", 50);
        CacheSpace.Entry used = space.use("a").orElseThrow();
        space.use("b").ifPresent(space::release);
        assertEquals(Optional.of(List.of("b")), space.reserve(50));
        space.unreserve(50);
        assertEquals(Optional.empty(), space.reserve(51));
        space.release(used);
        assertEquals(Optional.of(List.of("a")), space.reserve(51));
    }

    @Test
    void nothingIsEvictedForWhatHasNoRoomEvenSo() {
        keep("a", 50);
        keep("b", 30);
        space.use("a");
        assertEquals(Optional.empty(), space.reserve(60));
        assertEquals(Optional.empty(), space.reserve(101));
        assertEquals(2, space.files());
        assertEquals(80, space.kept());
    }

    @Test
    void whatIsReservedCountsBeforeItIsThere() {
        assertTrue(space.reserve(60).isPresent());
        assertEquals(Optional.empty(), space.reserve(60));
        space.unreserve(60);
        assertTrue(space.reserve(60).isPresent());
    }

    @Test
    void aFileThatHasComeInAnothersPlaceIsNotRemovedForIt() {
        keep("a", 10);
        CacheSpace.Entry damaged = space.use("a").orElseThrow();
        assertTrue(space.remove(damaged));
        keep("a", 20);
        assertFalse(space.remove(damaged));
        assertEquals(20, space.kept());
    }

    @Test
    void aLowerLimitAfterARestartIsKept() {
        for (String name : List.of("old", "newer", "newest")) {
            space.restore(name, 45);
        }
        assertEquals(List.of("old"), space.shrink());
        assertEquals(90, space.kept());
    }

    /** Against a list that is searched from its beginning: the same files go, in the same order. */
    @Test
    void itAgreesWithAnObviousTwinInTenThousandRandomSteps() {
        Random random = new Random(7);
        List<String> order = new ArrayList<>();
        Map<String, Long> sizes = new HashMap<>();
        Map<String, Integer> users = new HashMap<>();
        List<CacheSpace.Entry> held = new ArrayList<>();
        for (int step = 0; step < 10_000; step++) {
            String name = "f" + random.nextInt(12);
            if (random.nextBoolean()) {
                Optional<CacheSpace.Entry> entry = space.use(name);
                assertEquals(sizes.containsKey(name), entry.isPresent());
                entry.ifPresent(found -> {
                    order.remove(name);
                    order.add(name);
                    users.merge(name, 1, Integer::sum);
                    held.add(found);
                });
            } else if (!held.isEmpty() && random.nextBoolean()) {
                CacheSpace.Entry entry = held.remove(random.nextInt(held.size()));
                space.release(entry);
                users.merge(entry.name(), -1, Integer::sum);
            } else if (!sizes.containsKey(name)) {
                long bytes = random.nextInt(60);
                Optional<List<String>> evicted = twinEvicts(bytes, order, sizes, users);
                assertEquals(evicted, space.reserve(bytes));
                evicted.ifPresent(gone -> {
                    gone.forEach(order::remove);
                    gone.forEach(sizes::remove);
                    space.add(name, bytes, 0);
                    order.add(name);
                    sizes.put(name, bytes);
                });
            }
            assertEquals(sizes.values().stream().mapToLong(Long::longValue).sum(), space.kept());
            assertTrue(space.kept() <= 100);
        }
    }

    private static Optional<List<String>> twinEvicts(
            long bytes, List<String> order, Map<String, Long> sizes, Map<String, Integer> users) {
        List<String> gone = new ArrayList<>();
        long left = sizes.values().stream().mapToLong(Long::longValue).sum();
        for (String name : order) {
            if (left + bytes > 100 && users.getOrDefault(name, 0) == 0) {
                gone.add(name);
                left -= sizes.get(name);
            }
        }
        return left + bytes > 100 ? Optional.empty() : Optional.of(gone);
    }
}

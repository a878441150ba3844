package guardian.kafka.hdfs;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Which files are in the cache, how much they take, and which go when another needs room: the one used longest ago that
 * nobody uses now. It decides and counts, and touches no disk; one thread at a time.
 *
 * <p>Held at any time: kept + reserved &lt;= limit, unless the limit was lowered between two runs and all is in use.
 */
final class CacheSpace {
    private final long limit;
    private final Map<String, Entry> byName = new LinkedHashMap<>(16, 0.75f, true);
    private long kept;
    private long reserved;

    /** A file in the cache; users keep it from being evicted. */
    static final class Entry {
        private final String name;
        private final long bytes;
        private int users;

        private Entry(String name, long bytes, int users) {
            this.name = name;
            this.bytes = bytes;
            this.users = users;
        }

        String name() {
            return name;
        }
    }

    CacheSpace(long limit) {
        this.limit = limit;
    }

    /** The file, now the last to go, with one user more. */
    Optional<Entry> use(String name) {
        Entry entry = byName.get(name);
        if (entry != null) {
            entry.users++;
        }
        return Optional.ofNullable(entry);
    }

    void release(Entry entry) {
        entry.users--;
    }

    /** Adds a file for which room was reserved, with as many users as waited for it. */
    Entry add(String name, long bytes, int users) {
        reserved -= bytes;
        return put(name, bytes, users);
    }

    /** Adds a file that an earlier run left, as the one used last so far. */
    void restore(String name, long bytes) {
        put(name, bytes, 0);
    }

    private Entry put(String name, long bytes, int users) {
        Entry entry = new Entry(name, bytes, users);
        Entry before = byName.put(name, entry);
        kept += bytes - (before == null ? 0 : before.bytes);
        return entry;
    }

    /**
     * Reserves room.
     *
     * @return the names of files that have left the cache for it, or empty when there is no room, with none evicted
     */
    Optional<List<String>> reserve(long bytes) {
        long excess = kept + reserved + bytes - limit;
        List<Entry> victims = victims(excess);
        if (victims.stream().mapToLong(entry -> entry.bytes).sum() < excess) {
            return Optional.empty();
        }
        reserved += bytes;
        return Optional.of(evict(victims));
    }

    void unreserve(long bytes) {
        reserved -= bytes;
    }

    /** What is over the limit and can go: after a restart with a lower limit. */
    List<String> shrink() {
        return evict(victims(kept + reserved - limit));
    }

    /** Takes a file out, in use or not; whoever reads it goes on with what he has open. */
    boolean remove(String name) {
        Entry entry = byName.remove(name);
        if (entry == null) {
            return false;
        }
        kept -= entry.bytes;
        return true;
    }

    /** Takes out just this file, not one that has come in its place. */
    boolean remove(Entry entry) {
        return byName.get(entry.name) == entry && remove(entry.name);
    }

    long kept() {
        return kept;
    }

    int files() {
        return byName.size();
    }

    private List<Entry> victims(long excess) {
        List<Entry> victims = new ArrayList<>();
        long found = 0;
        Iterator<Entry> longestUnusedFirst = byName.values().iterator();
        while (found < excess && longestUnusedFirst.hasNext()) {
            Entry entry = longestUnusedFirst.next();
            if (entry.users == 0) {
                victims.add(entry);
                found += entry.bytes;
            }
        }
        return victims;
    }

    private List<String> evict(List<Entry> victims) {
        List<String> names = victims.stream().map(Entry::name).toList();
        names.forEach(this::remove);
        return names;
    }
}

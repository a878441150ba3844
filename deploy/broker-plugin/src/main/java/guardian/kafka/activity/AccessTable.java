package guardian.kafka.activity;

import org.apache.kafka.server.authorizer.Action;
import org.apache.kafka.server.authorizer.AuthorizableRequestContext;

/**
 * One stripe of an open slice's counts: a hash table with open addressing, at most two thirds full. A slot is four longs, the
 * fingerprint and both counts, side by side in memory.
 *
 * <p>The lock is held for a look-up, or to exchange the table for an empty one: nobody waits for more than that, and no
 * count is lost or goes to a slice that is closed.
 */
final class AccessTable {
    private static final int LEAST_SLOTS = 16;
    private static final int LONGS = 4;
    private static final int LOW = 1;
    private static final int ALLOWED = 2;
    private static final int DENIED = 3;

    /** Takes what was counted. */
    interface Sink {
        void add(Access access, long allowed, long denied);
    }

    private final boolean addresses;
    private Room room;
    private long[] slots = new long[LEAST_SLOTS * LONGS];
    private Access[] accesses = new Access[LEAST_SLOTS];
    private int mask = LEAST_SLOTS - 1;
    private int size;
    private long dropped;

    AccessTable(Room room, boolean addresses) {
        this.room = room;
        this.addresses = addresses;
    }

    synchronized void count(Fingerprint print, AuthorizableRequestContext request, Action action, boolean allowed) {
        int slot = slotOf(print.high(), print.low());
        if (slot < 0) {
            slot = add(print, request, action);
            if (slot < 0) {
                dropped++;
                return;
            }
        }
        slots[slot * LONGS + (allowed ? ALLOWED : DENIED)]++;
    }

    /** Empties the table, for the slice that has this room. Returns how many counts found none in the old one. */
    long drain(Room next, Sink sink) {
        long[] counts;
        Access[] counted;
        long lost;
        synchronized (this) {
            counts = slots;
            counted = accesses;
            lost = dropped;
            // As large as it was needed: the next slice is mostly like this one.
            allocate(slotsFor(size));
            size = 0;
            dropped = 0;
            room = next;
        }
        for (int slot = 0; slot < counted.length; slot++) {
            if (counted[slot] != null) {
                sink.add(counted[slot], counts[slot * LONGS + ALLOWED], counts[slot * LONGS + DENIED]);
            }
        }
        return lost;
    }

    /** The slot that holds the fingerprint, or the complement of the free one where it belongs. */
    private int slotOf(long high, long low) {
        int slot = (int) low & mask;
        // Both are 0 in a free slot, and in none that is taken but by a chance of 1 in 2^128.
        while (slots[slot * LONGS] != high || slots[slot * LONGS + LOW] != low) {
            if (slots[slot * LONGS] == 0 && slots[slot * LONGS + LOW] == 0) {
                return ~slot;
            }
            slot = slot + 1 & mask;
        }
        return slot;
    }

    /** Its slot, or a negative number when there is no room. */
    private int add(Fingerprint print, AuthorizableRequestContext request, Action action) {
        Access access = Access.of(request, action, addresses);
        if (!room.take(access)) {
            return -1;
        }
        if (!fits(size + 1, accesses.length)) {
            grow();
        }
        int slot = ~slotOf(print.high(), print.low());
        slots[slot * LONGS] = print.high();
        slots[slot * LONGS + LOW] = print.low();
        accesses[slot] = access;
        size++;
        return slot;
    }

    private void grow() {
        long[] oldSlots = slots;
        Access[] old = accesses;
        allocate(old.length * 2);
        for (int from = 0; from < old.length; from++) {
            if (old[from] != null) {
                int to = ~slotOf(oldSlots[from * LONGS], oldSlots[from * LONGS + LOW]);
                System.arraycopy(oldSlots, from * LONGS, slots, to * LONGS, LONGS);
                accesses[to] = old[from];
            }
        }
    }

    private void allocate(int slotCount) {
        // Both or none: memory may end in between.
        long[] newSlots = new long[slotCount * LONGS];
        Access[] newAccesses = new Access[slotCount];
        slots = newSlots;
        accesses = newAccesses;
        mask = slotCount - 1;
    }

    private static int slotsFor(int size) {
        int slotCount = LEAST_SLOTS;
        while (!fits(size, slotCount)) {
            slotCount *= 2;
        }
        return slotCount;
    }

    private static boolean fits(int size, int slotCount) {
        return 3L * size <= 2L * slotCount;
    }
}

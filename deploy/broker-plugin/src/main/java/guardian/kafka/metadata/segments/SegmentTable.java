package guardian.kafka.metadata.segments;

/**
 * Segments by id, for the writer alone: open addressing costs a reference and its free neighbour for each, some 8
 * bytes, where a HashMap takes 70.
 */
final class SegmentTable {
    private static final int LEAST_SLOTS = 4;
    private static final long MIX = 0x9E3779B97F4A7C15L; // 2^64 / golden ratio: spreads ids that are counted up

    private byte[][] slots;
    private int count;

    SegmentTable(int expected) {
        slots = new byte[slotsFor(expected)][];
    }

    /** Null when it is not known. */
    byte[] get(long idHigh, long idLow) {
        return slots[slotOf(idHigh, idLow)];
    }

    /** Whether one with the same id is known. */
    boolean contains(byte[] segment) {
        return slots[slotOf(segment)] != null;
    }

    /** In place of the one with the same id, if any. */
    void put(byte[] segment) {
        int slot = slotOf(segment);
        if (slots[slot] == null && ++count > slots.length / 4 * 3) {
            grow();
            slot = slotOf(segment);
        }
        slots[slot] = segment;
    }

    void remove(byte[] segment) {
        int free = slotOf(segment);
        if (slots[free] == null) {
            return;
        }
        count--;
        slots[free] = null;
        for (int slot = next(free); slots[slot] != null; slot = next(slot)) {
            byte[] moved = slots[slot];
            slots[slot] = null;
            slots[slotOf(moved)] = moved;
        }
    }

    private void grow() {
        byte[][] old = slots;
        slots = new byte[old.length * 2][];
        for (byte[] segment : old) {
            if (segment != null) {
                slots[slotOf(segment)] = segment;
            }
        }
    }

    private int slotOf(byte[] segment) {
        return slotOf(PackedSegment.idHigh(segment), PackedSegment.idLow(segment));
    }

    /** Where the id is, or the free slot where it belongs. */
    private int slotOf(long idHigh, long idLow) {
        int slot = (int) ((idHigh * 31 + idLow) * MIX >>> 32) & slots.length - 1;
        byte[] segment = slots[slot];
        while (segment != null
                && (PackedSegment.idLow(segment) != idLow || PackedSegment.idHigh(segment) != idHigh)) {
            slot = next(slot);
            segment = slots[slot];
        }
        return slot;
    }

    private int next(int slot) {
        return slot + 1 & slots.length - 1;
    }

    private static int slotsFor(int expected) {
        int slots = LEAST_SLOTS;
        while (expected > slots / 4 * 3) {
            slots *= 2;
        }
        return slots;
    }
}

package guardian.kafka.activity;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.common.acl.AclOperation;

/**
 * How many entries an open slice may still take. A client that asks for all topics touches thousands of them without
 * reading one: descriptions get half of the room, so that they never crowd out who reads and writes.
 */
final class Room {
    private final int maxEntries;
    private final long maxBytes;
    private final AtomicInteger entries = new AtomicInteger();
    private final AtomicInteger descriptions = new AtomicInteger();
    private final AtomicLong bytes = new AtomicLong();

    Room(int maxEntries, long maxBytes) {
        this.maxEntries = maxEntries;
        this.maxBytes = maxBytes;
    }

    /** False when there is no room for it. Threads that ask at once may get a little more than there is. */
    boolean take(Access access) {
        AclOperation operation = access.operation();
        int heapBytes = access.heapBytes();
        boolean describes = operation == AclOperation.DESCRIBE || operation == AclOperation.DESCRIBE_CONFIGS;
        if (entries.get() >= maxEntries
                || bytes.get() + heapBytes > maxBytes
                || describes && descriptions.get() >= Math.max(1, maxEntries / 2)) {
            return false;
        }
        entries.incrementAndGet();
        bytes.addAndGet(heapBytes);
        if (describes) {
            descriptions.incrementAndGet();
        }
        return true;
    }
}

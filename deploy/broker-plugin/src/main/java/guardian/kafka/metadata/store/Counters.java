package guardian.kafka.metadata.store;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;

/** What the store has done; any thread may read it. */
final class Counters {
    final AtomicInteger pending = new AtomicInteger();
    final LongAdder appended = new LongAdder();
    final LongAdder refused = new LongAdder();
    final LongAdder expired = new LongAdder();
    final LongAdder retries = new LongAdder();
    final LongAdder reconnects = new LongAdder();
    final LongAdder loads = new LongAdder();
    volatile int followed;
    volatile long currentAtNanos;
    volatile String lastError = "";
}

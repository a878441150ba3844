package guardian.kafka.metadata.store;

import guardian.v1.SegmentEvent;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.TopicIdPartition;

/** Keeps what it is told of each partition, and fails the test that looks when events are missing or come twice. */
final class RecordingListener implements SegmentEventStore.Listener {
    private final Map<TopicIdPartition, List<SegmentEvent>> events = new HashMap<>();
    private final Map<TopicIdPartition, Long> next = new HashMap<>();
    private final Map<TopicIdPartition, Integer> loads = new HashMap<>();
    private final Map<TopicIdPartition, Map<Integer, Long>> gone = new HashMap<>();
    private final List<TopicIdPartition> deleted = new ArrayList<>();
    private final List<String> faults = new ArrayList<>();

    @Override
    public synchronized void onLoaded(
            TopicIdPartition partition,
            List<SegmentEvent> live,
            Map<Integer, Long> goneHighestOffsets,
            long nextEventId) {
        events.put(partition, new ArrayList<>(live));
        next.put(partition, nextEventId);
        gone.put(partition, goneHighestOffsets);
        loads.merge(partition, 1, Integer::sum);
    }

    @Override
    public synchronized void onEvents(TopicIdPartition partition, long firstEventId, List<SegmentEvent> news) {
        Long expected = next.put(partition, firstEventId + news.size());
        if (expected == null || expected != firstEventId) {
            faults.add(partition + ": events from " + firstEventId + " on, after those below " + expected);
        }
        events.get(partition).addAll(news);
    }

    @Override
    public synchronized void onDeleted(TopicIdPartition partition) {
        deleted.add(partition);
    }

    /** Since the last load, with what was live then. */
    synchronized List<SegmentEvent> events(TopicIdPartition partition) {
        if (!faults.isEmpty()) {
            throw new AssertionError(String.join("; ", faults));
        }
        return List.copyOf(events.getOrDefault(partition, List.of()));
    }

    synchronized int loads(TopicIdPartition partition) {
        return loads.getOrDefault(partition, 0);
    }

    synchronized Map<Integer, Long> gone(TopicIdPartition partition) {
        return gone.get(partition);
    }

    synchronized boolean isDeleted(TopicIdPartition partition) {
        return deleted.contains(partition);
    }
}

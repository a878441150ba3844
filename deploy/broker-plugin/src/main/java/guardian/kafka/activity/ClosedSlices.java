package guardian.kafka.activity;

import guardian.v1.ActivitySlice;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;

/**
 * The slices that wait for a reader; when there are too many, or they take too much memory, the oldest go. How many went
 * unread is told with the first slice that is read afterwards, and stays with that slice: whoever reads it again gets
 * the same.
 */
final class ClosedSlices {
    static final int MAX_SLICES_PER_ANSWER = 16;

    private static final long MAX_BYTES_PER_ANSWER = 8L * 1024 * 1024;
    // Six positions and two counts, in arrays that grew by halves.
    private static final int ENTRY_BYTES = 60;
    private static final int BYTE_ENTRY_BYTES = 36;

    private final int maxSlices;
    private final long maxBytes;
    private final long maxAnswerBytes;
    private final TreeMap<Long, ActivitySlice> slices = new TreeMap<>();
    private long bytes;
    private long read;
    private long lost;

    ClosedSlices(int maxSlices, long maxBytes) {
        this(maxSlices, maxBytes, MAX_BYTES_PER_ANSWER);
    }

    ClosedSlices(int maxSlices, long maxBytes, long maxAnswerBytes) {
        this.maxSlices = maxSlices;
        this.maxBytes = maxBytes;
        this.maxAnswerBytes = maxAnswerBytes;
    }

    /** Slices come by number. */
    synchronized void add(ActivitySlice slice) {
        slices.put(slice.getNumber(), slice);
        bytes += heapBytes(slice);
        while (slices.size() > 1 && (slices.size() > maxSlices || bytes > maxBytes)) {
            ActivitySlice oldest = slices.pollFirstEntry().getValue();
            bytes -= heapBytes(oldest);
            if (oldest.getNumber() > read) {
                lost += 1 + oldest.getLostSlices();
            }
        }
    }

    /** The slices after this number, as many as fit into an answer, and at least one if there is any. */
    synchronized List<ActivitySlice> after(long number) {
        List<ActivitySlice> answer = new ArrayList<>();
        long size = 0;
        for (ActivitySlice slice : slices.tailMap(number, false).values()) {
            size += slice.getSerializedSize();
            if (!answer.isEmpty() && (answer.size() == MAX_SLICES_PER_ANSWER || size > maxAnswerBytes)) {
                break;
            }
            answer.add(slice);
        }
        if (!answer.isEmpty()) {
            if (lost > 0) {
                answer.set(0, tellLost(answer.get(0)));
            }
            read = Math.max(read, answer.get(answer.size() - 1).getNumber());
        }
        return answer;
    }

    /** About what the slice takes of the heap. */
    static long heapBytes(ActivitySlice slice) {
        long size = (long) ENTRY_BYTES * slice.getPrincipalsCount() + (long) BYTE_ENTRY_BYTES * slice.getByteUsersCount();
        for (String string : slice.getStringsList()) {
            size += Heap.text(string);
        }
        return size;
    }

    private ActivitySlice tellLost(ActivitySlice slice) {
        ActivitySlice told =
                slice.toBuilder().setLostSlices(slice.getLostSlices() + lost).build();
        slices.put(told.getNumber(), told);
        lost = 0;
        return told;
    }
}

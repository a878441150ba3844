package guardian.kafka.activity;

import guardian.v1.ActivitySlice;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Slices as a reader understands them: "principal client address type resource operation" to allowed and denied. */
final class Counted {
    private Counted() {}

    static Map<String, List<Long>> in(ActivitySlice slice) {
        Map<String, List<Long>> counts = new LinkedHashMap<>();
        for (int i = 0; i < slice.getPrincipalsCount(); i++) {
            String access = String.join(
                    " ",
                    slice.getStrings(slice.getPrincipals(i)),
                    slice.getStrings(slice.getClientIds(i)),
                    slice.getStrings(slice.getAddresses(i)),
                    slice.getStrings(slice.getResourceTypes(i)),
                    slice.getStrings(slice.getResources(i)),
                    slice.getStrings(slice.getOperations(i)));
            List<Long> known = counts.put(access, List.of(slice.getAllowed(i), slice.getDenied(i)));
            if (known != null) {
                throw new IllegalStateException("twice in a slice: " + access);
            }
        }
        return counts;
    }

    static Map<String, List<Long>> in(List<ActivitySlice> slices) {
        Map<String, List<Long>> sums = new LinkedHashMap<>();
        for (ActivitySlice slice : slices) {
            in(slice).forEach((access, counts) -> sums.merge(
                    access,
                    counts,
                    (one, other) -> List.of(one.get(0) + other.get(0), one.get(1) + other.get(1))));
        }
        return sums;
    }
}

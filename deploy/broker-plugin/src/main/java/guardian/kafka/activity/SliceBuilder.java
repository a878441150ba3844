package guardian.kafka.activity;

import guardian.v1.ActivitySlice;
import java.net.InetAddress;
import java.util.HashMap;
import java.util.Map;

/** Puts a slice's counts into its message: every text once, all else positions and numbers. */
final class SliceBuilder {
    private final ActivitySlice.Builder slice = ActivitySlice.newBuilder();
    private final Map<String, Integer> strings = new HashMap<>();

    void add(Access access, long allowed, long denied) {
        InetAddress address = access.address();
        slice.addPrincipals(position(access.principalType() + ':' + access.principalName()))
                .addClientIds(position(access.clientId()))
                .addAddresses(position(address == null ? "" : address.getHostAddress()))
                .addResourceTypes(position(access.type().name()))
                .addResources(position(access.resource()))
                .addOperations(position(access.operation().name()))
                .addAllowed(allowed)
                .addDenied(denied);
    }

    void add(QuotaBytes.Owner owner, QuotaBytes.Moved moved) {
        slice.addByteUsers(position(owner.user()))
                .addByteClientIds(position(owner.clientId()))
                .addBytesProduced(moved.produced)
                .addBytesFetched(moved.fetched);
    }

    ActivitySlice build(long number, long fromMs, long toMs, long dropped, long lostSlices) {
        return slice.setNumber(number)
                .setFromMs(fromMs)
                .setToMs(toMs)
                .setDropped(dropped)
                .setLostSlices(lostSlices)
                .build();
    }

    private int position(String string) {
        Integer known = strings.putIfAbsent(string, strings.size());
        if (known == null) {
            slice.addStrings(string);
            return strings.size() - 1;
        }
        return known;
    }
}

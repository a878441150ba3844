package guardian.kafka.activity;

import java.net.InetAddress;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.resource.ResourceType;
import org.apache.kafka.server.authorizer.Action;
import org.apache.kafka.server.authorizer.AuthorizableRequestContext;

/** What one client does with one resource; the address is null when it is not kept. */
record Access(
        String principalType,
        String principalName,
        String clientId,
        InetAddress address,
        ResourceType type,
        String resource,
        AclOperation operation) {
    // The object itself, and a table's slot when the table is a quarter full.
    private static final int FIXED_BYTES = 48 + 4 * 36;

    /** Holds no part of the principal but its name: one that a plugin made may be large. */
    static Access of(AuthorizableRequestContext request, Action action, boolean withAddress) {
        return new Access(
                request.principal().getPrincipalType(),
                request.principal().getName(),
                clientId(request),
                withAddress ? request.clientAddress() : null,
                action.resourcePattern().resourceType(),
                action.resourcePattern().name(),
                action.operation());
    }

    static String clientId(AuthorizableRequestContext request) {
        String id = request.clientId();
        return id == null ? "" : id;
    }

    /** About what it takes of the heap; the principal's type and the address belong to others too. */
    int heapBytes() {
        return FIXED_BYTES + Heap.text(principalName) + Heap.text(clientId) + Heap.text(resource);
    }
}

"""Who asks, as the members have proven it."""

from __future__ import annotations

from guardian.client.calls import Calls
from protos.guardian.v1 import identities_pb2


class IdentityCalls:
    """Part of GuardianClient."""

    _calls: Calls

    def who_am_i(self) -> identities_pb2.WhoAmIReply:
        """Return the caller's name, how it was proven, and his roles. Raises NotSignedIn."""
        request = identities_pb2.WhoAmIRequest()
        return self._calls.read(lambda stubs: stubs.identities.WhoAmI, request)

    def roles(self) -> identities_pb2.RolesInForce:
        """Return who has which role at the member that answers. Raises NotSignedIn and NotAllowed."""
        request = identities_pb2.GetRolesRequest()
        return self._calls.read(lambda stubs: stubs.identities.GetRoles, request)

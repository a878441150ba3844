"""What an unhealthy disk suffers from, and what is held back for it."""

from __future__ import annotations

from guardian.client.calls import Calls
from protos.guardian.v1 import protection_pb2


class ProtectionCalls:
    """Part of GuardianClient."""

    _calls: Calls

    def protection(self, cluster: str, max_doings: int = 0) -> protection_pb2.ProtectionReport:
        """Report what the leader sees and holds. Raises NotFound."""
        request = protection_pb2.GetProtectionRequest(cluster=cluster, max_doings=max_doings)
        return self._calls.ask_leader(lambda stubs: stubs.protection.GetProtection, request)

    def release_protection(
        self, cluster: str, actor: str, broker: int | None = None, disk: str = "", hold_ms: int = 0
    ) -> tuple[protection_pb2.ProtectionLever, ...]:
        """Takes back what is held, and says what it was. Raises NotFound where nothing is, and InvalidInput."""
        request = protection_pb2.ReleaseProtectionRequest(
            cluster=cluster, broker=broker, disk=disk, hold_ms=hold_ms, actor=actor
        )
        reply = self._calls.change(lambda stubs: stubs.protection.ReleaseProtection, request)
        return tuple(reply.released)

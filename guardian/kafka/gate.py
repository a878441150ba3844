"""Whether a request that changes something may still be sent: what KafkaAdmin.changing_only_while asks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from guardian.errors import ClusterUnavailable


@dataclass(frozen=True, slots=True)
class Gate:
    """Of one call: it stays what it was at its beginning, also for what is left of it when the caller has gone on."""

    cluster: str
    is_open: Callable[[], bool]

    def require_open(self) -> None:
        """Raises ClusterUnavailable."""
        if not self.is_open():
            raise ClusterUnavailable(
                f"cluster {self.cluster} took longer over a change than this member may count on leading: what is left "
                "of it is not sent, and the next tick goes on"
            )


OPEN = Gate("", lambda: True)
"""What changes nothing may always be sent."""


class Gatekeeper:
    """Has the gate for the next call: open, until somebody says while what it is to be so."""

    def __init__(self, cluster: str) -> None:
        self.gate = Gate(cluster, OPEN.is_open)

    @contextmanager
    def open_only_while(self, is_open: Callable[[], bool]) -> Iterator[None]:
        before, self.gate = self.gate, Gate(self.gate.cluster, is_open)
        try:
            yield
        finally:
            self.gate = before

"""What is known of tickets from one tick to the next, and could be lost: a new leader starts without it."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Protocol


class TicketMemory(Protocol):
    """Whoever knows something of tickets."""

    def keep_only(self, ticket_ids: Collection[str]) -> None:
        """Forget all other tickets: they are driven no longer."""


def forget_others(known: dict[str, Any], ticket_ids: Collection[str]) -> None:
    """Drop what is known of other tickets. A slower cluster's thread may add to it at the same time."""
    for ticket_id in [each for each in list(known) if each not in ticket_ids]:
        known.pop(ticket_id, None)

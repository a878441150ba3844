"""What other capabilities see of the replicated state: how it is read, how they hear of changes, how it fails.

The tables and keys behind it (metastore) are the business of this capability and of each capability's own `store`.
"""

from __future__ import annotations

from metastore.changes import Changed, Changes, Subscriber
from metastore.commands import SessionUse, content_of
from metastore.state_machine import MetastoreStateMachine
from metastore.store import StoreDamaged, StoreError
from metastore.tables.federation import Shown
from metastore.tables.ticket_order import PageLimits, TicketFilter, TicketPage
from metastore.views import Look, Views

__all__ = [
    "Changed",
    "Changes",
    "Look",
    "MetastoreStateMachine",
    "PageLimits",
    "SessionUse",
    "Shown",
    "StoreDamaged",
    "StoreError",
    "Subscriber",
    "TicketFilter",
    "TicketPage",
    "Views",
    "content_of",
]

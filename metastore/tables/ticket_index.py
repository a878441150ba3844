"""Which tickets of a cluster are not over, and how many are in each state: one record for each cluster.

A key for each open ticket would leave a tombstone behind, and each scan walks over those: 4 ms beside 50,000. Drafts,
of which there may be any number and which nobody works on, are in buckets of their own. What the executor and healing
ask all the time, and each change, costs the same beside a million of them.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import NamedTuple

from guardian.model.ticket import TicketState
from metastore import keys
from metastore.records import Delete, Put, Record
from metastore.store import Lookup, ReadView
from protos.guardian.v1 import records_pb2

_BUCKETS = 64


class Change(NamedTuple):
    """Hold a ticket's states before and after a command; None: it is not stored. It was made at `created_at_ms`."""

    cluster: str
    ticket_id: str
    before: TicketState | None
    after: TicketState | None
    created_at_ms: int = 0


def updates(view: Lookup, changes: Iterable[Change]) -> list[Record]:
    """Return what brings the records of the changed clusters up to date."""
    found: dict[bytes, records_pb2.TicketIndex] = {}

    def index_at(key: bytes) -> records_pb2.TicketIndex:
        if key not in found:
            found[key] = records_pb2.TicketIndex.FromString(view.get(key) or b"")
        return found[key]

    for change in changes:
        _count(index_at(keys.ticket_index(change.cluster)), change)
        _place(index_at, change)
    return [_record(key, index) for key, index in found.items()]


def open_entries(
    view: ReadView, cluster: str | None = None, states: Collection[TicketState] | None = None
) -> list[records_pb2.OpenTicket]:
    """Return the tickets of a cluster, or of all, that are not over; those in some states (None: in any)."""
    found = [each for _, index in _indices(view, cluster) for each in index.open]
    if states is not None:
        wanted = {state.value for state in states}
        found = [each for each in found if each.state in wanted]
    return found + (_drafts(view, cluster) if states is None or TicketState.DRAFT in states else [])


def open_ids(view: ReadView, cluster: str | None = None, states: Collection[TicketState] | None = None) -> list[str]:
    """Return the ids of the tickets of a cluster, or of all, that are not over; those in some states (None: in any)."""
    return [each.id for each in open_entries(view, cluster, states)]


def counts(view: ReadView, cluster: str | None = None) -> dict[str, Counter[TicketState]]:
    """Return how many tickets are in each state, by cluster: of one, or of all that have some."""
    return {
        name: Counter({TicketState(state): count for state, count in index.tickets_by_state.items()})
        for name, index in _indices(view, cluster)
    }


def _count(index: records_pb2.TicketIndex, change: Change) -> None:
    if change.before is not None:
        index.tickets_by_state[change.before.value] -= 1
        if index.tickets_by_state[change.before.value] == 0:
            del index.tickets_by_state[change.before.value]
    if change.after is not None:
        index.tickets_by_state[change.after.value] += 1


def _place(index_at: Callable[[bytes], records_pb2.TicketIndex], change: Change) -> None:
    """Take the ticket out of the record where it was, and put it into the one where it belongs."""
    if change.before is not None and not change.before.is_over:
        index_at(_key_of(change, change.before)).open.remove(_entry(change, change.before))
    if change.after is not None and not change.after.is_over:
        index_at(_key_of(change, change.after)).open.append(_entry(change, change.after))


def _key_of(change: Change, state: TicketState) -> bytes:
    if state is not TicketState.DRAFT:
        return keys.ticket_index(change.cluster)
    return keys.ticket_drafts_in(change.cluster, zlib.crc32(change.ticket_id.encode()) % _BUCKETS)


def _drafts(view: ReadView, cluster: str | None) -> list[records_pb2.OpenTicket]:
    prefix = keys.Table.TICKET_DRAFTS.prefix if cluster is None else keys.ticket_drafts(cluster)
    return [each for _, value in view.scan(prefix) for each in records_pb2.TicketIndex.FromString(value).open]


def _indices(view: ReadView, cluster: str | None) -> Iterator[tuple[str, records_pb2.TicketIndex]]:
    table = keys.Table.TICKET_INDEX.prefix
    rows = view.scan(table if cluster is None else keys.ticket_index(cluster))
    return ((keys.read_text(key, len(table))[0], records_pb2.TicketIndex.FromString(value)) for key, value in rows)


def _entry(change: Change, state: TicketState) -> records_pb2.OpenTicket:
    return records_pb2.OpenTicket(
        id=change.ticket_id,
        state=state.value,  # type: ignore[arg-type]  # its number
        created_at_ms=change.created_at_ms,
    )


def _record(key: bytes, index: records_pb2.TicketIndex) -> Record:
    value = index.SerializeToString(deterministic=True)
    return Put(key, value) if value else Delete(key)

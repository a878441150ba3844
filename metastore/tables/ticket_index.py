"""Which tickets of a cluster are not over, and how many are in each state: one record for each cluster.

A key for each open ticket would leave a tombstone behind, and each scan walks over those: 4 ms beside 50,000.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from guardian.model.ticket import TicketState
from metastore import keys
from metastore.records import Delete, Put, Record
from metastore.store import Lookup, ReadView
from protos.guardian.v1 import records_pb2


class Change(NamedTuple):
    """Hold a ticket's states before and after a command; None: it is not stored."""

    cluster: str
    ticket_id: str
    before: TicketState | None
    after: TicketState | None


def updates(view: Lookup, changes: Iterable[Change]) -> list[Record]:
    """Return what brings the records of the changed clusters up to date."""
    indices: dict[str, records_pb2.TicketIndex] = {}
    for cluster, ticket_id, before, after in changes:
        if cluster not in indices:
            indices[cluster] = records_pb2.TicketIndex.FromString(view.get(keys.ticket_index(cluster)) or b"")
        index = indices[cluster]
        if before is not None:
            index.tickets_by_state[before.value] -= 1
            if index.tickets_by_state[before.value] == 0:
                del index.tickets_by_state[before.value]
        if after is not None:
            index.tickets_by_state[after.value] += 1
        was_open, is_open = (state is not None and not state.is_over for state in (before, after))
        if is_open and not was_open:
            index.open_ids.append(ticket_id)
        elif was_open and not is_open:
            index.open_ids.remove(ticket_id)
    return [_record(cluster, index) for cluster, index in indices.items()]


def open_ids(view: ReadView, cluster: str | None = None) -> list[str]:
    """Return the ids of the tickets of a cluster, or of all, that are not over."""
    prefix = keys.Table.TICKET_INDEX.prefix if cluster is None else keys.ticket_index(cluster)
    return [ticket_id for index in _indices(view, prefix) for ticket_id in index.open_ids]


def counts(view: ReadView) -> Counter[TicketState]:
    """Return how many tickets are in each state."""
    found: Counter[TicketState] = Counter()
    for index in _indices(view, keys.Table.TICKET_INDEX.prefix):
        found.update({TicketState(state): count for state, count in index.tickets_by_state.items()})
    return found


def _indices(view: ReadView, prefix: bytes) -> Iterator[records_pb2.TicketIndex]:
    return (records_pb2.TicketIndex.FromString(value) for _, value in view.scan(prefix))


def _record(cluster: str, index: records_pb2.TicketIndex) -> Record:
    key, value = keys.ticket_index(cluster), index.SerializeToString(deterministic=True)
    return Put(key, value) if value else Delete(key)

"""Tickets in the order of lists, under each thing that a list is narrowed down to: keys without values.

    made     newest first: all, of a cluster, of a kind, of both; the ended ones of a state too
    ended    the last one first: all, and those of one of Guardian's own actors in a cluster

States of open tickets change, and a deleted key costs each scan that passes it. So those stand in one record for each
cluster (metastore.tables.ticket_index), which a page merges with what it reads here. A position is what follows the
prefix in a key. All lists by the time of making share it, so a page goes on behind a ticket that has gone, or has
changed its state.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from guardian.model.ticket import TicketState
from metastore import keys
from metastore.records import Delete, Put, Record
from metastore.store import ReadView
from metastore.tables import ticket_index
from protos.guardian.v1 import tickets_pb2

MAX_ROWS = 2_000
"""So many tickets at most are read for a page that no index serves alone: it may be short and not the last."""

_FEWEST, _MOST = 8, 256  # keys that are read at once
_OVER = frozenset(state.value for state in TicketState if state.is_over)
_ALL = frozenset(state.value for state in TicketState)


@dataclass(frozen=True, slots=True)
class TicketFilter:
    """What a list is narrowed down to; no clusters, the empty text and no states let all pass."""

    clusters: tuple[str, ...] = ()
    kind: str = ""
    states: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class PageLimits:
    """Of a page: tickets, bytes (beyond the first ticket), and tickets that are read for it."""

    tickets: int
    size_bytes: int
    rows: int = MAX_ROWS


@dataclass(frozen=True, slots=True)
class TicketPage:
    """The tickets of a page as they are stored, and the position behind which the next one begins; b"": there is
    none."""

    messages: tuple[tickets_pb2.Ticket, ...]
    after: bytes


def updates(before: tickets_pb2.Ticket | None, after: tickets_pb2.Ticket | None) -> list[Record]:
    """Return what brings the keys of a ticket up to date; None: it is not stored."""
    former, present = _keys_of(before), _keys_of(after)
    return [
        *(Delete(key) for key in former if key not in present),
        *(Put(key, b"") for key in present if key not in former),
    ]


def position_of(ticket: tickets_pb2.Ticket) -> bytes:
    """Return where the ticket is in lists by the time of making."""
    return keys.ticket_position(ticket.created_at_ms, ticket.id)


def page(view: ReadView, wanted: TicketFilter, after: bytes, limits: PageLimits) -> TicketPage:
    """Return the newest tickets behind a position, b"" for the first ones. Reads about as many rows as it returns, or
    at most those of `limits` where it has to leave some out."""
    found: list[tickets_pb2.Ticket] = []
    walk = _positions(view, wanted, after, max(_FEWEST, min(limits.tickets + 1, _MOST)))
    size = read = 0
    while len(found) < limits.tickets and read < limits.rows:
        batch = list(islice(walk, min(limits.tickets - len(found), limits.rows - read, _MOST)))
        if not batch:
            return TicketPage(tuple(found), b"")
        read += len(batch)
        for position, value in zip(batch, view.get_many(_ticket_keys(batch)), strict=True):
            message = tickets_pb2.Ticket.FromString(value or b"")
            if _is_wanted(message, wanted):
                size += len(value or b"")
                if found and size > limits.size_bytes:
                    return TicketPage(tuple(found), after)
                found.append(message)
            after = position
    return TicketPage(tuple(found), after if next(walk, None) is not None else b"")


def ended_since(view: ReadView, since_ms: int, agent: tuple[str, int] | None = None) -> Iterator[tickets_pb2.Ticket]:
    """Yield tickets that ended at that time, since the epoch, or later, the last one first; with a cluster and an
    agent those of the agent there."""
    prefix = keys.tickets_ended() if agent is None else keys.tickets_ended_by(*agent)
    ended = _walk(view, prefix, b"", _MOST)
    while batch := list(islice(ended, _MOST)):
        recent = [position for position in batch if keys.time_of_position(position) >= since_ms]
        for value in view.get_many(_ticket_keys(recent)):
            yield tickets_pb2.Ticket.FromString(value or b"")
        if len(recent) < len(batch):
            return


def ended_before(view: ReadView, before_ms: int, after: bytes, limit: int) -> tuple[list[str], bytes]:
    """Return ids of at most so many tickets that ended before that time, since the epoch, and the position of the last
    one for the next call. b"": that was all. `after` is the one of the call before, b"" at first.
    """
    prefix = keys.tickets_ended()
    start = max(after, keys.ticket_position(before_ms - 1, "")) if before_ms > 0 else None
    if start is None:
        return [], b""
    rows = view.scan(prefix, prefix + start + b"\x00", limit)
    positions = [key[len(prefix) :] for key, _ in rows]
    return [keys.id_of_position(each) for each in positions], positions[-1] if len(rows) == limit else b""


def _is_wanted(ticket: tickets_pb2.Ticket, wanted: TicketFilter) -> bool:
    return (
        (not wanted.clusters or ticket.cluster in wanted.clusters)
        and (not wanted.kind or ticket.kind == wanted.kind)
        and (not wanted.states or ticket.state in wanted.states)
    )


def _positions(view: ReadView, wanted: TicketFilter, after: bytes, at_once: int) -> Iterator[bytes]:
    """Yield the positions behind one, of all tickets that are wanted and as few others as the keys allow."""
    clusters = wanted.clusters or ("",)
    if not wanted.states or wanted.states >= _ALL:
        prefixes = [keys.tickets_made(cluster, wanted.kind) for cluster in clusters]
        return heapq.merge(*(_walk(view, prefix, after, at_once) for prefix in prefixes))
    ended = sorted(wanted.states & _OVER)
    prefixes = [keys.tickets_in_state(cluster, state) for cluster in clusters for state in ended]
    return heapq.merge(
        *(_walk(view, prefix, after, at_once) for prefix in prefixes), _open_positions(view, wanted, after)
    )


def _open_positions(view: ReadView, wanted: TicketFilter, after: bytes) -> list[bytes]:
    states = wanted.states - _OVER
    if not states:
        return []
    known = [state for state in TicketState if state.value in states]
    found = (
        keys.ticket_position(each.created_at_ms, each.id)
        for cluster in wanted.clusters or (None,)
        for each in ticket_index.open_entries(view, cluster, known)
    )
    return sorted(position for position in found if position > after)


def _walk(view: ReadView, prefix: bytes, after: bytes, at_once: int) -> Iterator[bytes]:
    start = prefix + after + b"\x00" if after else b""
    while True:
        rows = view.scan(prefix, start, at_once)
        for key, _ in rows:
            yield key[len(prefix) :]
        if len(rows) < at_once:
            return
        start = rows[-1][0] + b"\x00"


def _ticket_keys(positions: Iterable[bytes]) -> list[bytes]:
    return [keys.ticket(keys.id_of_position(position)) for position in positions]


def _keys_of(ticket: tickets_pb2.Ticket | None) -> dict[bytes, None]:
    """Return the keys of a ticket in a fixed order: all members write the same records."""
    if ticket is None:
        return {}
    made = position_of(ticket)
    prefixes = [keys.tickets_made(cluster, kind) for cluster in ("", ticket.cluster) for kind in ("", ticket.kind)]
    found = [prefix + made for prefix in prefixes]
    if ticket.state in _OVER:
        ended = keys.ticket_position(ticket.updated_at_ms, ticket.id)
        found += [keys.tickets_in_state(cluster, ticket.state) + made for cluster in ("", ticket.cluster)]
        found.append(keys.tickets_ended() + ended)
        if ticket.author_agent:
            found.append(keys.tickets_ended_by(ticket.cluster, ticket.author_agent) + ended)
    return dict.fromkeys(found)

"""Indices of tickets against a twin that reads all of them: after any commands, on both stores, from a copy too."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guardian.model.ticket import VALID_TRANSITIONS, TicketState
from metastore import keys
from metastore.memory import MemoryStore
from metastore.rocksdb import RocksDbStore
from metastore.state_machine import MetastoreStateMachine
from metastore.store import Store
from metastore.tables import ticket_order
from metastore.tables.ticket_order import PageLimits, TicketFilter
from metastore.views import Views
from protos.guardian.v1 import federation_pb2, identity_pb2, operations_pb2, tickets_pb2
from protos.guardian.v1 import records_pb2 as pb

pytestmark = pytest.mark.slow

CLUSTERS, KINDS = ("bulk", "live"), ("remove-brokers", "rolling-restart")
NUMBERS = st.integers(0, 4)
STATES = [state.value for state in TicketState]
AGENTS = (identity_pb2.AGENT_UNSPECIFIED, identity_pb2.AGENT_HEALING)


def add(number: int, cluster: str, at_ms: int, agent: identity_pb2.Agent, *, is_draft: bool) -> pb.Command:
    kind = KINDS[number % 2]
    ticket = tickets_pb2.Ticket(
        id=f"t{number}",
        cluster=cluster,
        kind=kind,
        state=tickets_pb2.DRAFT if is_draft else tickets_pb2.PENDING,
        created_at_ms=at_ms,
        author_agent=agent,
        author="healing" if agent else "ann",
        ask=operations_pb2.Ask(kind=kind, brokers=[1]),
    )
    return pb.Command(add_ticket=pb.AddTicket(ticket=ticket))


adds = st.builds(
    add,
    NUMBERS,
    st.sampled_from(CLUSTERS),
    st.integers(-1, 3),
    st.sampled_from(AGENTS),
    is_draft=st.booleans(),
)
moves = st.tuples(NUMBERS, st.integers(0, 3))
trims = st.just([0, 2, 3])
clocks = st.integers(1, 60_000)
"""What happens: a command, a ticket with which of the states that it can go to, tickets to trim, the clock."""
steps = st.lists(st.one_of(adds, moves, moves, trims, clocks), max_size=60)
filters = st.builds(
    TicketFilter,
    st.sampled_from([(), ("live",), ("bulk",), ("bulk", "live")]),
    st.sampled_from(["", *KINDS]),
    st.frozensets(st.sampled_from(STATES), max_size=len(STATES)),
)


def key_of(ticket: tickets_pb2.Ticket) -> tuple[int, str]:
    """In lists the newest comes first; times before the epoch are all alike."""
    return -max(0, ticket.created_at_ms), ticket.id


def everything(views: Views) -> list[tickets_pb2.Ticket]:
    rows = views.snapshot.scan(keys.Table.TICKET.prefix)
    return sorted((tickets_pb2.Ticket.FromString(value) for _, value in rows), key=key_of)


def command_of(step: object, views: Views) -> pb.Command:
    """Return the command of a step, as the store is before it."""
    if isinstance(step, pb.Command):
        return step
    if isinstance(step, list):
        return pb.Command(trim_tickets=pb.TrimTickets(ticket_ids=[f"t{number}" for number in step]))
    if isinstance(step, int):
        return pb.Command(advance_clock=pb.AdvanceClock(clocks_ms=[views.clock_ms + step]))
    assert isinstance(step, tuple)
    number, choice = step
    ticket = views.ticket(f"t{number}")
    targets = sorted(VALID_TRANSITIONS[ticket.state], key=lambda state: state.value) if ticket is not None else []
    target = targets[choice % len(targets)] if targets else TicketState.PENDING
    seen = ticket.state if ticket is not None else TicketState.PENDING
    transition = tickets_pb2.TicketTransition(state=target.value, actor="ann")
    return pb.Command(
        advance_ticket=pb.AdvanceTicket(ticket_id=f"t{number}", expected_state=seen.value, transition=transition)  # type: ignore[arg-type]
    )


def matches(ticket: tickets_pb2.Ticket, wanted: TicketFilter) -> bool:
    return (
        ticket.cluster in (wanted.clusters or CLUSTERS)
        and wanted.kind in ("", ticket.kind)
        and ticket.state in (wanted.states or STATES)
    )


def paged(views: Views, wanted: TicketFilter, size: int, rows: int) -> list[str]:
    after, seen = b"", []
    while True:
        page = views.ticket_page(wanted, after, PageLimits(size, 1 << 20, rows))
        assert len(page.messages) <= size
        seen += [ticket.id for ticket in page.messages]
        assert page.after > after or not page.after
        after = page.after
        if not after:
            return seen


def is_as_the_twin(views: Views, wanted: TicketFilter, size: int, rows: int, since_ms: int) -> None:
    tickets = everything(views)
    assert paged(views, wanted, size, rows) == [each.id for each in tickets if matches(each, wanted)]
    ended = [each for each in tickets if TicketState(each.state).is_over]
    recent = {each.id for each in ended if each.updated_at_ms >= since_ms}
    found = list(ticket_order.ended_since(views.snapshot, since_ms))
    assert {each.id for each in found} == recent
    assert [each.updated_at_ms for each in found] == sorted((each.updated_at_ms for each in found), reverse=True)
    for cluster in CLUSTERS:
        healed = ticket_order.ended_since(views.snapshot, since_ms, (cluster, identity_pb2.AGENT_HEALING))
        assert {each.id for each in healed} == {
            each.id for each in ended if each.id in recent and each.author_agent and each.cluster == cluster
        }
    before, _ = ticket_order.ended_before(views.snapshot, since_ms, b"", 100)
    assert set(before) == {each.id for each in ended if max(0, each.updated_at_ms) < since_ms}
    expected = set(chain.from_iterable(ticket_order.updates(None, each) for each in tickets))
    assert {(key, value) for key, value in views.snapshot.scan(keys.Table.TICKET_ORDER.prefix)} == expected


@settings(max_examples=150)
@given(steps, filters, st.integers(1, 5), st.integers(1, 5), st.integers(0, 200_000))
def test_indices_are_what_whoever_reads_all_tickets_finds(
    done: Sequence[object], wanted: TicketFilter, size: int, rows: int, since_ms: int
) -> None:
    clusters = [
        pb.Command(
            put_cluster=pb.PutCluster(cluster=federation_pb2.Cluster(name=name, cluster_id=name, bootstrap="b:1"))
        )
        for name in CLUSTERS
    ]
    with tempfile.TemporaryDirectory() as folder:
        rocks = RocksDbStore(Path(folder) / "store")
        stores: tuple[Store, ...] = (MemoryStore(), rocks)
        machines = [MetastoreStateMachine(store) for store in stores]
        for index, step in enumerate((*clusters, *done), start=1):
            command = command_of(step, machines[0].read()).SerializeToString()
            replies = [pb.CommandReply.FromString(machine.apply(index, command)) for machine in machines]
            assert "bug" not in replies[0].error
        for machine in machines:
            is_as_the_twin(machine.read(), wanted, size, rows, since_ms)
        copy = Path(folder) / "copy"
        machines[1].save(copy)
        machines[1].apply(index + 1, add(0, "live", 9, AGENTS[1], is_draft=True).SerializeToString())
        machines[1].install(copy)
        is_as_the_twin(machines[1].read(), wanted, size, rows, since_ms)
        rocks.close()

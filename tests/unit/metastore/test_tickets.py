"""The tickets' table: adding once, advancing only from what the proposer saw."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardian.health.model.finding import FindingKind
from guardian.model.actor import Agent
from guardian.model.execution import Execution, ExecutionTask, TaskState
from guardian.model.owned_setting import OwnedSetting
from guardian.model.plan import PartitionMove, ReplicaPlacement
from guardian.model.ticket import VALID_TRANSITIONS, Ticket, TicketState, TicketTransition, TicketTrouble
from guardian.model.topology import Cluster, TopicPartition
from guardian.model.wire.federation import cluster_to_proto
from guardian.model.wire.tickets import execution_to_proto, ticket_from_proto, ticket_to_proto, transition_to_proto
from metastore.memory import MemorySnapshot, MemoryStore
from metastore.state_machine import MetastoreStateMachine
from metastore.tables import tickets
from metastore.tables.packed_executions import put_execution
from metastore.tables.ticket_order import PageLimits, TicketFilter
from metastore.views import Views
from protos.guardian.v1 import records_pb2 as pb
from protos.guardian.v1 import tickets_pb2
from raft.replica import MAX_COMMAND_BYTES

CONTENT = b"a plan"
PLAN_HASH = hashlib.sha256(CONTENT).hexdigest()
CREATED = TicketTransition(TicketState.PENDING, 10, "ann", "too uneven")
TICKET = Ticket(
    id="t1",
    cluster="live",
    kind="balance",
    state=TicketState.PENDING,
    author="ann",
    plan_hash=PLAN_HASH,
    throttle=10_000_000,
    created_at_ms=10,
    updated_at_ms=10,
    history=(CREATED,),
    idempotency_key="key-1",
    moves=3,
    bytes_to_copy=300,
)
MOVE = PartitionMove(TopicPartition("t", 0), (ReplicaPlacement(1),), (ReplicaPlacement(2),), 5)
EXECUTION = Execution(
    "t1",
    (ExecutionTask(0, MOVE, TaskState.RUNNING, "copying", 11),),
    (OwnedSetting("BROKER", "1", "leader.replication.throttled.rate", ("10",), None),),
    "moved one",
)


class Store:
    """The state machine, with a cluster and a plan in it."""

    def __init__(self) -> None:
        self.machine = MetastoreStateMachine(MemoryStore())
        self.propose(put_cluster=pb.PutCluster(cluster=cluster_to_proto(Cluster("live", "b:1", "id-1"))))
        chunk = pb.PutPlanChunk(plan_hash=PLAN_HASH, chunks=1, data=zlib.compress(CONTENT))
        self.propose(put_plan_chunk=chunk)

    def propose(self, **command: object) -> pb.CommandReply:
        message = pb.Command(proposed_at_ms=77, **command)  # type: ignore[arg-type]
        index = self.machine.applied_index + 1
        return pb.CommandReply.FromString(self.machine.apply(index, message.SerializeToString()))

    def add(self, ticket: Ticket) -> pb.CommandReply:
        return self.propose(add_ticket=pb.AddTicket(ticket=ticket_to_proto(ticket)))

    def move(
        self, seen: TicketState, target: TicketState, ticket_id: str = "t1", at_ms: int = 20, actor: str = "bob"
    ) -> pb.CommandReply:
        transition = transition_to_proto(TicketTransition(target, at_ms, actor, "because"))
        return self.propose(
            advance_ticket=pb.AdvanceTicket(ticket_id=ticket_id, expected_state=seen.value, transition=transition)  # type: ignore[arg-type]
        )

    def save(
        self, execution: Execution, seen_revision: int, seen: TicketState = TicketState.PENDING
    ) -> pb.CommandReply:
        return self.propose(
            advance_ticket=pb.AdvanceTicket(
                ticket_id="t1",
                expected_state=seen.value,  # type: ignore[arg-type]
                execution=execution_to_proto(execution),
                expected_execution_revision=seen_revision,
            )
        )

    @property
    def views(self) -> Views:
        return self.machine.read()

    def ticket(self) -> Ticket:
        ticket = self.views.ticket("t1")
        assert ticket is not None
        return ticket


def ids(found: Iterable[Ticket]) -> list[str]:
    return [ticket.id for ticket in found]


def listed(store: Store, cluster: str = "", kind: str = "", states: Iterable[TicketState] = ()) -> list[str]:
    """Return the ids of the first page of a list."""
    wanted = TicketFilter((cluster,) if cluster else (), kind, frozenset(state.value for state in states))
    return [each.id for each in store.views.ticket_page(wanted, b"", PageLimits(100, 1 << 20)).messages]


def down(broker: int) -> TicketTrouble:
    return TicketTrouble(FindingKind.BROKER_DOWN, f"broker {broker}", (broker,))


@pytest.fixture
def store() -> Store:
    return Store()


def test_a_ticket_is_read_back_as_it_was_added(store: Store) -> None:
    reply = store.add(TICKET)
    assert ticket_from_proto(reply.ticket) == TICKET == store.ticket()
    assert store.views.ticket_by_idempotency_key("key-1") == TICKET


def test_the_same_key_answers_with_the_ticket_that_it_made(store: Store) -> None:
    store.add(TICKET)
    store.move(TicketState.PENDING, TicketState.APPROVED)
    reply = store.add(replace(TICKET, id="t2", author="someone"))
    assert ticket_from_proto(reply.ticket) == store.ticket()
    assert tuple(store.views.walk_tickets()) == (store.ticket(),)


def test_a_key_that_made_another_clusters_ticket_is_refused_without_a_word_of_it(store: Store) -> None:
    """As two requests that neither knows of when they are proposed."""
    store.propose(put_cluster=pb.PutCluster(cluster=cluster_to_proto(Cluster("bulk", "b:2", "id-2"))))
    store.add(TICKET)
    before = store.machine.applied_index, tuple(store.views.walk_tickets())
    reply = store.add(replace(TICKET, id="t2", cluster="bulk"))
    assert (reply.error_kind, reply.error) == (
        pb.CONFLICT,
        "idempotency_key 'key-1' was used before: use a new key for each request",
    )
    assert not reply.HasField("ticket")
    assert (store.machine.applied_index - 1, tuple(store.views.walk_tickets())) == before
    unkeyed = replace(TICKET, id="t3", idempotency_key="")
    assert not store.add(unkeyed).error
    reply = store.add(replace(unkeyed, cluster="bulk"))
    assert (reply.error_kind, "another ticket's" in reply.error) == (pb.CONFLICT, True)


def test_an_id_is_one_tickets(store: Store) -> None:
    unkeyed = replace(TICKET, idempotency_key="")
    store.add(unkeyed)
    assert ticket_from_proto(store.add(unkeyed).ticket) == unkeyed
    reply = store.add(replace(TICKET, idempotency_key="other"))
    assert (reply.error_kind, "another ticket's" in reply.error) == (pb.CONFLICT, True)


@pytest.mark.parametrize(
    ("change", "kind", "message"),
    [
        ({"id": ""}, pb.INVALID, "id of the ticket has 0 characters"),
        ({"id": "x" * 201}, pb.INVALID, "id of the ticket has 201"),
        ({"idempotency_key": "x" * 201}, pb.INVALID, "idempotency_key has 201"),
        ({"state": TicketState.APPROVED}, pb.INVALID, "state of a new ticket is APPROVED"),
        ({"cluster": "none"}, pb.NOT_FOUND, "cluster 'none' is not registered"),
        ({"plan_hash": "0" * 64}, pb.NOT_FOUND, "is not stored"),
        (
            {"troubles": tuple(down(n) for n in range(1001))},
            pb.INVALID,
            "troubles: too many (got 1001); use up to 1000",
        ),
        ({"troubles": (down(3), down(3))}, pb.INVALID, "troubles: one is named twice"),
        ({"troubles": (down(-1),)}, pb.INVALID, "broker id is -1"),
        (
            {"troubles": (down(1), replace(down(2), log_dirs=("/d" * 2049,)))},
            pb.INVALID,
            "troubles[1].subject and log_dirs: too long (got 4098); use up to 4096",
        ),
        ({"troubles": (replace(down(2), brokers=tuple(range(1001))),)}, pb.INVALID, "troubles[0].brokers: too long"),
    ],
)
def test_a_wrong_ticket_is_refused(store: Store, change: dict[str, object], kind: int, message: str) -> None:
    reply = store.add(replace(TICKET, **change))  # type: ignore[arg-type]
    assert (reply.error_kind, message in reply.error) == (kind, True), reply.error
    assert tuple(store.views.walk_tickets()) == ()


@pytest.mark.parametrize("target", TicketState)
@pytest.mark.parametrize("state", TicketState)
def test_only_the_transitions_of_the_diagram_are_made(state: TicketState, target: TicketState) -> None:
    store = Store()
    store.add(replace(TICKET, state=TicketState.DRAFT))
    for step in path_to(state):
        store.move(store.ticket().state, step)
    before = store.ticket()
    reply = store.move(state, target)
    if target in VALID_TRANSITIONS[state]:
        transition = TicketTransition(target, 20, "bob", "because")
        expected = replace(before, state=target, updated_at_ms=20, history=(*before.history, transition))
        assert ticket_from_proto(reply.ticket) == store.ticket() == expected
    else:
        assert (reply.error_kind, f"can't go from {state.name} to {target.name}" in reply.error) == (pb.INVALID, True)
        assert store.ticket() == before


def path_to(goal: TicketState) -> list[TicketState]:
    """The shortest steps from DRAFT to the state."""
    paths: list[list[TicketState]] = [[TicketState.DRAFT]]
    for path in paths:
        if path[-1] is goal:
            return path[1:]
        paths.extend([*path, step] for step in VALID_TRANSITIONS[path[-1]] if step not in path)
    raise AssertionError(f"{goal} can't be reached")


def test_a_proposer_who_saw_another_state_loses(store: Store) -> None:
    store.add(TICKET)
    store.move(TicketState.PENDING, TicketState.APPROVED)
    reply = store.move(TicketState.PENDING, TicketState.REJECTED)
    assert (reply.error_kind, "is APPROVED and no longer PENDING" in reply.error) == (pb.CONFLICT, True)
    assert store.ticket().state is TicketState.APPROVED


def test_a_transition_without_a_time_gets_the_proposals(store: Store) -> None:
    store.add(TICKET)
    store.move(TicketState.PENDING, TicketState.APPROVED, at_ms=0)
    assert (store.ticket().updated_at_ms, store.ticket().history[-1].at_ms) == (77, 77)


def test_a_transition_without_an_actor_is_refused(store: Store) -> None:
    store.add(TICKET)
    reply = store.move(TicketState.PENDING, TicketState.APPROVED, actor="")
    assert (reply.error_kind, "actor is empty" in reply.error) == (pb.INVALID, True)


def test_an_execution_is_saved_under_the_next_revision(store: Store) -> None:
    store.add(TICKET)
    assert store.views.execution("t1") is None
    assert not store.save(EXECUTION, 0).error
    assert store.views.execution("t1") == replace(EXECUTION, revision=1)
    assert not store.save(replace(EXECUTION, note="moved two", revision=99), 1).error
    assert store.views.execution("t1") == replace(EXECUTION, note="moved two", revision=2)
    assert store.ticket() == TICKET


def test_tasks_that_do_not_come_along_stay(store: Store) -> None:
    tasks = tuple(ExecutionTask(number, MOVE) for number in (1, 2, 10, 300))
    store.add(TICKET)
    store.save(replace(EXECUTION, tasks=tasks), 0)
    assert store.views.execution("t1") == replace(EXECUTION, tasks=tasks, revision=1)
    done = replace(tasks[2], state=TaskState.DONE)
    assert not store.save(Execution("t1", (done,), note="one more"), 1).error
    expected = Execution("t1", (tasks[0], tasks[1], done, tasks[3]), note="one more", revision=2)
    assert store.views.execution("t1") == expected
    assert store.views.execution_revision("t1") == 2
    twice = store.save(Execution("t1", (done, tasks[2])), 2)
    assert (twice.error_kind, "a number twice" in twice.error) == (pb.INVALID, True)
    assert store.views.execution("t1") == expected


@pytest.mark.parametrize("seen", [0, 2])
def test_a_proposer_who_saw_another_revision_loses(store: Store, seen: int) -> None:
    store.add(TICKET)
    store.save(EXECUTION, 0)
    reply = store.save(replace(EXECUTION, note="late"), seen)
    assert (reply.error_kind, "at revision 1 and no longer" in reply.error) == (pb.CONFLICT, True)
    assert store.views.execution("t1") == replace(EXECUTION, revision=1)


def test_state_and_execution_change_together_or_not_at_all(store: Store) -> None:
    store.add(TICKET)

    def both(seen_revision: int) -> pb.CommandReply:
        return store.propose(
            advance_ticket=pb.AdvanceTicket(
                ticket_id="t1",
                expected_state=TicketState.PENDING.value,  # type: ignore[arg-type]
                transition=transition_to_proto(TicketTransition(TicketState.APPROVED, 20, "bob", "")),
                execution=execution_to_proto(EXECUTION),
                expected_execution_revision=seen_revision,
            )
        )

    assert both(5).error_kind == pb.CONFLICT
    assert (store.ticket().state, store.views.execution("t1")) == (TicketState.PENDING, None)
    assert not both(0).error
    assert (store.ticket().state, store.views.execution("t1")) == (TicketState.APPROVED, replace(EXECUTION, revision=1))


def test_what_advances_nothing_or_nobody_is_refused(store: Store) -> None:
    assert store.move(TicketState.PENDING, TicketState.APPROVED).error_kind == pb.NOT_FOUND
    store.add(TICKET)
    empty = pb.AdvanceTicket(ticket_id="t1", expected_state=TicketState.PENDING.value)  # type: ignore[arg-type]
    assert "changes nothing" in store.propose(advance_ticket=empty).error
    assert "ticket_id of the execution is 'x'" in store.save(replace(EXECUTION, ticket_id="x"), 0).error


def test_lists_are_newest_first_and_driven_tickets_oldest_first(store: Store) -> None:
    for number in (1, 2, 3):
        ticket = replace(TICKET, id=f"t{number}", idempotency_key=f"k{number}", created_at_ms=number)
        assert not store.add(ticket).error
    assert [ticket.id for ticket in store.views.walk_tickets("live")] == ["t3", "t2", "t1"]
    assert tuple(store.views.walk_tickets("bulk")) == ()
    assert store.views.driven_tickets() == ()
    for number in (3, 1):
        store.propose(
            advance_ticket=pb.AdvanceTicket(
                ticket_id=f"t{number}",
                expected_state=TicketState.PENDING.value,  # type: ignore[arg-type]
                transition=transition_to_proto(TicketTransition(TicketState.APPROVED, 20, "bob", "")),
            )
        )
    assert [ticket.id for ticket in store.views.driven_tickets()] == ["t1", "t3"]


@given(st.lists(st.tuples(st.integers(0, 2), st.sampled_from(TicketState)), max_size=40))
def test_driven_tickets_are_those_that_whoever_reads_all_of_them_finds(moves: list[tuple[int, TicketState]]) -> None:
    store = Store()
    for number in range(3):
        store.add(replace(TICKET, id=f"t{number}", idempotency_key=f"k{number}", created_at_ms=number))
    for number, state in moves:
        ticket = store.views.ticket(f"t{number}")
        assert ticket is not None
        store.propose(
            advance_ticket=pb.AdvanceTicket(
                ticket_id=ticket.id,
                expected_state=ticket.state.value,  # type: ignore[arg-type]
                transition=transition_to_proto(TicketTransition(state, 20, "bob", "")),
            )
        )
        everyone = [each for each in reversed(tuple(store.views.walk_tickets())) if each.state.is_driven]
        assert list(store.views.driven_tickets()) == everyone
        assert list(store.views.open_tickets()) == [
            each for each in store.views.walk_tickets() if not each.state.is_over
        ]
        open_states = [state for state in TicketState if not state.is_over]
        assert listed(store, states=open_states) == ids(store.views.open_tickets())
        assert store.views.open_tickets() == store.views.open_tickets("live")
        assert store.views.open_tickets("bulk") == ()
        assert listed(store, "bulk", states=open_states) == []


def test_what_the_executor_asks_for_reads_nothing_of_drafts(monkeypatch: pytest.MonkeyPatch) -> None:
    store, read = Store(), list[object]()
    for number in range(100):
        draft = TicketTransition(TicketState.DRAFT, 10, "ann", "")
        store.add(replace(TICKET, id=f"d{number}", state=TicketState.DRAFT, idempotency_key="", history=(draft,)))
    store.add(TICKET)
    store.move(TicketState.PENDING, TicketState.APPROVED)

    def counted(method: Callable[..., list[Any]]) -> Callable[..., list[Any]]:
        def call(*given: object) -> list[Any]:
            found = method(*given)
            read.extend(found)
            return found

        return call

    for name in ("scan", "get_many"):
        monkeypatch.setattr(MemorySnapshot, name, counted(getattr(MemorySnapshot, name)))
    assert len(store.views.open_tickets()) == 101
    read.clear()
    assert ids(store.views.driven_tickets()) == ["t1"]
    assert len(read) == 2, "the cluster's record, and the ticket"


def test_tickets_that_have_ended_are_not_read_for_those_that_are_driven(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(20):
        store.add(replace(TICKET, id=f"t{number}", idempotency_key=f"k{number}"))
    for number in range(20):
        store.propose(
            advance_ticket=pb.AdvanceTicket(
                ticket_id=f"t{number}",
                expected_state=TicketState.PENDING.value,  # type: ignore[arg-type]
                transition=transition_to_proto(
                    TicketTransition(TicketState.APPROVED if number == 7 else TicketState.REJECTED, 20, "bob", "")
                ),
            )
        )
    read: list[str] = []

    def noted(message: tickets_pb2.Ticket) -> Ticket:
        read.append(message.id)
        return ticket_from_proto(message)

    monkeypatch.setattr(tickets, "ticket_from_proto", noted)
    assert [ticket.id for ticket in store.views.driven_tickets()] == ["t7"]
    assert read == ["t7"]


def test_an_empty_ticket_is_refused(store: Store) -> None:
    assert store.propose(add_ticket=pb.AddTicket()).error_kind == pb.INVALID


def test_tickets_of_guardians_own_actor_are_not_those_of_a_person_of_the_same_name(store: Store) -> None:
    for ticket_id, author in (("t1", "healing"), ("t2", Agent.HEALING), ("t3", Agent.PLACEMENT)):
        assert not store.add(replace(TICKET, id=ticket_id, idempotency_key=ticket_id, author=author)).error
    assert ids(store.views.recent_tickets(0, ("live", Agent.HEALING))) == ["t2"]
    assert store.views.recent_tickets(0, ("bulk", Agent.HEALING)) == ()
    assert len(listed(store, "live", kind=TICKET.kind, states=(TicketState.PENDING,))) == 3
    assert listed(store, states=(TicketState.FAILED,)) == listed(store, kind="other") == []
    assert store.views.ticket_counts() == {"live": {TicketState.PENDING: 3}}
    for number, ticket_id in enumerate(("t1", "t2", "t3")):
        assert not store.move(TicketState.PENDING, TicketState.REJECTED, ticket_id, at_ms=20 + number).error
    assert ids(store.views.recent_tickets(0, ("live", Agent.HEALING))) == ["t2"]
    assert store.views.recent_tickets(1 << 60, ("live", Agent.HEALING)) == ()
    assert ids(store.views.recent_tickets(0)) == ["t1", "t2", "t3"]
    moments = {ticket.id: ticket.updated_at_ms for ticket in store.views.walk_tickets()}
    assert ids(store.views.recent_tickets(moments["t2"])) == ["t2", "t3"]


def many_tasks(count: int) -> Execution:
    """As the removal of a broker of a large cluster has them."""

    def place(broker: int) -> ReplicaPlacement:
        return ReplicaPlacement(broker, f"/var/lib/kafka/data-{broker % 4}/kafka-log{broker}")

    moves = (
        PartitionMove(
            TopicPartition(f"payments.settlement.{number % 600}", number // 600),
            tuple(map(place, (1, 2, 3))),
            tuple(map(place, (4, 2, number % 90 + 5))),
            number * 7919 % 50_000_000_000,
            number * 31 % 5_000_000 / 7,
            f"broker 1 leaves: to broker {number % 90 + 5}, which has {number * 13 % 9973} GB free",
        )
        for number in range(1, count + 1)
    )
    return Execution("t1", tuple(ExecutionTask(number, move) for number, move in enumerate(moves, start=1)))


def test_an_execution_of_20000_tasks_fits_into_one_entry_of_the_log(store: Store) -> None:
    store.add(TICKET)
    execution = many_tasks(20_000)
    advance = pb.AdvanceTicket(ticket_id="t1", expected_state=TicketState.PENDING.value)  # type: ignore[arg-type]
    put_execution(advance, execution_to_proto(execution))
    assert execution_to_proto(execution).ByteSize() > MAX_COMMAND_BYTES
    assert advance.ByteSize() < MAX_COMMAND_BYTES
    assert not store.propose(advance_ticket=advance).error
    assert store.views.execution("t1") == replace(execution, revision=1)


@pytest.mark.parametrize("packed", [b"none", zlib.compress(b"x" * 100)[:-3], zlib.compress(b"\xff" * 100)])
def test_a_packed_execution_that_is_none_changes_nothing(store: Store, packed: bytes) -> None:
    store.add(TICKET)
    advance = pb.AdvanceTicket(
        ticket_id="t1",
        expected_state=TicketState.PENDING.value,  # type: ignore[arg-type]
        packed_execution=packed,
    )
    error = store.propose(advance_ticket=advance).error
    assert "packed_execution of ticket t1: no zlib stream of one execution" in error
    assert store.views.execution("t1") is None


def test_a_small_execution_is_not_packed() -> None:
    advance = pb.AdvanceTicket()
    put_execution(advance, execution_to_proto(EXECUTION))
    assert advance.HasField("execution")
    assert not advance.packed_execution

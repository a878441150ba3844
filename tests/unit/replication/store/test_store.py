"""The replicated store: commands in, typed errors out, reads that follow a ReadIndex."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable

import pytest

from guardian.errors import (
    Conflict,
    GuardianError,
    InvalidInput,
    NotFound,
    OutcomeUnknown,
    Overloaded,
    SessionExpired,
    Unavailable,
)
from guardian.execution.store.execution import ReplicatedExecutionStore
from guardian.model.actor import Actor
from guardian.model.plan import PartitionMove, Plan, ReplicaPlacement
from guardian.model.ticket import Ticket, TicketState, TicketTransition
from guardian.model.topology import Cluster, TopicPartition
from guardian.model.wire.federation import cluster_to_proto
from guardian.replication.store.store import ReplicatedStore
from metastore.memory import MemoryStore
from metastore.state_machine import MetastoreStateMachine
from protos.guardian.v1 import records_pb2
from raft import errors as raft_errors
from raft.inmem import InMemoryReplica
from tests.unit.metastore.proposing import USER, in_session


class Replica(InMemoryReplica):
    """Keeps what it was asked, and fails on demand."""

    def __init__(self, machine: MetastoreStateMachine) -> None:
        super().__init__("g1", machine)
        self.proposed: list[records_pb2.Command] = []
        self.failure: Exception | None = None
        self.leads = True
        self.rounds = 0
        self.staleness: float | None = 0.5

    def propose(self, command: bytes, timeout_s: float) -> bytes:
        if self.failure is not None:
            raise self.failure
        self.proposed.append(records_pb2.Command.FromString(command))
        return super().propose(command, timeout_s)

    def read_index(self, timeout_s: float) -> int:
        if self.failure is not None:
            raise self.failure
        self.rounds += 1
        return super().read_index(timeout_s)

    def staleness_s(self) -> float | None:
        return self.staleness

    def is_leader(self) -> bool:
        return self.leads


@pytest.fixture
def machine() -> MetastoreStateMachine:
    return MetastoreStateMachine(MemoryStore())


@pytest.fixture
def replica(machine: MetastoreStateMachine) -> Replica:
    return Replica(machine)


@pytest.fixture
def store(replica: Replica, machine: MetastoreStateMachine) -> ReplicatedStore:
    store = ReplicatedStore(replica, machine, lambda: 7)
    store.put_cluster(cluster_to_proto(Cluster("live", "h:9092", "id-1")))
    return store


def plan(moves: int = 1, reason: str = "") -> Plan:
    target = (ReplicaPlacement(1),)
    return Plan(
        "live",
        "balance",
        tuple(PartitionMove(TopicPartition("t", n), (), target, reason=reason) for n in range(moves)),
    )


def ticket(store: ReplicatedStore, key: str = "k", ticket_id: str = "t-1") -> Ticket:
    plan_hash = store.put_plan(plan())
    new = Ticket(ticket_id, "live", "balance", TicketState.PENDING, "ann", plan_hash, 5, 1, 1, (), key)
    return store.add_ticket(new)


APPROVED = TicketTransition(TicketState.APPROVED, 3, "bob", "fine")


def test_a_command_carries_the_time_of_its_proposal(store: ReplicatedStore, replica: Replica) -> None:
    assert [command.proposed_at_ms for command in replica.proposed] == [7]


def test_a_command_carries_its_session_and_who_asked(store: ReplicatedStore, replica: Replica) -> None:
    opened = store.propose(records_pb2.Command(open_session=records_pb2.OpenSession(window=2, session_id=7, user=USER)))
    session = in_session(opened.session_id, 1)
    store.drop_cluster("live", session=session, actor=Actor("ann"))
    assert (replica.proposed[-1].session, replica.proposed[-1].actor) == (session.to_message(), "ann")
    store.drop_cluster("live", session=session, actor=Actor("ann"))  # else: NotFound
    with pytest.raises(SessionExpired):
        store.drop_cluster("live", session=in_session(1007, 1))


def test_a_read_follows_a_round_and_writes_nothing_and_a_local_one_asks_nobody(
    store: ReplicatedStore, replica: Replica
) -> None:
    assert store.read_local().cluster("live") is not None
    assert replica.rounds == 0
    look = store.look()
    assert look.views.cluster("live") is not None
    assert (look.staleness_s, replica.rounds, len(replica.proposed)) == (0.0, 1, 1)


@pytest.mark.parametrize(
    ("staleness", "allowed", "told", "rounds"),
    [(0.5, 0.5, 0.5, 0), (0.5, 0.4, 0.0, 1), (None, 60.0, 0.0, 1), (0.0, 0.0, 0.0, 0)],
)
def test_a_stale_read_is_as_old_as_is_allowed_and_says_how_old(
    store: ReplicatedStore, replica: Replica, staleness: float | None, allowed: float, told: float, rounds: int
) -> None:
    replica.staleness = staleness
    assert (store.look(max_staleness_s=allowed).staleness_s, replica.rounds) == (told, rounds)


@pytest.mark.parametrize(
    ("failure", "kind", "message"),
    [
        (raft_errors.NoLeader("x"), Unavailable, r"has no leader within 10 s: retry"),
        (raft_errors.OutcomeUnknown("x"), OutcomeUnknown, r"look again, then retry"),
        (raft_errors.Overloaded("9 wait"), Overloaded, r"overloaded \(9 wait\): retry later"),
        (raft_errors.LowDisk("1 MB is free"), Overloaded, r"nearly full \(1 MB is free\)"),
        (raft_errors.RaftError("another"), Unavailable, r"another"),
        (ValueError("command has 9 bytes"), InvalidInput, r"too large to be stored: command has 9 bytes"),
    ],
)
def test_what_raft_says_becomes_an_error_for_the_caller(
    store: ReplicatedStore, replica: Replica, failure: Exception, kind: type[GuardianError], message: str
) -> None:
    replica.failure = failure
    for call in (lambda: store.drop_cluster("live"), lambda: store.put_plan(plan())):
        with pytest.raises(kind, match=message) as caught:
            call()
        assert type(caught.value) is kind
        if isinstance(caught.value, Overloaded):
            assert caught.value.retry_after_ms > 0
    if isinstance(failure, raft_errors.RaftError):
        with pytest.raises(kind, match=message):
            store.read()


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        (lambda store: store.drop_cluster("nowhere"), NotFound),
        (lambda store: store.put_cluster(cluster_to_proto(Cluster("other", "h:1", "id-1"))), Conflict),
        (lambda store: store.put_cluster(cluster_to_proto(Cluster("other", "h:1"))), InvalidInput),
        (lambda store: store.propose(records_pb2.Command()), InvalidInput),
    ],
)
def test_a_refused_command_raises_its_error(
    store: ReplicatedStore, call: Callable[[ReplicatedStore], object], kind: type[Exception]
) -> None:
    with pytest.raises(kind):
        call(store)


def test_a_refusal_of_a_kind_from_a_later_version_is_still_a_refusal(
    store: ReplicatedStore, replica: Replica, monkeypatch: pytest.MonkeyPatch
) -> None:
    reply = records_pb2.CommandReply(error_kind=99, error="no")  # type: ignore[arg-type]
    monkeypatch.setattr(replica, "propose", lambda *_: reply.SerializeToString())
    with pytest.raises(InvalidInput, match="no"):
        store.drop_cluster("live")


def test_a_plan_of_many_chunks_comes_back_and_costs_one_chunk_again(store: ReplicatedStore, replica: Replica) -> None:
    noise = random.Random(1).randbytes(600_000).hex()  # noqa: S311  that zlib can't shrink below a chunk
    large = plan(2, reason=noise)
    content_hash = store.put_plan(large)
    kinds = [command.WhichOneof("command") for command in replica.proposed]
    assert kinds.count("put_plan_chunk") > 1
    assert store.read().plan(content_hash) == large
    before = len(replica.proposed)
    assert store.put_plan(large) == content_hash
    assert [command.put_plan_chunk.chunk for command in replica.proposed[before:]] == [0], "so that it is kept"


def test_the_same_idempotency_key_answers_with_the_first_ticket(store: ReplicatedStore) -> None:
    assert ticket(store, ticket_id="t-2") == ticket(store, ticket_id="t-3")


def test_of_two_who_move_a_ticket_on_one_is_told(store: ReplicatedStore) -> None:
    made = ticket(store)
    moved = store.advance(made.id, TicketState.PENDING, APPROVED, None, 0)
    assert (moved.state, moved.updated_at_ms, moved.history[-1]) == (TicketState.APPROVED, 3, APPROVED)
    with pytest.raises(Conflict):
        store.advance(made.id, TicketState.PENDING, APPROVED, None, 0)


def test_who_waits_for_a_change_is_woken_by_it(store: ReplicatedStore) -> None:
    seen = store.read_local().applied_index
    threading.Timer(0.05, store.drop_cluster, ["live"]).start()
    store.wait_for_change(seen, timeout_s=60)
    assert store.read_local().applied_index > seen


def test_a_follower_does_not_confirm_that_it_leads(store: ReplicatedStore, replica: Replica) -> None:
    """Its ReadIndex is answered all the same, by the leader."""
    made = ticket(store)
    executions = ReplicatedExecutionStore(store)
    executions.confirm(made.id, TicketState.PENDING, 0)
    replica.leads = False
    with pytest.raises(Unavailable, match="this member leads no longer"):
        executions.confirm(made.id, TicketState.PENDING, 0)


def test_a_leader_whose_ticket_was_driven_on_by_another_one_is_told(store: ReplicatedStore) -> None:
    """Leadership went to another member and came back."""
    made = ticket(store)
    executions = ReplicatedExecutionStore(store)
    for state, revision in ((TicketState.APPROVED, 0), (TicketState.PENDING, 1)):
        with pytest.raises(Conflict, match=f"ticket {made.id} was driven on meanwhile"):
            executions.confirm(made.id, state, revision)


def test_a_plan_that_is_not_stored_is_not_found(store: ReplicatedStore) -> None:
    with pytest.raises(NotFound, match="plan 'ff' is not stored"):
        ReplicatedExecutionStore(store).plan("ff")

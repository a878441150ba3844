"""Which tickets and plans may go: old ones that nothing refers to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from guardian.model.actor import Agent
from guardian.model.execution import Execution, ExecutionTask
from guardian.model.federation import Exclusion
from guardian.model.operation import Ask, AskKind
from guardian.model.owned_setting import OwnedSetting
from guardian.model.plan import PartitionMove, Plan, ReplicaPlacement
from guardian.model.ticket import Ticket, TicketState, TicketTransition
from guardian.model.topology import Broker, BrokerState, Cluster, TopicPartition
from guardian.model.wire.entries import entry_to_proto
from guardian.model.wire.federation import cluster_to_proto
from guardian.model.wire.plans import plan_hash, plan_to_bytes
from guardian.model.wire.tickets import execution_to_proto, ticket_to_proto, transition_to_proto
from metastore import keys
from metastore.tables import plans
from metastore.tables.clock import MAX_STEP_MS
from metastore.views import Views
from protos.guardian.v1 import events_pb2, federation_pb2
from protos.guardian.v1 import records_pb2 as pb
from tests.unit.metastore.proposing import Group as Metastore

KEEP_MS = 25_000  # less than a step of the clock
START_MS = 1_000_000
MOVE = PartitionMove(TopicPartition("t", 0), (ReplicaPlacement(1),), (ReplicaPlacement(2),))
PLAN = Plan("live", "run-plan", (MOVE,))
SERIALIZED = plan_to_bytes(PLAN)
HASH = plan_hash(SERIALIZED)
TICKET = Ticket("t1", "live", "run-plan", TicketState.PENDING, "ann", HASH, 1, START_MS, START_MS, ())
THROTTLE = OwnedSetting("BROKER", "1", "leader.replication.throttled.rate", ("1000",), None)


class Group(Metastore):
    def __init__(self) -> None:
        super().__init__()
        self.register("live", "id-1")
        self.at(START_MS)

    def at(self, now_ms: int) -> None:
        """Set the group's clock."""
        self.now_ms = now_ms
        while Views(self.store).clock_ms < now_ms:
            assert not self.propose(advance_clock=pb.AdvanceClock(clocks_ms=[now_ms])).error

    def put_plan(self) -> None:
        for chunk in plans.split(HASH, SERIALIZED):
            assert not self.propose(put_plan_chunk=chunk).error

    def add(self, ticket: Ticket) -> None:
        if ticket.plan_hash:
            self.put_plan()
        assert not self.propose(add_ticket=pb.AddTicket(ticket=ticket_to_proto(ticket))).error

    def move(self, ticket: Ticket, *states: TicketState, execution: Execution | None = None) -> None:
        state = self.ticket(ticket.id).state
        for following in states:
            transition = transition_to_proto(TicketTransition(following, self.now_ms, "ann", "x"))
            command = pb.AdvanceTicket(ticket_id=ticket.id, expected_state=state.value, transition=transition)  # type: ignore[arg-type]
            if execution is not None and following is states[-1]:
                command.execution.CopyFrom(execution_to_proto(execution))
            reply = self.propose(advance_ticket=command)
            assert not reply.error, reply.error
            state = following

    def set_broker(self, state: BrokerState) -> None:
        cluster = cluster_to_proto(Cluster("live", "b:1", "id-1", brokers=(Broker(1, state=state),)))
        assert not self.propose(put_cluster=pb.PutCluster(cluster=cluster)).error

    def ticket(self, ticket_id: str) -> Ticket:
        found = Views(self.store).ticket(ticket_id)
        assert found is not None
        return found

    def trim(self, *ticket_ids: str, plan_hashes: tuple[str, ...] = ()) -> int:
        command = pb.TrimTickets(keep_ms=KEEP_MS, ticket_ids=ticket_ids, plan_hashes=plan_hashes)
        reply = self.propose(trim_tickets=command)
        assert not reply.error, reply.error
        return reply.swept


ENDED = (TicketState.APPROVED, TicketState.RUNNING, TicketState.SUCCEEDED)


@pytest.fixture
def group() -> Group:
    return Group()


def rows(group: Group) -> set[int]:
    """Return the tables in which something of a ticket or plan is stored."""
    of_tickets = (
        keys.Table.PLAN, keys.Table.PLAN_CHUNK, keys.Table.TICKET, keys.Table.TICKET_INDEX,
        keys.Table.TICKET_BY_IDEMPOTENCY_KEY, keys.Table.EXECUTION, keys.Table.EXECUTION_TASK,
    )  # fmt: skip
    return {table for table in of_tickets if group.store.scan(table.prefix)}


def test_an_old_ticket_goes_with_all_that_is_its_own_and_then_its_plan(group: Group) -> None:
    group.add(replace(TICKET, idempotency_key="k"))
    execution = Execution(TICKET.id, (ExecutionTask(1, MOVE),))
    group.move(TICKET, *ENDED, execution=execution)
    assert rows(group) >= {keys.Table.EXECUTION_TASK, keys.Table.TICKET_BY_IDEMPOTENCY_KEY}
    group.at(START_MS + KEEP_MS)
    assert group.trim(TICKET.id, plan_hashes=(HASH,)) == 0, "it is not older than that"
    group.at(START_MS + KEEP_MS + 1)
    assert group.trim(TICKET.id, TICKET.id, "t-unknown") == 1
    assert rows(group) == {keys.Table.PLAN, keys.Table.PLAN_CHUNK}
    assert group.trim(TICKET.id, plan_hashes=(HASH, HASH, "unknown")) == 1
    assert rows(group) == set()


def test_a_plan_stays_while_another_ticket_has_it_and_after_it_was_put_again(group: Group) -> None:
    group.add(TICKET)
    group.add(replace(TICKET, id="t2"))
    group.move(TICKET, TicketState.REJECTED)
    group.at(START_MS + KEEP_MS + 1)
    assert group.trim(TICKET.id) == 1
    assert group.trim(plan_hashes=(HASH,)) == 0
    group.move(replace(TICKET, id="t2"), TicketState.REJECTED)
    group.at(START_MS + 3 * KEEP_MS)
    assert group.trim("t2") == 1
    group.put_plan()
    assert group.trim(plan_hashes=(HASH,)) == 0, "somebody is about to make a ticket of it"


def test_a_part_of_a_plan_goes_as_well(group: Group) -> None:
    half = pb.PutPlanChunk(plan_hash=HASH, chunk=0, chunks=2, data=b"half")
    assert not group.propose(put_plan_chunk=half).error
    group.at(START_MS + KEEP_MS + 1)
    assert group.trim(plan_hashes=(HASH,)) == 1
    assert rows(group) == set()


@pytest.mark.parametrize("states", [(), ENDED[:1], ENDED[:2]], ids=["PENDING", "APPROVED", "RUNNING"])
def test_a_ticket_that_is_not_over_stays(group: Group, states: tuple[TicketState, ...]) -> None:
    group.add(TICKET)
    group.move(TICKET, *states)
    group.at(START_MS + 10 * KEEP_MS)
    assert group.trim(TICKET.id) == 0


def test_a_ticket_with_a_setting_that_is_not_restored_stays(group: Group) -> None:
    group.add(TICKET)
    group.move(TICKET, *ENDED, execution=Execution(TICKET.id, (), throttles=(THROTTLE,)))
    group.at(START_MS + 10 * KEEP_MS)
    assert group.trim(TICKET.id) == 0


def put_exclusion(group: Group, by_ticket: str) -> Callable[[], None]:
    exclusion = Exclusion("live", 1, "ann", "taken offline", by_ticket=by_ticket)
    change = federation_pb2.FederationChange(put=entry_to_proto(exclusion))
    group.propose(change_federation=federation_pb2.ChangeFederationRequest(changes=[change]))

    def lift() -> None:
        key = federation_pb2.ExclusionKey(cluster="live", broker_id=1)
        dropped = federation_pb2.FederationChange(drop=federation_pb2.FederationKey(exclusion=key))
        group.propose(change_federation=federation_pb2.ChangeFederationRequest(changes=[dropped]))

    return lift


def test_a_ticket_whose_exclusion_stands_stays_until_it_is_lifted(group: Group) -> None:
    ask = Ask(AskKind.OFFLINE, (1,))
    ticket = replace(TICKET, kind=ask.kind, ask=ask, plan_hash="")
    group.add(ticket)
    group.move(ticket, *ENDED)
    group.at(START_MS + 10 * KEEP_MS)
    for owner in (ticket.id, ""):
        lift = put_exclusion(group, owner)
        assert group.trim(ticket.id) == 0, "it knows the leaders that the broker gets back"
        lift()
    group.set_broker(BrokerState.MAINTENANCE)
    assert group.trim(ticket.id) == 0
    group.set_broker(BrokerState.ACTIVE)
    assert group.trim(ticket.id) == 1


@pytest.mark.parametrize("owner", ["t1", "t2"])
def test_a_removal_stays_while_its_own_exclusion_stands(group: Group, owner: str) -> None:
    ask = Ask(AskKind.REMOVE, (1,))
    ticket = replace(TICKET, kind=ask.kind, ask=ask, plan_hash="")
    group.add(ticket)
    group.move(ticket, *ENDED)
    group.at(START_MS + 10 * KEEP_MS)
    put_exclusion(group, owner)
    assert group.trim(ticket.id) == (owner != ticket.id)


def test_a_proposer_whose_clock_is_off_ends_a_ticket_when_the_group_says(group: Group) -> None:
    group.add(TICKET)
    for stamp_ms, state in ((1, TicketState.APPROVED), (START_MS * 1000, TicketState.REJECTED)):
        before = group.ticket(TICKET.id).state
        transition = transition_to_proto(TicketTransition(state, stamp_ms, "ann", "x"))
        command = pb.AdvanceTicket(ticket_id=TICKET.id, expected_state=before.value, transition=transition)  # type: ignore[arg-type]
        assert not group.propose(advance_ticket=command).error
        assert START_MS <= group.ticket(TICKET.id).updated_at_ms <= START_MS + MAX_STEP_MS


def test_healings_ticket_stays_while_something_calls_a_person_about_its_cluster(group: Group) -> None:
    agent = ticket_to_proto(replace(TICKET, author=Agent.HEALING))
    group.put_plan()
    assert not group.propose(add_ticket=pb.AddTicket(ticket=agent)).error
    group.move(TICKET, TicketState.REJECTED)
    call = events_pb2.Call(cluster="live", finding="healing-failed/1", sentence="x", since_ms=1)
    assert not group.propose(put_events=events_pb2.PutEvents(raised=[call])).error
    group.at(START_MS + 10 * KEEP_MS)
    assert group.trim(TICKET.id) == 0
    assert not group.propose(put_events=events_pb2.PutEvents(ended=[call])).error
    assert group.trim(TICKET.id) == 1


@pytest.mark.parametrize(
    "command",
    [pb.TrimTickets(keep_ms=-1), pb.TrimTickets(ticket_ids=["t"] * 101), pb.TrimTickets(plan_hashes=["h"] * 101)],
    ids=["negative time", "too many tickets", "too many plans"],
)
def test_a_command_out_of_range_is_refused(group: Group, command: pb.TrimTickets) -> None:
    assert group.propose(trim_tickets=command).error_kind == pb.INVALID


def test_before_the_group_has_a_clock_nothing_is_old() -> None:
    group = Metastore()
    group.register("live", "id-1")
    ticket = replace(TICKET, plan_hash="", kind="offline-brokers", ask=Ask(AskKind.OFFLINE, (1,)))
    assert not group.propose(add_ticket=pb.AddTicket(ticket=ticket_to_proto(ticket))).error
    rejected = transition_to_proto(TicketTransition(TicketState.REJECTED, 1, "ann", "x"))
    advance = pb.AdvanceTicket(ticket_id="t1", expected_state=TicketState.PENDING.value, transition=rejected)  # type: ignore[arg-type]
    assert not group.propose(advance_ticket=advance).error
    assert group.propose(trim_tickets=pb.TrimTickets(ticket_ids=["t1"])).swept == 0

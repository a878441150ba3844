"""Tickets that ask for brokers, before they run; and what operations keep in the replicated store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from guardian.errors import Conflict, GuardianError, InvalidInput, NotFound
from guardian.execution.loop.hooks import HookRunner
from guardian.execution.model import Hook
from guardian.execution.operations.leaders import GOAL
from guardian.execution.rules.labelling import owned
from guardian.execution.store.operation_store import ReplicatedOperationStore
from guardian.model.actor import Agent
from guardian.model.execution import DirectoryIntent, Execution, ExecutionTask, Subject, TaskState
from guardian.model.federation import Entry, Exclusion, IdcPolicy, Machine, Topic
from guardian.model.operation import Ask, AskKind, Quorum
from guardian.model.plan import PartitionMove, Plan, ReplicaPlacement
from guardian.model.tasks import Remove, Task
from guardian.model.ticket import Ticket, TicketState, TicketTransition
from guardian.model.tickets.approval import ApprovalPolicy, everybody
from guardian.model.topology import Broker, BrokerState, Cluster, TopicPartition
from guardian.model.wire.entries import entry_to_proto
from guardian.model.wire.federation import cluster_to_proto
from guardian.model.wire.operations import ask_to_proto
from guardian.security.model.identity import Grant, Identity, Role
from guardian.serving.who_asks import asking
from guardian.settings.rules import applied, restored
from guardian.tickets.service.asks import Asker, Asks
from guardian.tickets.service.new_tickets import NewTickets
from guardian.tickets.service.previews import Previews
from guardian.tickets.service.tickets import TicketsServicer
from metastore.views import Views
from protos.guardian.v1 import federation_pb2, records_pb2, tickets_pb2
from tests.unit.member.member import Member

T0 = TopicPartition("t", 0)
HOOKS = {
    "local": Hook.of("local", {"kind": "command", "command": ["true"]}),
    "pods": Hook.of("pods", {"kind": "kubernetes", "namespace": "kafka", "pod": "live-{broker}"}),
    "remote": Hook.of("remote", {"kind": "systemd", "unit": "kafka@{broker}", "host": "guardian@{host}"}),
}


ANN = Asker("ann", lambda: True)


class Planner:
    """Gives one plan, or refuses."""

    def __init__(self) -> None:
        self.made: Plan | InvalidInput = Plan("live", "remove-brokers", ())

    def plan_for(
        self,
        person: str,
        is_awaited: Callable[[], bool],
        cluster: str,
        task: Task,
        *,
        complete_metrics: bool = False,
    ) -> Plan:
        assert (person, is_awaited()) == ("ann", True)
        assert (cluster, task, complete_metrics) == ("live", Remove((2,)), True)
        if isinstance(self.made, InvalidInput):
            raise self.made
        return self.made

    def ask(self, key: str, cluster: str, task: Task, *, complete_metrics: bool = False) -> Plan | GuardianError | None:
        raise AssertionError(f"a dry run waits: {key} {cluster} {task} {complete_metrics}")

    def forget(self, key: str) -> None:
        raise AssertionError(f"nothing was asked for: {key}")


@pytest.fixture
def member() -> Iterator[Member]:
    member = Member()
    brokers = tuple(Broker(broker) for broker in (1, 2, 3))
    member.store.put_cluster(cluster_to_proto(Cluster("live", "h:9092", "fake", brokers=brokers)))
    yield member
    member.stop()


@pytest.fixture
def planner() -> Planner:
    return Planner()


@pytest.fixture
def asks(member: Member, planner: Planner) -> Asks:
    return Asks(member.store, lambda _: member.kafka, planner, HookRunner(HOOKS), lambda: member.now_ms)


def ticket(ask: Ask, state: TicketState = TicketState.PENDING) -> Ticket:
    return Ticket("t-1", "live", ask.kind.value, state, "ann", "", 1_000_000, 5, 5, ask=ask)


@pytest.mark.parametrize(
    ("cluster", "ask", "error", "sentence"),
    [
        ("gone", Ask(AskKind.REMOVE, (1,)), NotFound, "cluster 'gone' is not registered"),
        ("live", Ask(AskKind.RESTART, (1,), hook="x"), InvalidInput, "hook is 'x': name one of the members'"),
        (
            "live",
            Ask(AskKind.OFFLINE, (1, 9)),
            InvalidInput,
            "brokers has 9, which is not in cluster live: its brokers are 1, 2, 3",
        ),
        (
            "live",
            Ask(AskKind.RESTART, (1,), controllers=(100, 7), hook="local"),
            InvalidInput,
            "controllers has 7, which is no voter of live's quorum: 100 are",
        ),
        (
            "live",
            Ask(AskKind.REMOVE, (2,), shutdown=True, hook="pods"),
            InvalidInput,
            "hook is 'pods', of kind kubernetes, which can restart a broker and not stop it: use a hook of kind "
            "command or systemd, or none, and stop it by hand",
        ),
        ("live", Ask(AskKind.OFFLINE, (2,), shutdown=True, hook="pods"), InvalidInput, "restart a broker and not stop"),
        ("live", Ask(AskKind.ONLINE, (2,), hook="pods"), InvalidInput, "which can restart a broker and not start it"),
        ("live", Ask(AskKind.REMOVE, (2,), hook="local"), InvalidInput, "hook of remove-brokers is 'local', but"),
        (
            "live",
            Ask(AskKind.RESTART, (1,), controllers=(100,), hook="remote"),
            InvalidInput,
            "hook is 'remote', which needs the host of node 100, and that is not known: add its machine",
        ),
    ],
)
def test_what_is_wrong_at_first_sight_is_said(
    asks: Asks, cluster: str, ask: Ask, error: type[GuardianError], sentence: str
) -> None:
    with pytest.raises(error) as raised:
        asks.check(cluster, ask)
    assert sentence in str(raised.value)


def test_a_removal_names_brokers_that_are_registered_or_hold_something(asks: Asks, member: Member) -> None:
    with pytest.raises(InvalidInput, match="broker 9 is not in the model of cluster live: name one of 1, 2, 3"):
        asks.check("live", Ask(AskKind.REMOVE, (2, 9)))
    member.store.put_cluster(cluster_to_proto(Cluster("live", "h:9092", "fake")))
    for broker in (2, 3):
        member.kafka.kill_broker(broker)
        asks.check("live", Ask(AskKind.REMOVE, (broker,)))
        assert member.kafka.unregister_broker(broker) == ""
    asks.check("live", Ask(AskKind.REMOVE, (2,)))
    with pytest.raises(InvalidInput, match="broker 3 is not in the model of cluster live: name one of 1, 2"):
        asks.check("live", Ask(AskKind.REMOVE, (3,)))


def test_an_amendment_may_keep_what_the_ticket_removed_and_adds_only_what_is_there(asks: Asks, member: Member) -> None:
    member.kafka.kill_broker(3)
    assert member.kafka.unregister_broker(3) == ""
    member.store.put_cluster(cluster_to_proto(Cluster("live", "h:9092", "fake")))
    made = replace(ticket(Ask(AskKind.REMOVE, (3,))), plan_hash="", throttle=1_000_000)
    member.store.add_ticket(made)
    assert asks.amend(made, None, (2, 3), (), "ann", "").ask == Ask(AskKind.REMOVE, (2, 3), revision=1)
    with pytest.raises(InvalidInput, match="broker 9 is not in the model of cluster live"):
        asks.amend(made, None, (3, 9), (), "ann", "")


def test_a_hook_that_can_do_it_is_taken(asks: Asks, member: Member) -> None:
    asks.check("live", Ask(AskKind.RESTART, (1, 2), hook="pods"))
    asks.check("live", Ask(AskKind.REMOVE, (2,), shutdown=True, hook="remote"))
    asks.check("live", Ask(AskKind.ONLINE, (2,), hook="remote"))
    member.kafka.kill_broker(2)
    with pytest.raises(InvalidInput, match="needs the host of node 2"):
        asks.check("live", Ask(AskKind.ONLINE, (2,), hook="remote"))
    asks.check("live", Ask(AskKind.REMOVE, (2,), shutdown=True, hook="remote"))
    machines = [Machine("m2", cluster="live", broker_id=2), Machine("m9", cluster="live", broker_id=100)]
    changes = [federation_pb2.FederationChange(put=entry_to_proto(machine)) for machine in machines]
    changed = federation_pb2.ChangeFederationRequest(changes=changes)
    member.store.propose(records_pb2.Command(change_federation=changed))
    asks.check("live", Ask(AskKind.ONLINE, (2,), hook="remote"))
    asks.check("live", Ask(AskKind.RESTART, (1,), controllers=(100,), hook="remote"))


def test_a_ticket_of_before_is_amended_though_one_of_its_fields_is_without_effect(asks: Asks, member: Member) -> None:
    made = replace(ticket(Ask(AskKind.REMOVE, (2,), hook="local")), idempotency_key="k")
    member.store.add_ticket(made)
    assert asks.amend(made, None, (2, 3), (), "ann", "more").ask == Ask(
        AskKind.REMOVE, (2, 3), hook="local", revision=1
    )


def test_a_dry_run_of_a_removal_shows_its_moves_or_why_not(asks: Asks, planner: Planner, member: Member) -> None:
    ask = Ask(AskKind.REMOVE, (2,), shutdown=True, hook="local")
    original = (ReplicaPlacement(1, "/d0"), ReplicaPlacement(2, "any"))
    target = (ReplicaPlacement(1, "/d0"), ReplicaPlacement(3, "any"))
    planner.made = Plan("live", "remove-brokers", (PartitionMove(T0, original, target),), notes=("1 of 1 can go",))
    made = asks.rehearse(ticket(ask), ANN)
    assert [move.target_brokers for move in made.moves] == [(1, 3)]
    assert made.notes[-1] == "1 of 1 can go"
    assert "stopped by hook local, then unregistered" in " ".join(made.notes)
    planner.made = replace(planner.made, moves=(), unmet=("broker 2 can't go: no room",))
    with pytest.raises(InvalidInput, match="broker 2 can't go: no room"):
        asks.rehearse(ticket(ask), ANN)
    planner.made = InvalidInput("metrics of broker 3 of cluster live are missing")
    with pytest.raises(InvalidInput, match="metrics of broker 3"):
        asks.rehearse(ticket(ask), ANN)
    assert ReplicatedOperationStore(member.store, lambda: 0).exclusions("live") == {}


def test_a_dry_run_of_a_restart_shows_all_batches(asks: Asks, member: Member) -> None:
    member.kafka.quorum = Quorum(100, frozenset({100, 101, 102}), frozenset({100, 101, 102}))
    ask = Ask(AskKind.RESTART, (1, 2, 3), controllers=(100, 101), hook="local")
    notes = asks.rehearse(ticket(ask), ANN).notes
    assert len(notes) == 5
    assert [note.partition(":")[0] for note in notes] == [f"batch {number}" for number in range(1, 6)]
    assert {note.partition(": ")[2].partition(";")[0] for note in notes[:3]} == {"1", "2", "3"}
    assert notes[3].startswith("batch 4: 101")  # the active controller comes last
    member.kafka.set_config(("TOPIC", "t"), "min.insync.replicas", "2")
    with pytest.raises(InvalidInput, match="t-0 has 2 replicas and needs 2 in sync"):
        asks.rehearse(ticket(ask), ANN)


@pytest.mark.parametrize(
    ("shutdown", "hook", "last"),
    [
        (True, "local", "shut down: hook local stops broker 1"),
        (True, "", "shut down: no hook was named: stop by hand broker 1"),
        (False, "", "broker 1 without leaders, may be stopped; online-brokers brings back what was"),
    ],
)
def test_a_dry_run_of_brokers_taken_offline_goes_on_to_leaders_and_hook(
    asks: Asks, member: Member, shutdown: bool, hook: str, last: str
) -> None:
    before = member.kafka.peek()
    notes = asks.rehearse(ticket(Ask(AskKind.OFFLINE, (1,), shutdown=shutdown, hook=hook)), ANN).notes
    assert notes == ("exclude: marks broker 1 as away", "leaders away: 1 leader moves away from broker 1", last)
    assert member.kafka.peek().partitions == before.partitions
    assert ReplicatedOperationStore(member.store, lambda: 0).exclusions("live") == {}
    assert asks.rehearse(ticket(Ask(AskKind.OFFLINE, (3,))), ANN).notes[1] == "leaders away: broker 3 leads nothing"


def test_a_dry_run_of_a_restart_that_finalizes_tells_the_levels_after_its_batches(asks: Asks, member: Member) -> None:
    member.kafka.level = 25
    ask = Ask(AskKind.RESTART, (1, 2, 3), hook="local", finalize=True)
    notes = asks.rehearse(ticket(ask), ANN).notes
    assert [note.partition(" ")[0] for note in notes] == ["batch", "batch", "batch", "then"]
    assert notes[3].startswith("then metadata.version 25 -> 29")
    assert notes[3].endswith("which can't be taken back")
    assert member.kafka.level == 25
    with pytest.raises(InvalidInput, match=r"metadata\.version is 25 already, above 24, and is never lowered"):
        asks.rehearse(ticket(replace(ask, metadata_version=24)), ANN)


def test_an_amendment_is_checked_and_stored(asks: Asks, member: Member) -> None:
    member.store.add_ticket(
        replace(
            ticket(Ask(AskKind.REMOVE, (2,))),
            idempotency_key="k",
            history=(TicketTransition(TicketState.PENDING, 5, "ann", "created"),),
        )
    )
    stored = member.store.read().ticket("t-1")
    assert stored is not None
    amended = asks.amend(stored, None, (2, 3), (), "bob", "both")
    assert amended.ask == Ask(AskKind.REMOVE, (2, 3), revision=1)
    with pytest.raises(Conflict):
        asks.amend(stored, None, (3,), (), "bob", "an old look")
    with pytest.raises(InvalidInput, match="asks for brokers 2, 3 already"):
        asks.amend(amended, None, (3, 2), (), "bob", "again")


def test_an_amendment_does_not_slip_under_an_approval_that_comes_meanwhile(asks: Asks, member: Member) -> None:
    member.store.add_ticket(
        replace(
            ticket(Ask(AskKind.REMOVE, (2,))),
            idempotency_key="k",
            history=(TicketTransition(TicketState.PENDING, 5, "ann", "created"),),
        )
    )
    seen = member.store.read().ticket("t-1")
    assert seen is not None
    approved = TicketTransition(TicketState.APPROVED, 5, "bob", "fine")
    member.store.advance("t-1", TicketState.PENDING, approved, None, 0)
    with pytest.raises(Conflict, match="ticket t-1 is APPROVED and no longer PENDING"):
        asks.amend(seen, None, (2, 3), (), "ann", "one more")


def servicer_with(asks: Asks, member: Member, policy: ApprovalPolicy) -> TicketsServicer:
    new_tickets = NewTickets(member.store, lambda _: member.kafka, lambda: policy, lambda: member.now_ms, asks)
    previews = Previews(member.store, lambda _: member.kafka, lambda: member.now_ms, asks=asks)
    return TicketsServicer(
        member.store,
        None,  # type: ignore[arg-type]  # who watches is not asked about
        None,  # type: ignore[arg-type]
        lambda: policy,
        lambda: member.now_ms,
        new_tickets,
        previews,
        asks,
    )


def test_who_may_amend_is_asked_again_when_the_ticket_was_approved_meanwhile(asks: Asks, member: Member) -> None:
    made = replace(ticket(Ask(AskKind.REMOVE, (2,))), idempotency_key="k")
    member.store.add_ticket(replace(made, history=(TicketTransition(TicketState.PENDING, 5, "ann", "created"),)))
    approved = TicketTransition(TicketState.APPROVED, 5, "bob", "fine")

    class ApprovedMeanwhile(Asks):
        def amend(self, ticket: Ticket, *arguments: object) -> Ticket:
            if ticket.state is TicketState.PENDING:
                member.store.advance("t-1", TicketState.PENDING, approved, None, 0)
            return asks.amend(ticket, *arguments)  # type: ignore[arg-type]

    meanwhile = ApprovedMeanwhile(
        member.store, lambda _: member.kafka, Planner(), HookRunner({}), lambda: member.now_ms
    )
    servicer = servicer_with(meanwhile, member, everybody(author_may_approve=False))
    request = tickets_pb2.AmendTicketRequest(ticket_id="t-1", actor="ann", brokers=(2, 3))
    with pytest.raises(InvalidInput, match="broker 3 would come to an approved ticket: actor is 'ann', the author"):
        servicer.AmendTicket(request, None)  # type: ignore[arg-type]
    request.actor = "bob"
    assert list(servicer.AmendTicket(request, None).ask.brokers) == [2, 3]  # type: ignore[arg-type]


def test_an_amendment_is_checked_in_a_rehearsal_too(asks: Asks, member: Member) -> None:
    made = replace(ticket(Ask(AskKind.RESTART, (2,), hook="local")), idempotency_key="k")
    member.store.add_ticket(replace(made, history=(TicketTransition(TicketState.PENDING, 5, "ann", "created"),)))
    servicer = servicer_with(asks, member, everybody())

    def rehearsed(*brokers: int) -> str:
        amended = ask_to_proto(Ask(AskKind.RESTART, brokers, hook="local"))
        request = tickets_pb2.PreviewTicketRequest(ticket_id="t-1", amended=amended)
        return servicer.PreviewTicket(request, None).remark  # type: ignore[arg-type]

    assert rehearsed(2, 3) == "it would ask for brokers 2, 3"
    with pytest.raises(InvalidInput, match="brokers has 9, which is not in cluster live"):
        rehearsed(2, 9)
    with pytest.raises(InvalidInput, match="asks for broker 2 already"):
        rehearsed(2)
    stored = member.store.read().ticket("t-1")
    assert stored is not None
    assert stored.ask == made.ask


def test_exclusions_are_put_and_lifted_as_they_are(member: Member) -> None:
    store = ReplicatedOperationStore(member.store, lambda: 1_000)
    mine, old = Exclusion("live", 1, "ann", "removed by ticket t-1"), Exclusion("live", 2, "bob", "old", until_ms=500)
    store.put_exclusions([mine, old])
    store.put_exclusions([mine])
    assert store.exclusions("live") == {1: mine}
    store.lift_exclusions([replace(mine, who="eve"), Exclusion("live", 3, "ann", "none")])
    assert store.exclusions("live") == {1: mine}
    store.lift_exclusions([mine])
    store.lift_exclusions([mine])
    assert store.exclusions("live") == {}


def test_brokers_have_states_until_they_are_forgotten(member: Member) -> None:
    store = ReplicatedOperationStore(member.store, lambda: 1_000)
    store.set_broker_states("live", {2: BrokerState.MAINTENANCE, 9: BrokerState.DRAINING})
    assert store.broker_states("live") == {1: BrokerState.ACTIVE, 2: BrokerState.MAINTENANCE, 3: BrokerState.ACTIVE}
    store.forget_broker("live", 3)
    store.forget_broker("live", 3)
    assert sorted(store.broker_states("live")) == [1, 2]
    store.forget_broker("gone", 3)
    assert store.broker_states("gone") == {}


def put(member: Member, *entries: Entry) -> None:
    changes = [federation_pb2.FederationChange(put=entry_to_proto(each)) for each in entries]
    member.store.propose(records_pb2.Command(change_federation=federation_pb2.ChangeFederationRequest(changes=changes)))


def test_the_machine_of_a_broker_that_is_forgotten_is_free(member: Member) -> None:
    store = ReplicatedOperationStore(member.store, lambda: 1_000)
    of_3 = Machine("m3", "shanghai", disk_bytes=5, cluster="live", broker_id=3)
    put(member, Machine("m2", cluster="live", broker_id=2), of_3, Machine("m9"))
    store.forget_broker("live", 3)
    known = store.directory("live")
    assert known.free_machines() == (replace(of_3, cluster="", broker_id=0), Machine("m9"))
    assert sorted(known.brokers_of("live")) == [1, 2]
    put(member, of_3)  # for a new broker of that id
    store.forget_broker("live", 3)
    assert store.directory("live").free_machines() == (Machine("m9"),), "this one is not forgotten"


def test_a_machine_that_somebody_gave_to_another_broker_meanwhile_stays_there(
    member: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = ReplicatedOperationStore(member.store, lambda: 1_000)
    put(member, Machine("m3", cluster="live", broker_id=3))
    given = Machine("m3", cluster="live", broker_id=2)
    propose = member.store.propose

    def given_before(command: records_pb2.Command, *arguments: Any, **named: Any) -> records_pb2.CommandReply:
        if not changed:
            changed.append(True)
            put(member, given)
        return propose(command, *arguments, **named)

    changed: list[bool] = []
    monkeypatch.setattr(member.store, "propose", given_before)
    with pytest.raises(Conflict, match="machine m3 is at revision"):
        store.forget_broker("live", 3)
    assert 3 in store.broker_states("live"), "so it is asked for once more"
    store.forget_broker("live", 3)
    assert store.directory("live").machines == (given,)
    assert 3 not in store.broker_states("live")


def test_a_reporter_that_registers_meanwhile_is_not_forgotten(member: Member, monkeypatch: pytest.MonkeyPatch) -> None:
    put = member.store.put_cluster

    def registered_before(*arguments: Any, **named: Any) -> None:
        said = federation_pb2.RegisterReporterRequest(cluster_id="fake", broker_id=1, reporter="h:9")
        member.store.propose(records_pb2.Command(register_reporter=said))
        put(*arguments, **named)

    monkeypatch.setattr(member.store, "put_cluster", registered_before)
    said = DirectoryIntent(Subject.BROKER, "label", ("2",), "green", "")
    ReplicatedOperationStore(member.store, lambda: 0).say("live", applied(owned([said])))
    known = member.store.read().cluster("live")
    assert known is not None
    assert [(broker.registered_reporter, broker.label) for broker in known.brokers] == [
        ("h:9", ""),
        ("", "green"),
        ("", ""),
    ]


def test_what_a_ticket_says_replaces_what_it_read_and_nothing_else(member: Member) -> None:
    store = ReplicatedOperationStore(member.store, lambda: 1_000)
    machines = [Machine(f"m{each}", cluster="live", broker_id=each, label="gold") for each in (1, 2)]
    known, other = Topic("live", "known", owner="ann"), Topic("live", "other", label="red")
    said: list[Entry] = [*machines, Machine("m9"), known, other, IdcPolicy("home", (("shanghai", 1),))]
    put(member, *said)
    before = store.directory("live")
    intents = [
        DirectoryIntent(Subject.MACHINE, "label", ("m1", "gone"), "", "gold"),
        DirectoryIntent(Subject.BROKER, "label", ("1", "3", "8"), "green", ""),
        DirectoryIntent(Subject.TOPIC, "label", ("known", "new", "other"), "gold", ""),
        DirectoryIntent(Subject.TOPIC, "idc_policy", ("new",), "home", ""),
    ]
    for _ in range(2):
        store.say("live", applied(owned(intents)))
        found = store.directory("live")
        assert {machine.host: machine.label for machine in found.machines} == {"m1": "", "m2": "gold", "m9": ""}
        assert {broker.id: broker.label for broker in found.clusters[0].brokers} == {1: "green", 2: "", 3: "green"}
        new = Topic("live", "new", label="gold", idc_policy="home")
        assert set(found.topics) == {replace(known, label="gold"), new, other}
    store.say("live", restored(owned(intents)))
    after = store.directory("live")
    assert (after.clusters, after.machines) == (before.clusters, before.machines)
    assert set(after.topics) == {*before.topics, Topic("live", "new")}


def test_the_moves_of_offline_tickets_are_remembered_newest_first(member: Member) -> None:
    places = tuple(ReplicaPlacement(broker, "any") for broker in (1, 2))
    for number, brokers in enumerate([(1,), (1, 2), (3,)]):
        made = replace(
            ticket(Ask(AskKind.OFFLINE, brokers)),
            id=f"t-{number}",
            created_at_ms=number,
            idempotency_key=str(number),
            history=(TicketTransition(TicketState.PENDING, 5, "ann", "created"),),
        )
        member.store.add_ticket(made)
        approved = TicketTransition(TicketState.APPROVED, 5, "bob", "fine")
        member.store.advance(made.id, TicketState.PENDING, approved, None, 0)
        moves = [PartitionMove(TopicPartition(f"of-{number}", 0), places, places[::-1], goal=GOAL)]
        moves.append(PartitionMove(TopicPartition("other", 0), places, places[::-1], goal="disk"))
        moves.append(PartitionMove(TopicPartition("taken-back", 0), places, places[::-1], goal=GOAL))
        states = (TaskState.DONE, TaskState.DONE, TaskState.REVERTED)
        tasks = tuple(ExecutionTask(index, move, states[index - 1]) for index, move in enumerate(moves, start=1))
        running = TicketTransition(TicketState.RUNNING, 6, Agent.EXECUTOR, "begins")
        member.store.advance(made.id, TicketState.APPROVED, running, Execution(made.id, tasks), 0)
    found = ReplicatedOperationStore(member.store, lambda: 1_000).leader_moves("live", (1,))
    assert [move.partition.topic for move in found] == ["of-1", "of-0"]


@pytest.mark.parametrize("dry_run", [False, True])
def test_a_key_tells_nothing_of_another_clusters_ticket(asks: Asks, member: Member, dry_run: bool) -> None:
    """Neither to whom does not see that cluster, nor as an answer for the cluster that is asked about."""
    made = replace(ticket(Ask(AskKind.REMOVE, (2,), hook="local")), idempotency_key="k")
    member.store.add_ticket(made)
    member.store.put_cluster(cluster_to_proto(Cluster("bulk", "h:2", "id-2", brokers=(Broker(2),))))
    servicer = servicer_with(asks, member, everybody())

    def refused(*clusters: str) -> str:
        request = tickets_pb2.CreateTicketRequest(
            plan=tickets_pb2.Plan(cluster="bulk"),
            ask=ask_to_proto(Ask(AskKind.REMOVE, (2,), hook="local")),
            author="ann",
            idempotency_key="k",
            dry_run=dry_run,
        )
        token = asking.set(Identity("ann", (Grant(Role.ADMIN, clusters),)))
        try:
            with pytest.raises(Conflict) as caught:
                servicer.CreateTicket(request, None)  # type: ignore[arg-type]
        finally:
            asking.reset(token)
        return str(caught.value)

    assert refused("bulk") == "idempotency_key 'k' was used before: use a new key for each request"
    assert "that is remove-brokers of cluster live, and this remove-brokers of bulk" in refused("bulk", "live")


def test_an_ask_that_races_with_another_request_of_its_key_is_told_so(
    asks: Asks, member: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither knows of the other when it looks for the key."""
    member.store.add_ticket(replace(ticket(Ask(AskKind.REMOVE, (2,), hook="local")), idempotency_key="k"))
    look, blind = Views.ticket_by_idempotency_key, [True]

    def late(views: Views, key: str) -> Ticket | None:
        return None if blind and blind.pop() else look(views, key)

    monkeypatch.setattr(Views, "ticket_by_idempotency_key", late)
    request = tickets_pb2.CreateTicketRequest(
        plan=tickets_pb2.Plan(cluster="live"),
        ask=ask_to_proto(Ask(AskKind.REMOVE, (1,))),
        author="ann",
        idempotency_key="k",
    )
    token = asking.set(Identity("ann", (Grant(Role.ADMIN),)))
    try:
        with pytest.raises(Conflict, match=r"idempotency_key 'k' made ticket .* for another request"):
            servicer_with(asks, member, everybody()).CreateTicket(request, None)  # type: ignore[arg-type]
    finally:
        asking.reset(token)
    assert blind == []

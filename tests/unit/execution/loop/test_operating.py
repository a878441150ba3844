"""The edge of operations: what a tick reads and does for a ticket that asks for brokers."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import pytest

from guardian.errors import ClusterUnavailable, GuardianError, InvalidInput
from guardian.execution.loop.hooks import HookRunner
from guardian.execution.loop.observing import Scope, observe
from guardian.execution.loop.operating import Operations, completed
from guardian.execution.operations.effects import (
    ForgetBroker,
    LiftExclusions,
    PutExclusions,
    RunHook,
    SetBrokerStates,
    UnregisterBroker,
)
from guardian.execution.operations.world import OperationWorld
from guardian.kafka.admin import BROKER, TOPIC
from guardian.kafka.fake import FakeKafka
from guardian.model.cordon import Cordon
from guardian.model.effects import CORDONED
from guardian.model.federation import Exclusion
from guardian.model.operation import Ask, AskKind, HookAction, HookKey, OperationPhase, PlanRequest
from guardian.model.plan import PartitionMove, Plan, ReplicaPlacement
from guardian.model.tasks import Leaders, Remove, Task
from guardian.model.ticket import Ticket, TicketState
from guardian.model.topology import BrokerState, TopicPartition

ASK = Ask(AskKind.REMOVE, (3,), shutdown=True, hook="none-such")
TICKET = Ticket("t-1", "live", "remove-brokers", TicketState.RUNNING, "ann", "", 1, 0, 0, ask=ASK)
ORDERS = TopicPartition("orders", 0)
REQUEST = PlanRequest("round-1", AskKind.REMOVE, (3,))


class Planner:
    """Answers as it is told, and notes what it was asked."""

    def __init__(self) -> None:
        self.answer: Plan | GuardianError | None = None
        self.asked: list[tuple[str, Task, bool]] = []
        self.forgotten: list[str] = []

    def ask(self, key: str, cluster: str, task: Task, *, complete_metrics: bool = False) -> Plan | GuardianError | None:
        assert cluster == "live"
        self.asked.append((key, task, complete_metrics))
        return self.answer

    def forget(self, key: str) -> None:
        self.forgotten.append(key)


class Store:
    """An OperationStore that notes what is done."""

    def __init__(self, cordoned: Cordon | None = None) -> None:
        self.done: list[object] = []
        self.cordoned = cordoned

    def exclusions(self, cluster: str) -> Mapping[int, Exclusion]:
        return {3: Exclusion(cluster, 3, "ann", "removed by ticket t-1")}

    def broker_states(self, cluster: str) -> Mapping[int, BrokerState]:
        return {3: BrokerState.DRAINING} if cluster == "live" else {}

    def host_of(self, cluster: str, broker: int) -> str:
        return f"{cluster}-{broker}"

    def cordon(self, cluster: str, broker: int) -> Cordon | None:
        is_asked = self.cordoned is not None and (cluster, broker) == (self.cordoned.cluster, self.cordoned.broker_id)
        return self.cordoned if is_asked else None

    def leader_moves(self, cluster: str, brokers: Collection[int]) -> Sequence[PartitionMove]:
        raise AssertionError(f"only asked for brokers that come online, not for {brokers} of {cluster}")

    def offline_tickets(self, cluster: str) -> Collection[str]:
        raise AssertionError(f"only asked for brokers that come online, not for {cluster}")

    def put_exclusions(self, exclusions: Sequence[Exclusion]) -> None:
        self.done.append(("put", exclusions))

    def lift_exclusions(self, exclusions: Sequence[Exclusion]) -> None:
        self.done.append(("lift", exclusions))

    def set_broker_states(self, cluster: str, states: Mapping[int, BrokerState]) -> None:
        self.done.append((cluster, states))

    def forget_broker(self, cluster: str, broker: int) -> None:
        self.done.append((cluster, broker))


def kafka(size_bytes: int = 10) -> FakeKafka:
    fake = FakeKafka(dict.fromkeys((1, 2, 3), "a"), dict.fromkeys((1, 2, 3), ("/d",)))
    fake.create_topic("orders", {0: (3, 1)}, size_bytes)
    return fake


def moved(partition: TopicPartition = ORDERS) -> Plan:
    original = (ReplicaPlacement(3, "/d"), ReplicaPlacement(1, "/d"))
    target = (ReplicaPlacement(2, "/d"), ReplicaPlacement(1, "/d"))
    return Plan("live", "remove-brokers", (PartitionMove(partition, original, target),))


def operations(planner: Planner, store: Store | None = None) -> Operations:
    return Operations(store or Store(), planner, HookRunner({}))


def test_a_plan_is_asked_for_until_it_is_there_and_completed_from_the_cluster() -> None:
    planner, fake = Planner(), kafka()
    edge = operations(planner)
    assert edge.plan_answer(TICKET, lambda: fake) is None
    edge.want(TICKET, REQUEST, OperationPhase.VALIDATE)
    assert planner.asked == [("t-1/round-1", Remove((3,)), True)]
    assert edge.plan_answer(TICKET, lambda: fake) is None
    planner.answer = moved()
    answer = edge.plan_answer(TICKET, lambda: fake)
    assert answer is not None
    assert answer.plan is not None
    assert (answer.key, answer.plan.moves[0].size_bytes) == ("round-1", 10)
    edge.want(TICKET, PlanRequest("round-2", AskKind.RESTART, (3,)), OperationPhase.PLAN)
    assert planner.forgotten == ["t-1/round-1"]
    assert planner.asked[-1] == ("t-1/round-2", Leaders(away_from=(3,)), False)
    edge.keep_only({"t-1", "t-2"})
    assert planner.forgotten == ["t-1/round-1"]
    edge.keep_only({"t-2"})
    assert planner.forgotten[-1] == "t-1/round-2"


def test_only_what_the_planner_refuses_for_good_is_an_answer() -> None:
    planner, fake = Planner(), kafka()
    edge = operations(planner)
    edge.want(TICKET, REQUEST)
    planner.answer = ClusterUnavailable("broker 2 did not tell its log dirs")
    assert edge.plan_answer(TICKET, lambda: fake) is None
    assert edge.delay(TICKET) == "its plan is made anew: broker 2 did not tell its log dirs"
    planner.answer = moved()
    fake.kill_broker(2)
    assert edge.plan_answer(TICKET, lambda: fake) is None
    assert "broker 2 of orders-0 is not" in edge.delay(TICKET)
    assert planner.forgotten == ["t-1/round-1"] * 2
    planner.answer = InvalidInput("no room")
    answer = edge.plan_answer(TICKET, lambda: fake)
    assert answer is not None
    assert (answer.plan, answer.error) == (None, "no room")


def test_a_partition_that_went_or_moves_is_left_to_the_next_plan() -> None:
    fake = kafka(size_bytes=100_000_000)
    assert completed(fake, moved(TopicPartition("gone", 0))).moves == ()
    fake.alter_reassignments({ORDERS: (2, 1)})
    assert completed(fake, moved()).moves == ()


def test_the_world_is_read_and_min_isr_follows() -> None:
    fake = kafka()
    fake.set_config((TOPIC, "orders"), "min.insync.replicas", "2")
    fake.kill_broker(3)
    edge = operations(Planner())

    def world(ask: Ask = ASK) -> OperationWorld:
        observation = observe(fake, [Scope(all_partitions=True)], 1_000)
        return edge.world(TICKET, ask, observation, fake, None, [], {})

    seen = world()
    assert seen.registered == {1, 2, 3}
    assert not seen.is_alive(3)
    assert seen.min_isr == {"orders": 2}
    assert seen.states == {3: BrokerState.DRAINING}
    assert seen.exclusions[3].who == "ann"
    assert seen.quorum is not None
    fake.set_config((TOPIC, "orders"), "min.insync.replicas", None)
    fake.create_topic("new", {0: (1,)})
    assert world().min_isr == {"orders": 1, "new": 1}
    fake.delete_topic("orders")
    assert world().min_isr == {"new": 1}
    with pytest.raises(AssertionError, match="only asked for"):
        world(Ask(AskKind.ONLINE, (3,)))


def test_effects_are_carried_out() -> None:
    fake, store = kafka(), Store()
    edge = operations(Planner(), store)
    observation = observe(fake, [Scope(all_partitions=True)], 1_000)
    exclusion = Exclusion("live", 3, "ann", "why")

    for effect in (
        PutExclusions((exclusion,)),
        LiftExclusions((exclusion,)),
        SetBrokerStates({3: BrokerState.ACTIVE}),
        ForgetBroker(3),
    ):
        assert edge.carry_out(TICKET, effect, observation, fake) == ""
    assert store.done == [
        ("put", (exclusion,)),
        ("lift", (exclusion,)),
        ("live", {3: BrokerState.ACTIVE}),
        ("live", 3),
    ]
    refused = edge.carry_out(TICKET, UnregisterBroker(3), observation, fake)
    assert refused == "Kafka did not unregister broker 3: broker 3 runs (it is not fenced): stop it first"
    fake.kill_broker(3)
    assert edge.carry_out(TICKET, UnregisterBroker(3), observation, fake) == ""
    assert fake.registered_brokers() == {1: False, 2: False}
    key = HookKey(3, HookAction.STOP, 1)
    edge.carry_out(TICKET, RunHook(key, "none-such"), observation, fake)
    answers = edge.world(TICKET, ASK, observation, fake, None, [], {}).hooks
    assert "hook is 'none-such'" in answers[key].output


def test_what_was_set_on_a_broker_is_restored_while_it_is_still_registered() -> None:
    """Kafka keeps a broker's configuration over its registration, and takes changes of registered brokers only."""
    fake, store = kafka(), Store(Cordon("live", 3, "*", "/d1"))
    edge, resource = operations(Planner(), store), (BROKER, "3")
    observation = observe(fake, [Scope(all_partitions=True)], 1_000)
    fake.set_config(resource, CORDONED, "*")
    assert "is not fenced" in edge.carry_out(TICKET, UnregisterBroker(3), observation, fake)
    assert fake.describe_configs([resource]) == {resource: {CORDONED: "*"}}
    fake.kill_broker(3)
    fake.controllers_reachable = False
    with pytest.raises(ClusterUnavailable):
        edge.carry_out(TICKET, UnregisterBroker(3), observation, fake)
    assert fake.registered_brokers() == {1: False, 2: False, 3: True}
    fake.controllers_reachable = True
    assert edge.carry_out(TICKET, UnregisterBroker(3), observation, fake) == ""
    assert fake.registered_brokers() == {1: False, 2: False}
    assert fake.peek().configs[resource] == {CORDONED: "/d1"}


@pytest.mark.parametrize(("replaced", "is_gone"), [(None, True), ("/d1", False)])
def test_a_cordon_that_the_metadata_version_never_took_keeps_no_broker_registered(
    replaced: str | None, is_gone: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seen on real controllers of Kafka 4.3 at the metadata.version of 4.1: they refuse even to delete the key."""
    fake, store = kafka(), Store(Cordon("live", 3, "*", replaced))
    edge = operations(Planner(), store)
    observation = observe(fake, [Scope(all_partitions=True)], 1_000)
    fake.kill_broker(3)
    why = "INVALID_CONFIG: The cordoned.log.dirs configuration value cannot be set because it requires ..."
    monkeypatch.setattr(fake, "alter_configs_through_controller", lambda changes: dict.fromkeys(changes, why))
    said = edge.carry_out(TICKET, UnregisterBroker(3), observation, fake)
    assert (said == "") is is_gone
    assert (3 not in (fake.registered_brokers() or {})) is is_gone

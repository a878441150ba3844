"""Brokers that lost the controllers go on answering: what they say moves, restarts and removes nothing.

cut_off   it hears no news any more and goes on answering from what it knew
fence     the controllers gave its partitions to others
hide      Guardian does not reach it
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Never

import pytest

from guardian.errors import Undecided
from guardian.execution.loop.observing import Scope, observe, observe_known, why_wait
from guardian.execution.rules.slots import ExecutionLimits
from guardian.health.loop.durability_facts import durability_facts
from guardian.kafka.fake import FakeKafka
from guardian.model.cluster_state import ClusterView, PartitionState, Unknown
from guardian.model.directory import Directory
from guardian.model.execution import TaskState
from guardian.model.operation import Ask, AskKind
from guardian.model.plan import Plan
from guardian.model.planner_settings import PlannerSettings
from guardian.model.tasks import Heal
from guardian.model.ticket import TicketState, TicketTransition
from guardian.model.topology import Cluster, TopicPartition
from guardian.planning.service.planning import LivePlanner
from tests.simulation.operations import OperationsWorld
from tests.simulation.test_cordon_crashes import Deadly
from tests.simulation.test_cordon_crashes import World as CordonedWorld
from tests.simulation.world import MB, World, move

T0 = TopicPartition("t", 0)
SILENT = "no controller answers, and broker {}, which may know better, can't be reached"


def lose_the_controllers(kafka: FakeKafka, *, hidden: int) -> None:
    """Guardian is cut off together with all brokers but one."""
    for broker in kafka.describe_cluster().brokers:
        if broker == hidden:
            kafka.hide(broker)
        else:
            kafka.cut_off(broker)


def find_them_again(kafka: FakeKafka, *brokers: int) -> None:
    for broker in brokers:
        kafka.hide(broker, hidden=False)
        kafka.reconnect(broker)


def writes_of(world: World | OperationsWorld) -> list[str]:
    """The changes of Kafka from here on, as they are made."""
    made: list[str] = []
    for name in ("alter_reassignments", "alter_configs", "alter_replica_log_dirs", "elect_preferred_leaders"):
        _spy(world.kafka, name, made)
    return made


def _spy(kafka: FakeKafka, name: str, made: list[str]) -> None:
    call: Callable[..., object] = getattr(kafka, name)

    def noted(*arguments: object) -> object:
        made.append(name)
        return call(*arguments)

    setattr(kafka, name, noted)


def test_a_fenced_leader_that_answers_is_never_believed_while_another_broker_hears_the_controllers() -> None:
    """Cut 4 of FAULTS.md: 7 of 20 fresh connections showed the old leader with a full ISR."""
    world = World(brokers=3)
    world.kafka.create_topic("t", {0: [1, 2, 3]}, MB)
    world.kafka.cut_off(1)
    world.kafka.fence(1)
    for _ in range(20):
        assert world.kafka.describe_partitions(["t"])[T0] == PartitionState(2, (1, 2, 3), (2, 3))
        assert world.kafka.describe_cluster().brokers.keys() == {2, 3}
    (server,) = world.kafka.fenced_servers()
    assert (server.broker, server.leads) == (1, 1)
    world.kafka.reconnect(1)
    assert world.kafka.fenced_servers() == ()


def test_a_ticket_waits_while_the_state_is_unknown_says_why_and_goes_on() -> None:
    world = World(brokers=4, bytes_per_call=1)
    world.kafka.create_topic("t", {0: [1, 2]}, 20 * MB)
    world.ticket(move("t-0", 3, 2)).run_until_in_flight("t-0")
    made = writes_of(world)
    lose_the_controllers(world.kafka, hidden=4)
    world.tick(5)
    note = world.execution().note
    assert (
        note
        == "waits: cluster fake: no controller answers; which partitions are being reassigned is unknown until one does"
    )
    assert world.said == [f"ticket t-1 {note}"]
    assert (made, world.state(), world.execution().tasks[0].state) == ([], TicketState.RUNNING, TaskState.RUNNING)
    revision = world.execution().revision
    world.tick(5)
    assert world.execution().revision == revision  # said once
    find_them_again(world.kafka, 1, 2, 3, 4)
    world.kafka.bytes_per_call = MB
    world.run().leaves_nothing()
    assert world.state() is TicketState.SUCCEEDED


def test_a_ticket_waits_for_one_unknown_partition_and_another_ticket_goes_on_beside_it() -> None:
    """An epoch was seen that no broker knows any more: this partition alone is in doubt."""
    world = World(brokers=6)
    world.kafka.create_topic("t", {0: [1, 2]}, 4 * MB)
    world.kafka.create_topic("u", {0: [4, 5]}, 4 * MB)
    world.ticket(move("t-0", 3, 2)).ticket(move("u-0", 6, 5), ticket_id="t-2")
    view = world.kafka.view
    doubt = Unknown("broker 1 told leader epoch 0 of t-0, and 3 was seen before")

    def doubting(topics: Collection[str] | None) -> ClusterView:
        found = view(topics)
        return replace(
            found, partitions={name: doubt if name == T0 else each for name, each in found.partitions.items()}
        )

    world.kafka.view = doubting  # type: ignore[method-assign]
    world.tick(60)
    assert world.state("t-1") is TicketState.APPROVED
    assert world.state("t-2") is TicketState.SUCCEEDED, world.said
    assert any("t-0 (broker 1 told leader epoch 0 of t-0, and 3 was seen before)" in said for said in world.said)
    world.kafka.view = view  # type: ignore[method-assign]
    world.run().leaves_nothing()
    assert world.state("t-1") is TicketState.SUCCEEDED


def test_a_ticket_of_a_fenced_broker_that_answers_waits_past_all_patience_and_another_goes_on_beside_it() -> None:
    world = World(brokers=6, bytes_per_call=1, limits=ExecutionLimits(broker_patience_s=3.0))
    world.kafka.create_topic("t", {0: [1, 2]}, 20 * MB)
    world.kafka.create_topic("u", {0: [4, 5]}, 4 * MB)
    world.ticket(move("t-0", 3, 2)).ticket(move("u-0", 6, 5), ticket_id="t-2").run_until_in_flight("t-0", "u-0")
    world.kafka.cut_off(1)
    world.kafka.fence(1)
    world.expect_losses()
    world.tick(30)
    assert world.execution().note == "waits: broker 1 is fenced and still answers clients at broker1:9092"
    assert world.execution().tasks[0].state is TaskState.RUNNING
    world.kafka.bytes_per_call = MB
    world.tick(60)
    assert world.state("t-2") is TicketState.SUCCEEDED, world.said
    assert world.state("t-1") is TicketState.RUNNING
    world.kafka.reconnect(1)
    world.run().leaves_nothing()
    assert world.state("t-1") is TicketState.SUCCEEDED


@pytest.mark.parametrize("kind", [AskKind.RESTART, AskKind.REMOVE, AskKind.OFFLINE])
def test_an_operation_that_is_approved_while_a_fenced_broker_answers_begins_by_waiting(kind: AskKind) -> None:
    world = OperationsWorld(brokers=4)
    world.topic("t", {0: [1, 2], 1: [2, 3]})
    world.kafka.cut_off(1)
    world.kafka.fence(1)
    made, done = writes_of(world), list(world.machines.log)
    world.ask(Ask(kind, (4,), hook="" if kind is AskKind.OFFLINE else "systemd"))
    for _ in range(8):
        world.kafka.advance()
        world.driver.tick()
    execution = world.store.execution("t-1")
    assert execution is not None
    assert execution.note == "waits: broker 1 is fenced and still answers clients at broker1:9092"
    assert world.store.ticket("t-1").state is TicketState.RUNNING
    assert (made, world.machines.log, world.federation.excluded) == ([], done, {})
    world.kafka.reconnect(1)
    for _ in range(200):
        world.kafka.advance()
        world.driver.tick()
    assert world.store.ticket("t-1").state is TicketState.SUCCEEDED, world.driver.tick()


@pytest.mark.parametrize("asks", [True, False], ids=["operation", "plan"])
@pytest.mark.parametrize("fenced", [True, False], ids=["fenced", "unknown"])
def test_a_ticket_whose_time_was_over_does_not_begin_by_waiting(asks: bool, fenced: bool) -> None:
    world = OperationsWorld(brokers=4)
    world.topic("t", {0: [1, 2], 1: [2, 3]})
    world.ask(Ask(AskKind.RESTART, (4,), hook="systemd"))
    world.kafka.now_ms += 1000
    ticket = replace(world.store.ticket("t-1"), expires_at_ms=world.kafka.now_ms)
    kept = Plan("live", "balance", (move("t-0", 3, 2),))
    world.store.put(ticket if asks else replace(ticket, kind="balance", ask=None), kept)
    if fenced:
        world.kafka.cut_off(1)
        world.kafka.fence(1)
    else:
        lose_the_controllers(world.kafka, hidden=4)
        world.kafka.list_reassignments = _undecided  # type: ignore[method-assign]
    (said,) = world.driver.tick()
    assert said.startswith("ticket t-1: EXPIRED: it did not start before"), said
    assert world.store.ticket("t-1").state is TicketState.EXPIRED
    assert world.store.execution("t-1") is None


def _undecided() -> Never:
    raise Undecided("the state of the cluster is unknown: no controller answers")


def test_what_is_unknown_is_in_no_observation_as_known() -> None:
    world = World(brokers=3)
    world.kafka.create_topic("t", {0: [1, 2, 3]}, MB)
    world.kafka.list_reassignments = dict  # type: ignore[method-assign]
    lose_the_controllers(world.kafka, hidden=3)
    scope = Scope(frozenset({"t"}), frozenset({1}))
    seen = observe(world.kafka, [scope], 0)
    assert (dict(seen.brokers), dict(seen.partitions)) == ({}, {})
    assert set(seen.unknown_brokers) == {1, 2, 3}
    assert set(seen.unknown_partitions) == {T0}
    assert why_wait(scope, seen) == f"the state of the cluster is unknown: {SILENT.format(3)}"
    with pytest.raises(Undecided, match="the state of the cluster is unknown"):
        observe_known(world.kafka, scope, 0)


@pytest.mark.parametrize("kind", [AskKind.RESTART, AskKind.REMOVE, AskKind.OFFLINE])
def test_no_broker_is_restarted_removed_or_taken_offline_on_the_word_of_brokers_that_are_cut_off(kind: AskKind) -> None:
    world = OperationsWorld(brokers=4)
    world.topic("t", {0: [1, 2], 1: [2, 3]})
    hook = "" if kind is AskKind.OFFLINE else "systemd"
    world.ask(Ask(kind, (1,), hook=hook)).driver.tick()
    made = writes_of(world)
    done = list(world.machines.log)
    lose_the_controllers(world.kafka, hidden=4)
    excluded, states = dict(world.federation.excluded), dict(world.federation.states)
    for _ in range(8):
        world.kafka.advance()
        said = world.driver.tick()
    assert (made, world.machines.log, world.federation.excluded, world.federation.states) == (
        [],
        done,
        excluded,
        states,
    )
    assert "no controller answers" in said[0]
    execution = world.store.execution("t-1")
    assert execution is not None
    assert execution.note.startswith("waits: ")
    find_them_again(world.kafka, 1, 2, 3, 4)
    for _ in range(200):
        world.driver.tick()
    assert world.store.ticket("t-1").state is TicketState.SUCCEEDED, world.driver.tick()


def test_a_broker_that_can_t_be_proven_fenced_is_not_unregistered() -> None:
    world = OperationsWorld(brokers=3)
    lose_the_controllers(world.kafka, hidden=3)
    with pytest.raises(Undecided, match="whether broker 3 runs is unknown"):
        world.kafka.unregister_broker(3)
    assert world.kafka._unregistered == set()


def test_a_cancelled_ticket_takes_nothing_back_before_the_state_is_known() -> None:
    world = World(brokers=4, bytes_per_call=1)
    world.kafka.create_topic("t", {0: [1, 2]}, 20 * MB)
    world.ticket(move("t-0", 3, 2)).run_until_in_flight("t-0")
    lose_the_controllers(world.kafka, hidden=2)
    made = writes_of(world)
    execution = world.execution()
    transition = TicketTransition(TicketState.CANCELLING, world.kafka.now_ms, "ann", "stop")
    world.store.advance("t-1", TicketState.RUNNING, transition, None, execution.revision)
    world.tick(5)
    assert (made, world.state()) == ([], TicketState.CANCELLING)
    assert world.execution().note.startswith("waits: ")
    find_them_again(world.kafka, 1, 2, 3, 4)
    world.run().leaves_nothing()
    assert world.state() is TicketState.CANCELLED


def test_cordons_wait_and_nothing_is_planned_or_audited_while_the_state_is_unknown() -> None:
    member = CordonedWorld(Deadly(-1, after=False))
    member.exclude(3)
    for broker in (1, 2, 3, 4, 5):
        member.kafka.cut_off(broker)
    member.kafka.hide(5)
    before = member.kafka.peek().configs
    said = member.leader.tick()
    assert member.kafka.peek().configs == before
    assert said == [
        "the cordons of cluster live wait: "
        "cluster fake: no controller answers; which partitions are being reassigned is unknown until one does"
    ]
    with pytest.raises(Undecided, match="which may know better, can't be reached"):
        durability_facts(member.kafka, Cluster("live", "h:1", "fake"))
    planner = LivePlanner(lambda _: member.kafka, Directory, "", PlannerSettings(), lambda: 0)
    with pytest.raises(Undecided, match="which may know better, can't be reached"):
        planner.plan_for("ann", lambda: True, "live", Heal())
    planner.close()
    find_them_again(member.kafka, 1, 2, 3, 4, 5)
    member.leader.tick()
    assert member.cordon(3) == "*"
    assert durability_facts(member.kafka, Cluster("live", "h:1", "fake"))[1].keys() == {1, 2, 3, 4, 5}


def test_one_broker_with_fresh_metadata_is_enough_and_one_whose_lag_has_grown_is_not_counted() -> None:
    world = World(brokers=3)
    world.kafka.create_topic("t", {0: [1, 2, 3]}, MB)
    world.kafka.cut_off(1)
    world.kafka.fence(1)
    for broker in (2, 3):
        world.kafka.cut_off(broker)
    world.kafka.hide(3)
    with pytest.raises(Undecided):
        world.kafka.describe_cluster()
    world.kafka.tell_lag(1, 60_000.0)
    world.kafka.tell_lag(2, 300.0)
    assert world.kafka.describe_cluster().brokers.keys() == {2, 3}
    assert world.kafka.describe_partitions(["t"])[T0] == PartitionState(2, (1, 2, 3), (2, 3))
    world.kafka.tell_lag(2, 60_000.0)
    with pytest.raises(Undecided, match="no broker that answers knows what the controllers decided last"):
        world.kafka.describe_partitions(["t"])

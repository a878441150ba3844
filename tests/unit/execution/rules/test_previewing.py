"""What is previewed is what is sent, in the same order: compared with a ticket that really runs."""

from __future__ import annotations

from functools import partial

import pytest

from guardian.execution.loop.observing import observe, scope_of
from guardian.execution.rules import previewing
from guardian.execution.rules.beginning import begin
from guardian.execution.rules.executing import Step, step
from guardian.execution.rules.previewing import preview
from guardian.model.cluster_state import ClusterObservation
from guardian.model.execution import Execution
from guardian.model.ticket import TicketState, TicketTransition
from guardian.model.tickets.preview import Preview
from tests.simulation.world import MB, World, move


class Noted:
    """The fake, with what it was asked to change."""

    def __init__(self, world: World) -> None:
        self.asked: list[tuple[str, str]] = []
        self._world = world
        for api, name in (
            ("IncrementalAlterConfigs", "alter_configs"),
            ("AlterPartitionReassignments", "alter_reassignments"),
            ("AlterReplicaLogDirs", "alter_replica_log_dirs"),
            ("ElectLeaders", "elect_preferred_leaders"),
        ):
            setattr(world.kafka, name, partial(self._call, api, getattr(world.kafka, name)))

    def _call(self, api: str, function, request, *others):  # type: ignore[no-untyped-def]
        if api == "IncrementalAlterConfigs":
            self.asked += [
                (api, f"{kind.lower()} {name} {key} {'delete' if value is None else value}")
                for (kind, name), values in request.items()
                for key, value in values.items()
            ]
        elif api == "AlterPartitionReassignments":
            self.asked += [(api, f"{tp} {None if target is None else list(target)}") for tp, target in request.items()]
        elif api == "AlterReplicaLogDirs":
            self.asked += [(api, f"{tp} on broker {broker} {path}") for (tp, broker), path in request.items()]
        else:
            self.asked += [(api, str(tp)) for tp in request]
        return function(request, *others)


def previewed(world: World, state: TicketState = TicketState.RUNNING) -> Preview:
    ticket = world.store.ticket("t-1")
    work = world.store.execution("t-1") or world.store.plan(ticket.plan_hash)
    observation = observe(world.kafka, [scope_of(work, back=True)], world.kafka.now_ms)
    execution = work if isinstance(work, Execution) else begin(ticket, work)

    def mover(state: TicketState, execution: Execution, observation: ClusterObservation, now_ms: int) -> Step:
        return step(state, execution, observation, world.limits, ticket.throttle, now_ms)

    return preview(state, execution, observation, mover)


def requests_of(found: Preview) -> list[tuple[str, str]]:
    """In the words of `Noted`."""
    result = []
    for request in (request for each in found.rounds for request in each.requests):
        change = request.change
        if request.api == "IncrementalAlterConfigs":
            key, _, rest = change.removeprefix("delete ").partition(" ")
            value = "delete" if change.startswith("delete ") else rest.removeprefix("= ").split(" ")[0]
            result.append((request.api, f"{request.subject} {key} {value}"))
        elif request.api == "AlterPartitionReassignments":
            result.append((request.api, f"{request.subject} {change.rpartition('-> ')[2]}"))
        elif request.api == "AlterReplicaLogDirs":
            result.append((request.api, f"{request.subject} {change.split(' ')[1]}"))
        else:
            result.append((request.api, request.subject))
    return result


def world_of_all_kinds() -> World:
    """Copies that end at once, as the preview takes them to."""
    world = World(brokers=4, bytes_per_call=1000 * MB)
    world.kafka.create_topic("t", {0: [1, 2], 1: [2, 3], 2: [1, 3], 3: [4, 1]}, 3 * MB, write_rate=10_000)
    other = {"/b2/d0": "/b2/d1", "/b2/d1": "/b2/d0"}
    there = other[world.kafka.peek().log_dir_of(move("t-1", 2).partition, 2) or ""]
    return world.ticket(
        move("t-0", "3:/b3/d1", 2), move("t-1", f"2:{there}", 3), move("t-2", 3, 1), move("t-3", 1, 4), throttle=MB
    )


def test_the_first_round_is_what_the_first_tick_sends() -> None:
    world = world_of_all_kinds()
    found = previewed(world)
    noted = Noted(world)
    world.run_until(lambda: bool(noted.asked))
    first = requests_of(Preview(found.rounds[:1], ""))
    assert noted.asked == first
    assert first[0][0] == "IncrementalAlterConfigs"


def test_all_that_is_sent_was_previewed_and_nothing_else() -> None:
    world = world_of_all_kinds()
    found = previewed(world)
    noted = Noted(world)
    world.run()
    assert found.remark == "then the ticket is SUCCEEDED: all 4 moves were seen in Kafka"
    assert sorted(set(requests_of(found))) == sorted(set(noted.asked))
    assert world.state() is TicketState.SUCCEEDED


def test_a_preview_sends_nothing() -> None:
    world = world_of_all_kinds()
    noted = Noted(world)
    before = world.kafka.peek()
    previewed(world)
    assert noted.asked == []
    after = world.kafka.peek()
    assert (after.partitions, after.configs) == (before.partitions, before.configs)


def test_the_way_back_is_previewed_too() -> None:
    world = world_of_all_kinds().run()
    found = previewed(world, TicketState.ROLLING_BACK)
    assert found.remark == "then the ticket is ROLLED_BACK: 4 of 4 moves are as before"
    noted = Noted(world)
    ticket = world.store.ticket("t-1")
    world.store.advance(
        "t-1", ticket.state, TicketTransition(TicketState.ROLLING_BACK, world.kafka.now_ms, "ann", "back"), None, 0
    )
    world.run()
    assert moves(requests_of(found)) == moves(noted.asked)


def moves(requests: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Which list entries go when depends on which copy ends first."""
    return sorted({request for request in requests if request[0] != "IncrementalAlterConfigs"})


def test_what_waits_for_a_broker_says_so() -> None:
    world = World(brokers=3)
    world.kafka.create_topic("t", {0: [1, 2]}, MB)
    world.ticket(move("t-0", 3, 2))
    world.kafka.kill_broker(3)
    found = previewed(world)
    assert found.rounds == ()
    assert "waits for broker 3, which is down" in found.remark


def test_a_large_plan_ends_early_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(brokers=4)
    world.kafka.create_topic("t", {n: [1, 2] for n in range(300)}, 10)
    world.ticket(*(move(f"t-{n}", 3, 2) for n in range(300)))
    monkeypatch.setattr(previewing, "_MOST_LOOKS", 900)
    found = previewed(world)
    assert found.rounds
    assert found.remark.startswith("and so on, in the plan's order: ")

"""Whoever was stopped between a proof and a request sends nothing that it can't prove once more."""

from __future__ import annotations

from collections.abc import Callable, Collection

import pytest

from guardian.errors import Conflict, Unavailable
from guardian.execution.loop.driver import Driver
from guardian.execution.loop.ports import DriverClocks, DriverPorts
from guardian.execution.loop.proving import HOLDS_S, Proof, since_boot_s
from guardian.model.execution import Execution, TaskState
from guardian.model.ticket import TicketState, TicketTransition
from guardian.model.topology import TopicPartition
from raft.node.library import Timing
from tests.simulation.world import MB, InThisThread, World, move

T0 = TopicPartition("t", 0)


class Clock:
    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s

    def stop(self) -> None:
        """The process is stopped for longer than a proof holds."""
        self.now_s += 2 * HOLDS_S


def counting(clock: Clock, confirmation_s: float = 0.0) -> tuple[list[float], Callable[[], None]]:
    asked: list[float] = []

    def confirm() -> None:
        asked.append(clock.now_s)
        clock.now_s += confirmation_s

    return asked, confirm


def test_a_proof_ends_before_another_member_can_be_elected() -> None:
    assert Timing().election_min > HOLDS_S
    before = since_boot_s()
    assert since_boot_s() >= before


def test_a_young_proof_is_taken_and_an_old_one_is_made_anew() -> None:
    clock = Clock()
    asked, confirm = counting(clock)
    proof = Proof(confirm, clock, 0.0)
    clock.now_s = HOLDS_S
    proof.require()
    assert asked == []
    clock.stop()
    proof.require()
    proof.require()
    assert asked == [3 * HOLDS_S]


def test_a_confirmation_counts_from_its_beginning() -> None:
    clock = Clock()
    asked, confirm = counting(clock, confirmation_s=2 * HOLDS_S)
    with pytest.raises(Unavailable, match=r"took longer than .* to confirm who leads"):
        Proof(confirm, clock, None).require()
    assert len(asked) == 3


def test_a_refusal_is_told_and_leaves_no_proof() -> None:
    clock = Clock()

    def refuse() -> None:
        raise Conflict("driven on")

    proof = Proof(refuse, clock, 0.0)
    for attempt in (proof.renew, proof.require):
        with pytest.raises(Conflict):
            attempt()


class Stopped:
    """A driver whose process is stopped once, at a moment of the story, while another member ends its ticket."""

    def __init__(self) -> None:
        self.world = World(brokers=3)
        self.world.kafka.create_topic("t", {0: [1, 2]}, MB)
        self.world.ticket(move("t-0", 3, 2), throttle=MB)
        self.clock = Clock()
        self.is_due = False
        self.driver = Driver(
            DriverPorts(self.world.store, lambda _: self.world.kafka),
            DriverClocks(lambda: self.world.kafka.now_ms, since_boot_s=self.clock),
            pool=InThisThread(),
        )

    def stop_here(self) -> None:
        """The other member cancels the ticket, and takes back all that it finds."""
        if not self.is_due:
            return
        self.is_due = False
        self.clock.stop()
        self.world.cancel().run()
        assert self.world.state() is TicketState.CANCELLED
        self.world.leaves_nothing()


def stops_after_the_commit(story: Stopped) -> None:
    advance = story.world.store.advance

    def advance_and_stop(
        ticket_id: str,
        state: TicketState,
        transition: TicketTransition | None,
        execution: Execution | None,
        revision: int,
    ) -> None:
        advance(ticket_id, state, transition, execution, revision)
        story.world.store.advance = advance  # type: ignore[method-assign]
        story.stop_here()

    story.world.store.advance = advance_and_stop  # type: ignore[method-assign, assignment]


def stops_between_look_and_change(story: Stopped) -> None:
    describe, calls = story.world.kafka.describe_configs, [0]

    def describe_and_stop(
        resources: list[tuple[str, str]], keys: Collection[str] | None = None
    ) -> dict[tuple[str, str], dict[str, str]]:
        found = describe(resources, keys)
        calls[0] += 1
        if calls[0] == 2:  # the first one is the tick's look at the cluster
            story.world.kafka.describe_configs = describe  # type: ignore[method-assign]
            story.stop_here()
        return found

    story.world.kafka.describe_configs = describe_and_stop  # type: ignore[method-assign, assignment]


@pytest.mark.parametrize("stops", [stops_after_the_commit, stops_between_look_and_change])
def test_a_throttle_of_a_ticket_that_another_member_ended_is_not_set(stops: Callable[[Stopped], None]) -> None:
    story = Stopped()
    story.driver.tick()  # the ticket begins
    story.is_due = True
    stops(story)
    said = story.driver.tick()
    assert not story.is_due
    assert "expected was RUNNING" in said[0]
    assert story.world.state() is TicketState.CANCELLED
    story.world.leaves_nothing()


def test_a_move_of_a_ticket_that_another_member_ended_is_not_started() -> None:
    story = Stopped()
    for _ in range(2):  # it begins, and its throttle is set
        story.driver.tick()
    assert story.world.execution().throttles
    story.is_due = True
    stops_after_the_commit(story)
    while story.is_due:
        said = story.driver.tick()
    assert "expected was RUNNING" in said[0]
    story.world.leaves_nothing()


def test_whoever_was_stopped_and_leads_all_the_same_goes_on() -> None:
    story = Stopped()
    advance = story.world.store.advance

    def advance_slowly(*args: object) -> None:
        advance(*args)  # type: ignore[arg-type]
        story.clock.stop()

    story.world.store.advance = advance_slowly  # type: ignore[method-assign, assignment]
    for _ in range(50):
        story.driver.tick()
    assert story.world.state() is TicketState.SUCCEEDED
    assert story.world.execution().tasks[0].state is TaskState.DONE
    assert story.world.kafka.peek().partitions[T0].replicas == (3, 2)

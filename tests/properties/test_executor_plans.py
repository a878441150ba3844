"""Any plan on any small cluster is carried out or taken back, whatever is asked of it (STYLE.md, 21)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guardian.errors import InvalidInput
from guardian.execution.rules.slots import ExecutionLimits
from guardian.model.execution import TaskState
from guardian.model.ticket import TicketState
from tests.simulation.world import MB, Crash, World, move

BROKERS = (1, 2, 3, 4)
PLACES = {broker: (f"{broker}", f"{broker}:/b{broker}/d0", f"{broker}:/b{broker}/d1") for broker in BROKERS}


@st.composite
def partitions(draw: st.DrawFn) -> tuple[list[int], list[str], int]:
    """Where a partition is, where it shall be, and its size in bytes."""
    replicas = draw(st.lists(st.sampled_from(BROKERS), min_size=1, max_size=3, unique=True))
    targets = draw(st.lists(st.sampled_from(BROKERS), min_size=len(replicas), max_size=len(replicas), unique=True))
    places = [draw(st.sampled_from(PLACES[broker])) for broker in targets]
    return replicas, places, draw(st.integers(0, 2 * MB))


@pytest.mark.slow
@settings(max_examples=120)
@given(
    drawn=st.lists(partitions(), min_size=1, max_size=6),
    throttle=st.sampled_from([0, MB, 20 * MB]),
    limits=st.builds(ExecutionLimits, st.integers(1, 5), st.integers(1, 5), st.integers(1, 5)),
    cancel_at=st.none() | st.integers(1, 12),
    die_at=st.none() | st.integers(1, 120),
    tiered=st.booleans(),
)
def test_every_plan_ends_at_its_target_or_back_where_it_was(
    drawn: list[tuple[list[int], list[str], int]],
    throttle: int,
    limits: ExecutionLimits,
    cancel_at: int | None,
    die_at: int | None,
    tiered: bool,
) -> None:
    world = World(len(BROKERS), limits, tiered_warm_up_s=5.0)
    for number, (replicas, _, size) in enumerate(drawn):
        world.kafka.create_topic(f"t{number}", {0: replicas}, size, write_rate=1000, tiered=tiered)
    try:
        world.ticket(*(move(f"t{n}-0", *p, rate=1000.0) for n, (_, p, _) in enumerate(drawn)), throttle=throttle)
    except InvalidInput as error:
        assert "already true" in str(error)  # noqa: PT017  (any other error is a failure)
        return
    world.wire.die_at = die_at or -1
    for tick in range(400):
        if tick == cancel_at and world.state() is TicketState.RUNNING:
            world.cancel()
        if not world.store.driven_tickets():
            break
        try:
            world.tick()
        except Crash:
            world.new_driver()
    assert world.state() in (TicketState.SUCCEEDED, TicketState.CANCELLED), world.said
    for task in world.execution().tasks:
        assert task.state in (TaskState.DONE, TaskState.REVERTED)
        assert world.is_at(task.move, task.move.target if task.state is TaskState.DONE else task.move.original)
    world.leaves_nothing()


@pytest.mark.slow
@settings(max_examples=80)
@given(
    drawn=st.lists(st.tuples(partitions(), st.integers(0, 3)), min_size=1, max_size=6),
    throttle=st.sampled_from([MB, 20 * MB]),
    limits=st.builds(ExecutionLimits, st.integers(1, 5), st.integers(1, 5), st.integers(1, 5)),
    die_at=st.none() | st.integers(1, 120),
)
def test_no_move_begins_before_all_of_the_stages_below_it_are_over_whatever_the_limits_and_whoever_dies(
    drawn: list[tuple[tuple[list[int], list[str], int], int]],
    throttle: int,
    limits: ExecutionLimits,
    die_at: int | None,
) -> None:
    world = World(len(BROKERS), limits)
    for number, ((replicas, _, size), _) in enumerate(drawn):
        world.kafka.create_topic(f"t{number}", {0: replicas}, size, write_rate=1000)
    moves = [replace(move(f"t{n}-0", *p, rate=1000.0), stage=stage) for n, ((_, p, _), stage) in enumerate(drawn)]
    try:
        world.ticket(*sorted(moves, key=lambda one: one.stage), throttle=throttle)
    except InvalidInput as error:
        assert "already true" in str(error)  # noqa: PT017  (any other error is a failure)
        return
    world.wire.die_at = die_at or -1
    for _ in range(400):
        if not world.store.driven_tickets():
            break
        try:
            world.tick()
        except Crash:
            world.new_driver()
        execution = world.store.execution("t-1")
        tasks = execution.tasks if execution else ()  # the process may die before there is one
        for task in tasks:
            if task.state is not TaskState.PENDING:
                assert all(each.state.is_over for each in tasks if each.move.stage < task.move.stage)
    assert world.state() is TicketState.SUCCEEDED, world.said

"""How a plan that is larger than a ticket is cut, and which part runs when."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardian.errors import InvalidInput
from guardian.execution.rules.beginning import begin
from guardian.model.plan import PartitionMove, Plan, ReplicaPlacement
from guardian.model.ticket import Ticket, TicketPart, TicketState, part_id
from guardian.model.tickets.sequence import MAX_PARTS
from guardian.model.topology import TopicPartition
from guardian.tickets.rules.sequences import cut, joined, places_of, why_later

TICKET = Ticket("t-1", "live", "run-plan", TicketState.APPROVED, "ann", "h", 1, 0, 0)
S = TicketState


def move(number: int, stage: int = 0, topic: str = "t", *, is_new: bool = False) -> PartitionMove:
    original = () if is_new else (ReplicaPlacement(1),)
    return PartitionMove(
        TopicPartition(topic, number), original, (ReplicaPlacement(2),), 10, goal="disk", stage=stage, is_new=is_new
    )


def plan(*moves: PartitionMove) -> Plan:
    return Plan("live", "run-plan", moves, notes=("a note",))


def ten(_: PartitionMove) -> int:
    return 10


def tickets(*states: TicketState) -> list[Ticket]:
    return [
        replace(TICKET, id=part_id("t-1", number), state=state, part=TicketPart("t-1", number, len(states)))
        for number, state in enumerate(states, start=1)
    ]


def test_a_plan_that_fits_is_left_alone() -> None:
    whole = plan(*map(move, range(3)))
    assert cut(whole, 30, ten) == (whole,)
    assert places_of("t-1", (whole,)) == [None]
    nothing = plan()
    assert cut(nothing, 30, ten) == (nothing,)


def test_parts_are_as_full_as_a_ticket_may_be_and_say_what_they_are_of() -> None:
    whole = plan(*map(move, range(5)))
    parts = cut(whole, 25, ten)
    assert [[each.partition.partition for each in part.moves] for part in parts] == [[0, 1], [2, 3], [4]]
    assert parts[1].notes == (
        "part 2 of 3 of one plan with 5 moves: loads, goals, transfers and seconds are those of all parts together",
        "a note",
    )
    assert places_of("t-1", parts) == [
        TicketPart("t-1", 1, 3, 5, 50, 5, 50),
        TicketPart("t-1", 2, 3, 5, 50, 3, 30),
        TicketPart("t-1", 3, 3, 5, 50, 1, 10),
    ]
    assert joined(parts).moves == whole.moves


def test_new_partitions_of_a_topic_stay_together() -> None:
    """Kafka makes them in one request."""
    whole = plan(move(0), move(0, topic="n", is_new=True), move(1), move(1, topic="n", is_new=True), move(2))
    parts = cut(whole, 20, ten)
    assert [[str(each.partition) for each in part.moves] for part in parts] == [["t-0"], ["n-0", "n-1"], ["t-1", "t-2"]]
    many = plan(*(move(number, topic="n", is_new=True) for number in range(4)))
    with pytest.raises(InvalidInput, match=r"topic n: more than one ticket holds \(got 4 with 40 bytes\)"):
        cut(many, 30, ten)


def test_a_plan_that_is_too_large_for_any_sequence_is_refused() -> None:
    assert len(cut(plan(*map(move, range(MAX_PARTS))), 10, ten)) == MAX_PARTS
    with pytest.raises(InvalidInput, match=r"too many \(got 101, which is 101 tickets\)"):
        cut(plan(*map(move, range(MAX_PARTS + 1))), 10, ten)


def of_stage(number: int, stage: int, rate: float, size: int) -> PartitionMove:
    return replace(move(number, stage), write_rate=rate, size_bytes=size, goal="")


moves = st.lists(
    st.builds(of_stage, st.integers(0, 100), st.integers(0, 3), st.floats(0, 1e6), st.integers(0, 1000)),
    unique_by=lambda each: each.partition,
    max_size=40,
)


def size_of(each: PartitionMove) -> int:
    return 20 + each.partition.partition % 50


def started(found: Plan) -> list[PartitionMove]:
    """As the executor does: its tasks in their order, those of a lower stage first."""
    return [task.move for task in sorted(begin(TICKET, found).tasks, key=lambda task: task.move.stage)]


@given(moves, st.booleans(), st.integers(100, 400))
def test_parts_united_are_the_plan_in_the_order_in_which_the_executor_starts(
    found: list[PartitionMove], is_planners: bool, most: int
) -> None:
    whole = plan(*(replace(each, goal="disk" if is_planners else "") for each in found))
    parts = cut(whole, most, size_of)
    assert [each for part in parts for each in started(part)] == started(whole)
    assert all(sum(map(size_of, part.moves)) <= most for part in parts)


def test_a_part_waits_for_the_one_before_it_and_goes_back_after_the_one_behind_it() -> None:
    first, second, third = tickets(S.RUNNING, S.APPROVED, S.APPROVED)
    driven = [first, second, third]
    assert why_later(first, driven) == ""
    assert why_later(second, driven) == "waits for t-1, part 1 of 3 of t-1"
    assert why_later(third, driven) == "waits for t-1-2, part 2 of 3 of t-1"
    assert why_later(second, [second, third]) == ""  # the first has succeeded: nobody drives it
    back = tickets(S.ROLLING_BACK, S.ROLLING_BACK, S.ROLLED_BACK)
    assert why_later(back[0], back[:2]) == "waits for t-1-2, part 2 of 3 of t-1, to go back"
    assert why_later(back[1], back[:2]) == ""
    assert why_later(TICKET, [TICKET, *driven]) == ""
    assert why_later(second, [second, *tickets(S.RUNNING)]) != ""
    elsewhere = replace(first, part=replace(first.part, first="t-9"))  # type: ignore[type-var]
    assert why_later(second, [second, elsewhere]) == ""

"""What a plan's page shows: before and after, what flows where, why."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from guardian.model.plan import (
    GoalResult,
    LoadSummary,
    PartitionMove,
    Plan,
    RackTransfer,
    ReplicaPlacement,
)
from guardian.model.topology import TopicPartition
from guardian.planning.pages.plans_view import (
    MOST_BARS,
    MOST_FLOWS,
    MOVED,
    MOVED_LEADERS,
    Flow,
    amount,
    bars,
    broker_flows,
    broker_rows,
    completed,
    drawn,
    gathered,
    goal_rows,
    most_concerned,
    move_row,
    move_text,
    rack_flows,
    resources_of,
    uneven_resource,
)

GB = 1_000_000_000


def move(number: int, before: tuple[int, ...], after: tuple[int, ...], size: int = GB, **more: object) -> PartitionMove:
    places = (tuple(map(ReplicaPlacement, before)), tuple(map(ReplicaPlacement, after)))
    return PartitionMove(TopicPartition("t", number), *places, size, **more)  # type: ignore[arg-type]


def plan(*moves: PartitionMove, **more: object) -> Plan:
    return Plan("live", "balance", moves, **more)  # type: ignore[arg-type]


def test_a_file_s_plan_shows_what_its_brokers_hold_of_what_moves() -> None:
    shown = completed(plan(move(0, (1, 2), (3, 2)), move(1, (1, 2), (2, 1), 2 * GB)), {})
    rows = {(load.resource, load.broker): (load.before, load.after) for load in shown.loads}
    assert rows == {
        (MOVED, 1): (3 * GB, 2 * GB),
        (MOVED, 2): (3 * GB, 3 * GB),
        (MOVED, 3): (0, GB),
        (MOVED_LEADERS, 1): (2, 0),
        (MOVED_LEADERS, 2): (0, 1),
        (MOVED_LEADERS, 3): (0, 1),
    }
    assert resources_of(shown) == [(MOVED, "Bytes of what moves"), (MOVED_LEADERS, "Leaders of what moves")]


def test_what_the_planner_says_is_left_as_it_is() -> None:
    loads = (LoadSummary(1, "", 5.0, 3.0, "cpu"),)
    racks = (RackTransfer("a", "b", 7),)
    shown = completed(plan(move(0, (1,), (2,)), loads=loads, racks=racks), {1: "x", 2: "y"})
    assert (shown.loads, shown.racks) == (loads, racks)


def test_new_replicas_come_from_the_leader() -> None:
    moves = [
        move(0, (1, 2), (3, 4)),
        move(1, (1, 2), (2, 1)),
        PartitionMove(TopicPartition("t", 2), (ReplicaPlacement(5, "/a"),), (ReplicaPlacement(5, "/b"),), 3 * GB),
        PartitionMove(TopicPartition("new", 0), (), (ReplicaPlacement(1),), is_new=True),
    ]
    assert broker_flows(moves) == [Flow("5", "5", 3 * GB), Flow("1", "3", GB), Flow("1", "4", GB)]
    racks = {1: "a", 3: "b", 4: "b"}
    assert rack_flows(moves, racks) == (RackTransfer("a", "b", 2 * GB),), "inside a broker nothing crosses the network"
    assert completed(plan(*moves), racks).racks == (RackTransfer("a", "b", 2 * GB),)


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40), st.integers(1, 10**12)), max_size=120))
def test_no_byte_is_lost_when_small_flows_are_gathered(drawn: list[tuple[int, int, int]]) -> None:
    flows = [Flow(str(source), str(target), size) for source, target, size in drawn]
    found = gathered(flows)
    assert len(found) <= max(MOST_FLOWS, 0)
    assert sum(flow.bytes for flow in found) == sum(flow.bytes for flow in flows)
    kept = [flow.bytes for flow in found if flow.source != "others"]
    assert all(flow in flows for flow in found if flow.source != "others")
    assert len(kept) >= min(len(flows), MOST_FLOWS - 1)


def test_the_page_s_flows_are_between_racks_idcs_and_brokers() -> None:
    found = drawn(plan(move(0, (1,), (2,)), racks=(RackTransfer("a", "", GB), RackTransfer("a", "b", 0))), {})
    assert found.flows == {"racks": [["a", "-", GB]], "idcs": [], "brokers": [["1", "2", GB]]}


def test_of_very_many_log_dirs_those_that_change_most_are_drawn() -> None:
    loads = tuple(
        LoadSummary(broker, f"/d{disk}", 100.0, 100.0 + (broker == 7), "disk")
        for broker in range(1, 101)
        for disk in range(14)
    )
    rows = bars(plan(loads=loads))["log_dirs"]["disk"]
    assert len(rows) == MOST_BARS
    assert sum(row[1] != row[2] for row in rows) == 14


def test_a_broker_s_row_says_what_is_copied_and_what_it_has() -> None:
    loads = (
        LoadSummary(1, "", 100.0, 50.0, "cpu", is_leaving=True),
        LoadSummary(2, "", 10.0, 60.0, "cpu"),
        LoadSummary(1, "", 2.0, 2.0, "replicas"),
        LoadSummary(2, "", 2.0, 2.0, "replicas"),
        LoadSummary(3, "", 10.0, 10.0, "cpu"),
    )
    shown = plan(move(0, (1,), (2,)), loads=loads)
    assert uneven_resource(shown) == "cpu"
    rows = most_concerned(broker_rows(shown, broker_flows(shown.moves), "cpu"), 2)
    assert [(row.broker, row.bytes_in, row.bytes_out, row.before, row.after, row.leaves) for row in rows] == [
        (1, 0, GB, "100 % of a core", "50 % of a core", True),
        (2, GB, 0, "10 % of a core", "60 % of a core", False),
    ]


def test_moves_and_goals_are_in_words() -> None:
    shown = plan(
        move(0, (1,), (2,), reason="even disks", goal="disk-spread", stage=1),
        move(1, (1, 2), (2, 1)),
        goals=(GoalResult("disk-spread", False, 0.5, 0.0312, 0.09), GoalResult("rack-aware", True, 3, 0)),
    )
    first, second = (move_row(number, each, {}) for number, each in drawn(shown, {}).moves)
    assert (first.number, first.stage, first.partition, first.size, first.reason) == (
        1,
        2,
        "t-0",
        "1.0 GB",
        "even disks",
    )
    assert second.size == "leader only"
    assert [(row.before, row.after, row.asked) for row in goal_rows(shown)] == [
        ("0.500", "0.031", "0.090"),
        ("3", "0", "-"),
    ]
    assert [amount(1e6, "nw_in"), amount(1e6, "disk"), amount(38.2, "cpu"), amount(3, "leaders")] == [
        "1.0 MB/s",
        "1.0 MB",
        "38 % of a core",
        "3",
    ]


def test_a_move_is_searched_by_what_its_row_says() -> None:
    one = drawn(plan(move(0, (1,), (2,), reason="even disks", goal="disk-spread")), {})
    text = move_text(one.names, one.moves[0])
    row = move_row(*one.moves[0], one.names)
    assert all(words in text for words in (row.partition, row.origin, row.target, row.goal, row.reason))

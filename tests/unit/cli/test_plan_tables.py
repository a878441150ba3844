"""A plan as a person reads it in a terminal."""

from __future__ import annotations

import math

import pytest

from guardian.cli.plan_tables import show_loads, show_plan
from guardian.model.log_dirs import short_log_dirs, shortened
from guardian.model.plan import (
    GoalResult,
    LinkTransfer,
    LoadResource,
    LoadSummary,
    PartitionMove,
    Plan,
    ReplicaPlacement,
)
from guardian.model.topology import ANY_LOG_DIR, TopicPartition


def at(broker: int, path: str = ANY_LOG_DIR) -> ReplicaPlacement:
    return ReplicaPlacement(broker, path)


def move(partition: int = 0, reason: str = "broker 1 is full") -> PartitionMove:
    original, target = (at(1, "/data/d1/kafka"),), (at(2, "/data/d2/kafka"),)
    return PartitionMove(TopicPartition("orders", partition), original, target, 5_000_000, reason=reason)


def test_log_dirs_lose_what_all_of_a_broker_have_in_common_on_both_sides() -> None:
    assert short_log_dirs([at(1, "/data/d1/kafka"), at(1, "/data/d2/kafka")]) == {
        "/data/d1/kafka": "d1",
        "/data/d2/kafka": "d2",
    }


def test_a_log_dir_has_one_name_even_where_a_broker_has_no_other() -> None:
    places = [at(1, "/data/d1/kafka"), at(2, "/data/d1/kafka"), at(2, "/data/d2/kafka")]

    assert short_log_dirs(places) == short_log_dirs(places[::-1]) == {"/data/d1/kafka": "d1", "/data/d2/kafka": "d2"}


@pytest.mark.parametrize(
    ("paths", "names"),
    [
        (["/k"], ["k"]),
        (["/"], ["/"]),
        (["/k", "/k/x"], ["k", "k/x"]),
        (["/a/k", "/b/c/k"], ["a", "b/c"]),
        ([ANY_LOG_DIR], []),
    ],
)
def test_no_log_dir_is_left_without_a_name(paths: list[str], names: list[str]) -> None:
    assert list(short_log_dirs(at(1, path) for path in paths).values()) == names


def test_a_sentence_has_the_names_of_its_log_dirs_whole() -> None:
    names = short_log_dirs([at(1, "/data/d1"), at(1, "/data/d10")])

    assert shortened("from /data/d10 to /data/d1", names) == "from d10 to d1"


def test_a_plan_says_what_moves_and_what_could_not_be_done(capsys: pytest.CaptureFixture[str]) -> None:
    show_plan(
        Plan(
            "live",
            "remove-brokers",
            (move(),),
            input="7 samples",
            throttle=50_000_000,
            seconds=90.0,
            links=(LinkTransfer("shanghai", "suzhou", 5_000_000, 2.0, 1.5),),
            notes=("machine m1 joins as broker 9",),
            unmet=("broker 3 can't go: rack a has no room in /data/d1/kafka",),
        )
    )

    out = capsys.readouterr().out
    assert "Cluster live: remove-brokers, 1 move, 5.0 MB to copy, 2 to 22 s at 50.0 MB/s per broker. 7" in out
    assert "broker 1 is full" in out
    assert "Note: machine m1 joins as broker 9" in out
    assert "Not met: broker 3 can't go" in out
    assert ("shanghai", "suzhou", "5.0", "MB", "2", "s", "1.50") in {tuple(line.split()) for line in out.splitlines()}


def test_a_plan_of_nothing_says_so_in_a_line_and_shows_no_table(capsys: pytest.CaptureFixture[str]) -> None:
    kept = GoalResult("disk-spread", False, 0.2, 0.2, 0.3, True)
    loads = (LoadSummary(1, "", 5.0, 5.0), LoadSummary(2, "", 3.0, 3.0))
    show_plan(Plan("live", "heal", (), input="7 samples", goals=(kept,), loads=loads))

    assert capsys.readouterr().out == "Cluster live: heal, nothing to move. 7 samples\n"


def test_leaders_alone_copy_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    swap = PartitionMove(TopicPartition("orders", 0), (at(1), at(2)), (at(2), at(1)), 5_000_000)
    show_plan(Plan("live", "leaders", (swap, PartitionMove(TopicPartition("orders", 1), (), (at(1),), is_new=True))))

    out = capsys.readouterr().out
    assert "2 moves, nothing to copy." in out
    assert "leader only" in out
    assert "(new)" in out


def test_goals_are_shown_where_they_say_something(capsys: pytest.CaptureFixture[str]) -> None:
    goals = (
        GoalResult("rack", True, 0, 0, 0, True),
        GoalResult("label", True, 3, 0, 0, True),
        GoalResult("cpu-capacity", True, 1, 1, 0, False),
        GoalResult("cpu-spread", False, 0.2, 0.1, 0.04, False),
        GoalResult("disk-spread", False, 0.2, 0.03, 0.04, False),
        GoalResult("nw-in-spread", False, 0.2, 0.1, math.inf, True),
        GoalResult("nw-out-spread", False, 0.2, 0.2, math.inf, True),
    )
    show_plan(Plan("live", "balance", (move(),), goals=goals))

    out = capsys.readouterr().out
    rows = {words[0]: words[-1] for line in out.splitlines() if (words := line.split())}
    assert "rack " not in out
    assert "nw-out-spread" not in out
    assert "Hard goals kept: 2 of 3" in out
    assert (rows["label"], rows["cpu-capacity"], rows["cpu-spread"], rows["nw-in-spread"]) == ("yes", "NO", "NO", "-")
    assert "SPREADS: MAX/MEAN - 1" in out


def test_a_long_plan_shows_its_first_moves_and_where_the_others_are(capsys: pytest.CaptureFixture[str]) -> None:
    show_plan(Plan("live", "balance", tuple(move(number) for number in range(60))), most_moves=5)

    out = capsys.readouterr().out
    assert out.count("broker 1 is full") == 5
    assert "... and 55 more: -o json, --out and --picture have them all" in out


def test_replicas_that_are_dropped_are_no_change_of_the_leader(capsys: pytest.CaptureFixture[str]) -> None:
    fewer = PartitionMove(TopicPartition("orders", 0), (at(1), at(2), at(3)), (at(1), at(2)), 5_000_000)
    show_plan(Plan("live", "change-replication-factor", (fewer,)))

    out = capsys.readouterr().out
    assert "none" in out
    assert "leader only" not in out


def test_what_was_most_uneven_is_drawn_and_the_rest_is_told_in_a_row(capsys: pytest.CaptureFixture[str]) -> None:
    loads = [
        LoadSummary(1, "", 300.0, 200.0, LoadResource.CPU),
        LoadSummary(2, "", 100.0, 200.0, LoadResource.CPU),
        LoadSummary(1, "", 9e9, 5e9, LoadResource.DISK),
        LoadSummary(2, "", 1e9, 5e9, LoadResource.DISK),
        LoadSummary(1, "", 7.0, 7.0, LoadResource.LEADERS),
        LoadSummary(2, "", 0.0, 0.0, LoadResource.LEADERS),
        LoadSummary(1, "/data/d1", 8e9, 2.5e9, LoadResource.DISK),
        LoadSummary(1, "/data/d2", 1e9, 2.5e9, LoadResource.DISK),
        LoadSummary(2, "/data/d1", 1e9, 0.0, LoadResource.DISK, is_leaving=True),
    ]
    show_loads(loads, {"/data/d1": "d1", "/data/d2": "d2"})

    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["BROKER", "DISK", "BEFORE", "DISK", "AFTER", "BEFORE", "AFTER"] in rows
    assert ["1", "9.0", "GB", "5.0", "GB", "█" * 20, "█" * 11] in rows
    assert ["1:d2", "1.0", "GB", "2.5", "GB", "█" * 2, "█" * 6] in rows
    assert rows[-3:] == [
        ["broker", "cpu", "0.50", "0.00"],
        ["broker", "disk", "0.80", "0.00"],
        ["log", "dir", "disk", "0.78", "0.00"],
    ]
    assert any(row[-1:] == ["leaves"] and row[0] == "2:d1" for row in rows)


def test_of_many_brokers_those_that_change_most_are_drawn(capsys: pytest.CaptureFixture[str]) -> None:
    show_loads(
        [LoadSummary(broker, "", 2.0 * broker, float(broker), LoadResource.LEADERS) for broker in range(100)], {}
    )

    out = capsys.readouterr().out
    assert "... and 80 that change less: -o json and --picture have them all" in out
    assert [line.split()[0] for line in out.splitlines()[2:4]] == ["80", "81"]

"""Planted violations are all found, and nothing else is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from guardian.model.federation import IdcPolicy, Machine, Tenant, Topic
from guardian.model.plan import (
    LOG_DIRS,
    Excused,
    LoadResource,
    LoadSummary,
    PartitionMove,
    Plan,
    ReplicaPlacement,
)
from guardian.model.planner_settings import PlannerSettings
from guardian.model.tasks import (
    Add,
    Balance,
    CreateTopic,
    EmptyDisk,
    ExpandTopic,
    Heal,
    Isolate,
    Leaders,
    LogDir,
    MigrateIdc,
    Relieve,
    Remove,
    ReplicationFactor,
    Task,
)
from guardian.model.topology import TopicPartition
from spark_analytics.checker import Rule, check
from spark_analytics.model.cluster_model import BrokerFacts, ClusterModel, LogDirFacts, PartitionFacts, TopicFacts
from spark_analytics.model.edits import with_changes, with_placement
from spark_analytics.planners import planning

GB = 10**9


def place(text: str) -> ReplicaPlacement:
    broker, _, log_dir = text.partition(":")
    return ReplicaPlacement(int(broker), log_dir)


def places(*texts: str) -> tuple[ReplicaPlacement, ...]:
    return tuple(place(text) for text in texts)


def partition(name: str, *on: str, size: int = GB, **other: Any) -> PartitionFacts:
    topic, _, number = name.rpartition("-")
    return PartitionFacts(TopicPartition(topic, int(number)), places(*on), 1e6, 5e5, size, cpu=1, leader_cpu=1, **other)


POLICY = IdcPolicy("split", (("east", 1), ("west", 1)), "east")


@pytest.fixture
def model() -> ClusterModel:
    """Racks a to d have brokers (1, 2), (3, 4), (5, 6) and (7, 8); a and b are in east, c and d in west.

    2 is excluded, 6 is dead, 8 has label gold; /d2 of broker 4 is offline. Topic p has a policy, g the label gold, s
    belongs to a tenant that may use gold and silver, dead-0 is on the dead broker only, gone-0 on the broken disk.
    """
    return ClusterModel.of(
        "live",
        [
            BrokerFacts(
                broker,
                "aabbccdd"[broker - 1],
                "east" if broker <= 4 else "west",
                label="gold" if broker == 8 else "",
                alive=broker != 6,
                excluded=broker == 2,
                capacity=(100, 1e9, 1e9, 20e9),
            )
            for broker in range(1, 9)
        ],
        [
            LogDirFacts(broker, f"/d{number}", 10 * GB, 9 * GB, offline=(broker, number) == (4, 2))
            for broker in range(1, 9)
            for number in (1, 2)
        ],
        [
            partition("t-0", "1:/d1", "3:/d1"),
            partition("t-1", "1:/d1", "3:/d1", "5:/d1"),
            partition("t-2", "1:/d2", "3:/d1", size=65 * GB // 10),
            partition("t-3", "3:/d2"),
            partition("p-0", "1:/d1", "5:/d1"),
            partition("g-0", "8:/d1"),
            partition("s-0", "8:/d1"),
            partition("dead-0", "6:/d1"),
            partition("keep-0", "1:/d1", "3:/d1"),
            partition("sick-0", "6:/d1", "5:/d2"),
            partition("gone-0", "4:/d2"),
        ],
        [TopicFacts("p", policy="split"), TopicFacts("g", label="gold"), TopicFacts("s", tenant="pay")],
        [Tenant("pay", labels=("gold", "silver"))],
        [POLICY],
    )


def move(name: str, *target: str, original: tuple[ReplicaPlacement, ...] = (), **other: Any) -> PartitionMove:
    """Built around the checks at birth where need be: a plan from outside may have been built by anyone."""
    topic, _, number = name.rpartition("-")
    made = PartitionMove(TopicPartition(topic, int(number)), (), places("1:/d1"), **other)
    object.__setattr__(made, "original", original)
    object.__setattr__(made, "target", places(*target))
    return made


SETTINGS = PlannerSettings(excluded_topics=("keep", "sick"))


def rules(model: ClusterModel, *moves: PartitionMove, task: Task | None = None, kind: str = "balance") -> set[Rule]:
    return {violation.rule for violation in check(model, Plan("live", kind, moves), SETTINGS, task)}


T0 = places("1:/d1", "3:/d1")


@pytest.mark.parametrize(
    "sound",
    [
        move("t-0", "5:/d1", "3:/d1", original=T0),
        move("t-0", "3:/d1", "1:/d1", original=T0),
        move("t-0", "1:/d2", "3:/d2", original=T0, size_bytes=GB),
        move("t-0", "5:any", "4:any", original=T0),
        move("t-0", "5:/d1", "4:/d1"),
        move("t-0", "5:/d1", "4:/d1", original=places("3:any", "1:/d1")),
        move("t-0", "7:/d1", "1:/d1"),
        move("t-3", "1:/d1"),
        move("p-0", "3:/d2", "7:/d1"),
        move("g-0", "8:/d2"),
        move("s-0", "8:/d2"),
        move("sick-0", "5:/d2", "7:/d1"),
        move("sick-0", "5:/d2", "6:/d1"),
        move("t-9", "1:/d1", "3:/d1", is_new=True),
    ],
)
def test_sound_moves_pass(model: ClusterModel, sound: PartitionMove) -> None:
    assert rules(model, sound) == set()


@pytest.mark.parametrize(
    ("rule", "planted"),
    [
        (Rule.PARTITION_KNOWN, move("t-9", "1:/d1")),
        (Rule.PARTITION_NEW, move("t-0", "1:/d1", "3:/d1", is_new=True)),
        (Rule.BROKER_KNOWN, move("t-3", "77:/d1")),
        (Rule.LOG_DIR_KNOWN, move("t-0", "5:/d9", "3:/d1")),
        (Rule.LOG_DIR_CLOSED, move("t-0", "1:/d1", "4:/d2")),
        (Rule.REPLICATION_FACTOR, move("t-1", "1:/d1", "3:/d1")),
        (Rule.REPLICATION_FACTOR, move("t-3", "3:/d2", "1:/d1")),
        (Rule.ONE_REPLICA_A_BROKER, move("t-0", "1:/d1", "1:/d2")),
        (Rule.ORIGINAL, move("t-0", "5:/d1", "3:/d1", original=places("1:/d2", "3:/d1"))),
        (Rule.ORIGINAL, move("t-0", "5:/d1", "3:/d1", original=places("5:/d1", "3:/d1"))),
        (Rule.SIZE, move("t-0", "5:/d1", "3:/d1", size_bytes=2 * GB)),
        (Rule.CLOSED, move("t-3", "2:/d1")),
        (Rule.CLOSED, move("sick-0", "5:/d2", "2:/d1")),
        (Rule.LABEL, move("t-3", "8:/d1")),
        (Rule.LABEL, move("g-0", "7:/d1")),
        (Rule.LABEL, move("s-0", "7:/d1")),
        (Rule.LABEL, move("t-9", "1:/d1", "8:/d1", is_new=True)),
        (Rule.RACKS, move("t-1", "1:/d1", "3:/d1", "4:/d1")),
        (Rule.RACKS, move("t-9", "3:/d1", "4:/d1", is_new=True)),
        (Rule.IDC, move("p-0", "1:/d1", "3:/d2")),
        (Rule.IDC, move("p-9", "1:/d1", "3:/d2", is_new=True)),
        (Rule.LEADER, move("p-0", "5:/d1", "1:/d1")),
        (Rule.SOURCE, move("dead-0", "1:/d1")),
        (Rule.SOURCE, move("gone-0", "4:/d1")),
        (Rule.PINNED, move("keep-0", "5:/d1", "3:/d1")),
        (Rule.DISK_ROOM, move("t-2", "3:/d1", "1:/d1")),
    ],
)
def test_a_planted_violation_is_found(model: ClusterModel, rule: Rule, planted: PartitionMove) -> None:
    assert rules(model, planted) == {rule}


def test_a_dead_broker_leads_nothing(model: ClusterModel) -> None:
    assert rules(model, move("t-3", "6:/d1")) == {Rule.LEADER, Rule.CLOSED}
    assert rules(model, move("sick-0", "6:/d1", "7:/d1")) == {Rule.LEADER}


def test_a_partition_that_is_moved_twice_is_found(model: ClusterModel) -> None:
    twice = Plan("live", "balance", ())
    object.__setattr__(twice, "moves", (move("t-0", "5:/d1", "3:/d1"), move("t-0", "5:/d2", "3:/d1")))
    assert [violation.rule for violation in check(model, twice)] == [Rule.ONE_MOVE_A_PARTITION]


def test_a_plan_for_another_cluster_is_found(model: ClusterModel) -> None:
    assert [violation.rule for violation in check(model, Plan("bulk", "balance", ()))] == [Rule.CLUSTER]


def test_racks_are_shared_where_there_are_too_few(model: ClusterModel) -> None:
    """Five replicas, four racks: one rack holds two; gold stands in one rack only."""
    assert rules(model, move("t-8", "1:/d1", "3:/d1", "5:/d1", "7:/d1", "4:/d1", is_new=True)) == set()
    assert rules(model, move("t-8", "1:/d1", "3:/d1", "4:/d1", "5:/d1", is_new=True)) == {Rule.RACKS}


def test_a_crowded_rack_gives_no_other_one_leave_to_be_crowded() -> None:
    """Both replicas are in rack a. One may stay there with the other; the two may not go to rack b together."""
    model = ClusterModel.of(
        "live",
        [BrokerFacts(broker, "aaabbb"[broker - 1]) for broker in range(1, 7)],
        [LogDirFacts(broker, "/d1", 100 * GB, 90 * GB) for broker in range(1, 7)],
        [partition("t-1", "1:/d1", "2:/d1")],
    )
    assert rules(model, move("t-1", "3:/d1", "2:/d1")) == set()
    assert rules(model, move("t-1", "1:/d1", "4:/d1")) == set()
    assert rules(model, move("t-1", "4:/d1", "5:/d1")) == {Rule.RACKS}


def test_the_rack_of_what_is_left_on_a_dead_broker_or_disk_is_free(model: ClusterModel) -> None:
    """t-1 leaves a replica on broker 3 in rack b: another may stand in b when broker 3, or its disk, is dead."""
    beside = move("t-1", "4:/d1", "3:/d1", "5:/d1")
    broken = with_changes(model, log_dirs=[LogDirFacts(3, "/d1", 10 * GB, 9 * GB, offline=True)])
    assert rules(with_changes(model, dead=[3]), beside) == set()
    assert rules(broken, beside) == set()
    assert rules(broken, move("t-1", "4:/d1", "3:/d2", "5:/d1")) == {Rule.RACKS}
    assert rules(model, beside) == {Rule.RACKS}


def test_a_partition_that_was_not_seen_whole_is_never_moved(model: ClusterModel) -> None:
    whole = model.whole.copy()
    whole[model.partition_index(TopicPartition("t", 0))] = False
    half = replace(model, whole=whole)
    assert rules(half, move("t-0", "5:/d1", "3:/d1")) == {Rule.UNSEEN}
    assert rules(half, move("t-3", "1:/d1")) == set()


# Room, at every moment.


def ordered(*moves: PartitionMove) -> Plan:
    return Plan("live", "balance", tuple(replace(each, goal="disk-spread") for each in moves))


def crowded() -> ClusterModel:
    """A disk of 10 kB on each of brokers 1 to 3: a (6) on 1, b (2) on 2, c (5) on 2."""
    return ClusterModel.of(
        "live",
        [BrokerFacts(broker, capacity=(10, 100, 100, 1e6)) for broker in (1, 2, 3)],
        [LogDirFacts(broker, "/d", 10_000, 10_000) for broker in (1, 2, 3)],
        [
            PartitionFacts(TopicPartition("a", 0), (ReplicaPlacement(1, "/d"),), 40, size_bytes=6000, cpu=4),
            PartitionFacts(TopicPartition("b", 0), (ReplicaPlacement(2, "/d"),), 1, size_bytes=2000, cpu=2),
            PartitionFacts(TopicPartition("c", 0), (ReplicaPlacement(2, "/d"),), 50, size_bytes=5000, cpu=3),
        ],
    )


def found(plan: Plan, model: ClusterModel | None = None) -> list[tuple[Rule, str]]:
    return [(each.rule, each.detail) for each in check(model or crowded(), plan, PlannerSettings(disk_limit=0.9))]


def test_what_a_stage_takes_away_is_there_until_it_is_over() -> None:
    """a and c change places: no disk has room for both of them, and broker 2 not the CPU."""
    at_once = ordered(move("a-0", "2:/d"), move("c-0", "1:/d"))
    assert found(at_once) == [
        (Rule.DISK_ROOM, "1:/d in stage 0: 6000 B and 5000 B more exceed 9000 B"),
        (Rule.DISK_ROOM, "2:/d in stage 0: 7000 B and 6000 B more exceed 9000 B"),
        (Rule.CAPACITY, "broker 1 in stage 0: nw_in 40 and 50 more exceed 80"),
        (Rule.CAPACITY, "broker 2 in stage 0: cpu 5 and 4 more exceed 7"),
        (Rule.CAPACITY, "broker 2 in stage 0: nw_in 51 and 40 more exceed 80"),
    ]
    by_the_third = ordered(move("c-0", "3:/d"), move("a-0", "2:/d", stage=1))
    assert found(by_the_third) == []


def test_usable_bytes_count_besides_the_limit() -> None:
    model = crowded()
    shared = replace(model, disk_usable_bytes=model.disk_usable_bytes - 7600)  # somebody else's files
    assert found(ordered(move("b-0", "3:/d")), shared) == [
        (Rule.DISK_ROOM, "3:/d in stage 0: 2000 B more leave less than 500 of 2400 B usable")
    ]
    assert found(ordered(move("b-0", "3:/d")), replace(model, disk_usable_bytes=model.disk_usable_bytes - 7400)) == []


def test_stages_come_in_order() -> None:
    plan = ordered(move("b-0", "3:/d", stage=1), move("c-0", "3:/d"))
    assert [rule for rule, _ in found(plan)] == [Rule.TASK]


def test_a_plan_without_an_order_is_judged_by_its_end() -> None:
    swap = Plan("live", "placement", (move("b-0", "1:/d"), move("a-0", "3:/d")))
    assert found(swap) == []
    heavy = Plan("live", "placement", (move("b-0", "3:/d"), move("a-0", "3:/d"), move("c-0", "3:/d")))
    assert {rule for rule, _ in found(heavy)} == {Rule.CAPACITY, Rule.DISK_ROOM}


def test_a_leader_that_comes_to_a_full_broker_is_found() -> None:
    model = ClusterModel.of(
        "live",
        [BrokerFacts(1, capacity=(10, 1, 1, 1)), BrokerFacts(2, capacity=(10, 1, 1, 1))],
        [LogDirFacts(1, "/d", 1, 1), LogDirFacts(2, "/d", 1, 1)],
        [
            PartitionFacts(TopicPartition("a", 0), places("1:/d", "2:/d"), leader_cpu=5),
            PartitionFacts(TopicPartition("b", 0), places("2:/d"), leader_cpu=4),
        ],
    )
    assert found(ordered(move("a-0", "2:/d", "1:/d")), model) == [
        (Rule.CAPACITY, "broker 2 in stage 0: cpu 4 and 5 more exceed 7")
    ]


# The load table.


def balanced(model: ClusterModel) -> Plan:
    made = planning.make(model, Balance(), SETTINGS)
    assert made.moves
    assert check(model, made, SETTINGS, Balance()) == ()
    return made


@pytest.mark.slow
def test_the_load_table_is_added_up_again(model: ClusterModel) -> None:
    made = balanced(model)

    def with_row(change: Callable[[LoadSummary], LoadSummary]) -> list[Plan]:
        return [
            replace(made, loads=(*made.loads[:at], change(row), *made.loads[at + 1 :]))
            for at, row in enumerate(made.loads)
        ]

    for broken in (
        *with_row(lambda row: replace(row, before=row.before + 1 + (row.before + row.after) / 100)),
        *with_row(lambda row: replace(row, after=row.after + 1 + (row.before + row.after) / 100)),
        *with_row(lambda row: replace(row, broker=99)),
        *(replace(made, loads=(*made.loads[:at], *made.loads[at + 1 :])) for at in range(len(made.loads))),
    ):
        differs = [(a, b) for a, b in zip(made.loads, broken.loads, strict=False) if a != b][:1]
        assert {violation.rule for violation in check(model, broken, SETTINGS)} == {Rule.LOADS}, differs


def test_a_dead_brokers_row_that_counts_is_found(model: ClusterModel) -> None:
    made = balanced(model)
    counted = replace(made, loads=tuple(replace(row, is_leaving=False) for row in made.loads))
    assert {violation.rule for violation in check(model, counted, SETTINGS)} == {Rule.LOADS}


def test_a_move_left_out_of_a_plan_shows_in_its_load_table(model: ClusterModel) -> None:
    made = balanced(model)
    for at in range(len(made.moves)):
        less = replace(made, moves=(*made.moves[:at], *made.moves[at + 1 :]))
        assert Rule.LOADS in {violation.rule for violation in check(model, less, SETTINGS)}


# What was asked for.

TASKS: list[Task] = [
    Balance(),
    Leaders(away_from=(1,)),
    Isolate("silver", topics=("t",), brokers=(1, 3, 5)),
    Isolate("silver", topics=("t",), brokers=(1, 3), machines=(Machine("m1", "west", "x", 20 * GB, 2),)),
    MigrateIdc(IdcPolicy("west", (("west", 2),)), topics=("p",)),
    Remove((1,)),
    Remove((5,), balance=True),
    Add((7,)),
    CreateTopic(Topic("live", "new", idc_policy="split"), 4, 2),
    CreateTopic(Topic("live", "new", label="gold"), 2, 1),
    ExpandTopic("t", 8),
    ReplicationFactor(("t",), 3),
    ReplicationFactor(("t",), 1),
    EmptyDisk((LogDir(1, "/d1"),)),
    Relieve(0.6),
    Heal(),
]


@pytest.mark.parametrize("task", TASKS, ids=lambda task: type(task).__name__)
def test_what_planners_make_passes(model: ClusterModel, task: Task) -> None:
    made = planning.make(model, task, SETTINGS)
    assert check(model, made, SETTINGS, task) == ()


EVERYTHING = Excused(
    partitions=frozenset(
        TopicPartition(topic, number) for topic in ("t", "p", "g", "sick", "keep") for number in range(9)
    ),
    brokers=frozenset(range(1, 9)),
    whole=frozenset(range(1, 9)),
    resources=frozenset((*(str(each) for each in LoadResource), LOG_DIRS)),
)


def undone(model: ClusterModel, task: Task, **plan: Any) -> list[str]:
    """What is found in a plan of nothing that says so, but not what it is about."""
    told = Plan("live", task.kind, (), **{"unmet": ("there is no room",), **plan})
    return [violation.detail for violation in check(model, told, SETTINGS, task)]


@pytest.mark.parametrize(
    ("task", "left"),
    [
        (Remove((1,)), "broker 1 keeps 5 replicas"),
        (Remove((6,)), "broker 6 is dead and keeps 1 replicas (sick-0), though sick-0 has a place on 1:/d1"),
        (Heal(), "broker 6 is dead and keeps 1 replicas (sick-0), though sick-0 has a place on 1:/d1"),
        (Heal(), "broker 6 leads 1 partitions that it should not (sick-0), though broker 5 may lead sick-0"),
        (
            MigrateIdc(IdcPolicy("west", (("west", 2),)), topics=("p",)),
            "1 partitions have replicas astray from west (p-0), though p-0 has a place on 7:/d1",
        ),
        (
            MigrateIdc(IdcPolicy("led", (("east", 1), ("west", 1)), "west"), topics=("p",)),
            "broker 1 leads 1 partitions that it should not (p-0), though broker 5 may lead p-0",
        ),
        (
            Leaders(away_from=(1,)),
            "broker 1 leads 4 partitions that it should not (keep-0, t-0, t-1, ...), though broker 3 may lead keep-0",
        ),
        (
            EmptyDisk((LogDir(1, "/d1"),)),
            "log dir /d1 of broker 1 keeps 4 replicas (keep-0, p-0, t-0, ...), though keep-0 has a place on 1:/d2",
        ),
        (
            ReplicationFactor(("t",), 3),
            "2 partitions have 2 replicas, not 3 (t-0, t-2), though t-0 has a place on 5:/d1",
        ),
        (
            ReplicationFactor(("t",), 1),
            "1 partitions have 3 replicas, not 1 (t-1), though a replica can always be given up",
        ),
        (CreateTopic(Topic("live", "new"), 4, 2), "topic new would have 0 partitions, not 4"),
        (ExpandTopic("t", 8), "topic t would have 4 partitions, not 8"),
        (
            Isolate("silver", topics=("t",), brokers=(1, 3)),
            "broker 5, which is not of label silver, keeps 1 replicas that must not be there (t-1)",
        ),
        (Isolate("gold", release=1), ""),
        (Relieve(0.6), "3:/d1 keeps 9500000000 B of 10000000000 B, though 3:/d2 has room for t-0"),
        (Balance(), "disk of broker 1 is 110% above the mean, 9.0% was asked, and nothing says that it is not reached"),
        (Add((7,)), "disk of broker 1 is 110% above the mean, 9.0% was asked, and nothing says that it is not reached"),
    ],
)
def test_a_task_that_is_not_done_is_found_whatever_the_plan_says_of_other_things(
    model: ClusterModel, task: Task, left: str
) -> None:
    found = undone(model, task)
    assert left in found if left else found == []


@pytest.mark.parametrize(
    ("task", "planted"),
    [
        (Leaders(), move("t-0", "5:/d1", "3:/d1")),
        (Leaders(), move("t-0", "1:/d2", "3:/d1", original=T0)),
        (ExpandTopic("t", 4), move("t-0", "5:/d1", "3:/d1")),
        (CreateTopic(Topic("live", "t"), 4, 1), move("t-0", "5:/d1", "3:/d1")),
    ],
)
def test_a_plan_that_does_more_than_asked_is_found(model: ClusterModel, task: Task, planted: PartitionMove) -> None:
    assert rules(model, planted, task=task, kind=task.kind) == {Rule.TASK}


@pytest.mark.parametrize(
    ("task", "planted", "rule"),
    [
        (Add((7,)), move("t-3", "5:/d1"), Rule.CLOSED),
        (EmptyDisk((LogDir(5, "/d1"),)), move("t-3", "5:/d1"), Rule.LOG_DIR_CLOSED),
        (Leaders(away_from=(3,)), move("t-0", "3:/d1", "1:/d1"), Rule.LEADER),
        (Isolate("silver", topics=("t",), brokers=(1, 3)), move("t-3", "5:/d1"), Rule.LABEL),
        (Isolate("silver", topics=("t",), brokers=(1, 3)), move("keep-0", "5:/d1", "4:/d1"), None),
        (MigrateIdc(IdcPolicy("east", (("east", 1),)), topics=("t",)), move("t-3", "5:/d1"), Rule.IDC),
        (CreateTopic(Topic("live", "new", label="gold"), 1, 1), move("new-0", "1:/d1", is_new=True), Rule.LABEL),
    ],
)
def test_a_task_closes_and_opens_places(
    model: ClusterModel, task: Task, planted: PartitionMove, rule: Rule | None
) -> None:
    told = Plan("live", task.kind, (planted,), unmet=("the rest waits",), excused=EVERYTHING)
    assert {each.rule for each in check(model, told, SETTINGS, task)} - {Rule.TASK} == ({rule} if rule else set())


def test_a_broker_to_be_removed_takes_nothing_unless_the_plan_says_that_it_stays(model: ClusterModel) -> None:
    task = Remove((7,))  # which is empty
    takes = Plan("live", task.kind, (move("t-3", "7:/d1"),), unmet=("broker 7 can't go: racks",))
    assert {each.rule for each in check(model, takes, SETTINGS, task)} == {Rule.CLOSED, Rule.TASK}
    assert check(model, replace(takes, excused=Excused(brokers=frozenset({7}))), SETTINGS, task) == ()


def test_a_broker_may_keep_the_partitions_that_the_plan_names(model: ClusterModel) -> None:
    task = Remove((1,))
    made = planning.make(model, task, SETTINGS)
    stuck, *others = made.moves
    less = replace(made, moves=tuple(others), loads=(), unmet=("1 move is left out",))
    assert [each.detail for each in check(model, less, SETTINGS, task)] == ["broker 1 keeps 1 replicas"]
    named = replace(less, excused=Excused(partitions=frozenset({stuck.partition})))
    assert check(model, named, SETTINGS, task) == ()


# What may be left undone: what the plan names, one by one.


def test_what_a_plan_names_may_stay_and_nothing_else_may(model: ClusterModel) -> None:
    task = EmptyDisk((LogDir(1, "/d1"),))
    made = planning.make(model, task, SETTINGS)
    kept, *others = [each for each in made.moves if each.partition.topic in "tp"]
    less = replace(made, moves=tuple(each for each in made.moves if each is not kept), loads=(), unmet=("no room",))
    assert others
    assert [each.rule for each in check(model, less, SETTINGS, task)] == [Rule.TASK]
    named = replace(less, excused=Excused(partitions=frozenset({kept.partition})))
    assert check(model, named, SETTINGS, task) == ()
    other = replace(less, excused=Excused(partitions=frozenset({others[0].partition})))
    assert [each.rule for each in check(model, other, SETTINGS, task)] == [Rule.TASK]


def heap() -> ClusterModel:
    """Forty partitions of 1 GB on brokers 1 to 3, of four that are alike; 4 is empty."""
    return ClusterModel.of(
        "live",
        [BrokerFacts(broker, f"r{broker % 2}", capacity=(800, 1e9, 1e9, 1e12)) for broker in range(1, 5)],
        [LogDirFacts(broker, "/d", 1000 * GB, 900 * GB) for broker in range(1, 5)],
        [partition(f"t-{number}", f"{1 + number % 3}:/d") for number in range(40)],
    )


@pytest.mark.parametrize(
    ("task", "left"),
    [
        (Balance(), "cpu of broker 1 is 300% above the mean and nothing moves, though a replica of t-0"),
        (Remove((1,)), "broker 1 keeps 14 replicas, though others have room for all of them"),
        (Remove((1,), balance=True), "broker 1 keeps 14 replicas, though others have room for all of them"),
    ],
)
def test_a_plan_of_nothing_is_not_believed_where_something_could_be_done(task: Task, left: str) -> None:
    lazy = PlannerSettings(target_spread=0.05, topic_spread=False) if isinstance(task, Balance) else SETTINGS
    crowded_in = heap()
    if isinstance(task, Balance):
        crowded_in = moved_onto_one(crowded_in)
    told = Plan("live", task.kind, (), unmet=("no step was found",), excused=EVERYTHING)
    found = [each.detail for each in check(crowded_in, told, lazy, task)]
    assert any(left in detail for detail in found), found
    spent = replace(lazy, max_bytes=0.0, max_leader_moves=0)
    assert not any("nothing moves" in each.detail for each in check(crowded_in, told, spent, task))


def moved_onto_one(model: ClusterModel) -> ClusterModel:
    """All of it on broker 1."""
    return with_placement(model, model.slot_log_dir * 0, model.leader_slot)


# Budgets and counts.

SWAP = (
    move("t-0", "4:/d", size_bytes=GB),
    move("t-1", "4:/d", size_bytes=GB),
    move("t-2", "4:/d", size_bytes=GB),
)


def broken_by(
    settings: PlannerSettings, *moves: PartitionMove, model: ClusterModel | None = None
) -> list[tuple[Rule, str]]:
    plan = Plan("live", "balance", moves)
    return [(each.rule, each.detail) for each in check(model or heap(), plan, settings)]


@pytest.mark.parametrize(
    ("settings", "found"),
    [
        ({"max_bytes": 3e9}, []),
        ({"max_bytes": 2.9e9}, [(Rule.BUDGET, "3000000000 B to copy, 2900000000 B are allowed")]),
        ({"max_seconds": 60.0}, []),
        ({"max_seconds": 59.0}, [(Rule.BUDGET, "3000000000 B into broker 4 take 60 s, 59 s are allowed")]),
        ({"max_replicas": 3}, []),
        ({"max_replicas": 2}, [(Rule.REPLICAS, "broker 4 from 0 to 3 replicas, 2 may be there")]),
    ],
)
def test_what_a_plan_costs_is_held_against_what_was_allowed(
    settings: dict[str, Any], found: list[tuple[Rule, str]]
) -> None:
    assert broken_by(PlannerSettings(**settings), *SWAP) == found


def test_copies_between_log_dirs_are_in_the_budget_and_what_rules_force_is_not(model: ClusterModel) -> None:
    tight = replace(SETTINGS, max_bytes=0.0)
    assert broken_by(tight, move("t-0", "1:/d2", "3:/d1"), model=model)[0][0] is Rule.BUDGET
    assert broken_by(tight, move("sick-0", "5:/d2", "7:/d1"), model=model) == []


def test_leaders_that_move_are_counted(model: ClusterModel) -> None:
    handed_over = (move("t-0", "3:/d1", "1:/d1"), move("t-1", "3:/d1", "1:/d1", "5:/d1"))
    task = Balance(topics=("t",))
    for most, rules_broken in ((2, set()), (1, {Rule.BUDGET})):
        plan = Plan("live", "balance", handed_over, unmet=("...",), excused=EVERYTHING)
        allowed = replace(SETTINGS, max_leader_moves=float(most))
        assert {each.rule for each in check(model, plan, allowed, task)} == rules_broken


def test_a_topic_crowds_on_no_broker() -> None:
    """t has 14 replicas on its worst broker."""
    crowds = tuple(move(f"t-{number}", "1:/d") for number in range(1, 40) if number % 3)
    plan = Plan("live", "balance", crowds, unmet=("...",), excused=EVERYTHING)
    found = {each.rule: each.detail for each in check(heap(), plan, PlannerSettings(), Balance())}
    assert found == {Rule.TOPIC_SPREAD: "broker 1 with 40 replicas of t, not 14"}
    assert check(heap(), plan, PlannerSettings(topic_spread=False), Balance()) == ()


def test_a_broker_leads_as_many_of_a_topic_as_it_must(model: ClusterModel) -> None:
    """Broker 1 leads t-0, t-1 and t-2."""
    asks = replace(SETTINGS, min_leaders=(("t", 3),))
    assert broken_by(asks, move("t-0", "3:/d1", "1:/d1"), model=model) == [
        (Rule.LEADERS, "broker 1 from 3 to 2 of t, 3 must be there")
    ]
    assert broken_by(replace(asks, min_leaders=(("t", 2),)), move("t-0", "3:/d1", "1:/d1"), model=model) == []


def test_log_dirs_that_stay_uneven_are_told(model: ClusterModel) -> None:
    made = planning.make(model, Balance(), replace(SETTINGS, disk_spread=5.0))
    found = [each.detail for each in check(model, replace(made, excused=Excused()), SETTINGS, Balance())]
    assert any("above the mean of its broker, 10.0% was asked" in detail for detail in found)


# Machines of the pool.


POOL = (
    Machine("m1", "west", "c", 20 * GB, 2),
    Machine("m2", "west", "c", GB, 2),
    Machine("m3", "west", "x", 20 * GB, 2),
    Machine("m4", "west", "c", 20 * GB, 2),
)


@pytest.mark.parametrize(
    ("joins", "rule"),
    [
        (("m1", "m3"), None),
        (("m1", "m4", "m3"), Rule.RACKS),
        (("m2", "m3"), Rule.DISK_ROOM),
        (("m1", "nobody"), Rule.BROKER_KNOWN),
    ],
)
def test_a_machine_that_joins_has_its_own_rack_limits_and_disk(
    model: ClusterModel, joins: tuple[str, ...], rule: Rule | None
) -> None:
    """t-2 holds 6.5 GB."""
    task = Isolate("silver", topics=("t",), machines=POOL)
    plan = Plan(
        "live",
        task.kind,
        (move("t-2", "9:any", "10:any"),),
        unmet=("the rest waits",),
        excused=EVERYTHING,
        joins=tuple(enumerate(joins, start=9)),
    )
    found = {each.rule for each in check(model, plan, SETTINGS, task)}
    assert rule in found if rule else not found

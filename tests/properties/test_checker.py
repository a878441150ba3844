"""Whatever one thing is spoilt in a sound plan, the checker finds it: random clusters, real plans, planted errors."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from guardian.errors import InvalidInput
from guardian.model.federation import IdcPolicy, Machine, Tenant, Topic
from guardian.model.plan import PartitionMove, Plan, ReplicaPlacement
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
from spark_analytics.planners import planning

SETTINGS = PlannerSettings()
GB = 10**9
CAPACITY = (800.0, 1e9, 1e9, 1e15)


@st.composite
def clusters(draw: st.DrawFn) -> ClusterModel:
    """4 to 8 brokers in 3 racks with 1 or 2 disks, some with a label; crowded on the first brokers."""
    brokers = range(draw(st.integers(4, 8)))
    disks = draw(st.integers(1, 2))
    gold = {broker for broker in brokers if broker >= 6}
    partitions = []
    for number in range(draw(st.integers(6, 20))):
        first = draw(st.integers(0, 2))
        on = [first, first + 1, 3][: draw(st.integers(1, 3))]
        size, rate = draw(st.integers(1, 9)), draw(st.integers(1, 9))
        places = tuple(ReplicaPlacement(broker, f"/d{draw(st.integers(1, disks))}") for broker in dict.fromkeys(on))
        partitions.append(
            PartitionFacts(
                TopicPartition("t", number), places, rate * 1e6, rate * 1e6, size * GB, cpu=rate, leader_cpu=rate
            )
        )
    return ClusterModel.of(
        "live",
        [
            BrokerFacts(
                broker, "abc"[broker % 3], label="gold" if broker in gold else "", capacity=(800, 1e9, 1e9, 1e15)
            )
            for broker in brokers
        ],
        [LogDirFacts(broker, f"/d{disk}", 1000 * GB, 900 * GB) for broker in brokers for disk in range(1, disks + 1)],
        partitions,
        [TopicFacts("t")],
    )


def made(model: ClusterModel) -> Plan:
    plan = planning.make(model, Balance(), SETTINGS)
    assert check(model, plan, SETTINGS, Balance()) == ()
    assume(plan.moves)
    return plan


def spoilt(plan: Plan, at: int, change: Callable[[PartitionMove], PartitionMove]) -> Plan:
    """Without its load table: that would show everything."""
    moves = list(plan.moves)
    moves[at] = change(moves[at])
    return replace(plan, moves=tuple(moves), loads=())


def rules(model: ClusterModel, plan: Plan) -> set[Rule]:
    return {violation.rule for violation in check(model, plan, SETTINGS, Balance())}


def retargeted(move: PartitionMove, place: ReplicaPlacement) -> PartitionMove:
    return replace(move, target=(*move.target[:-1], place))


@pytest.mark.slow
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(clusters(), st.data())
def test_any_spoilt_move_is_found(model: ClusterModel, data: st.DataObject) -> None:
    plan = made(model)
    at = data.draw(st.integers(0, len(plan.moves) - 1))
    move = plan.moves[at]

    def broken(change: Callable[[PartitionMove], PartitionMove]) -> set[Rule]:
        return rules(model, spoilt(plan, at, change))

    unknown = replace(move, partition=TopicPartition("other", 0), original=())
    assert broken(lambda _: unknown) == {Rule.PARTITION_KNOWN}
    assert Rule.PARTITION_NEW in broken(lambda it: replace(it, is_new=True, original=()))
    assert Rule.BROKER_KNOWN in broken(lambda it: retargeted(it, ReplicaPlacement(99, "/d1")))
    assert Rule.LOG_DIR_KNOWN in broken(lambda it: retargeted(it, ReplicaPlacement(it.target[-1].broker, "/no")))
    assert Rule.SIZE in broken(lambda it: replace(it, size_bytes=it.size_bytes + 100 * GB))
    more = next(broker for broker in model.broker_ids.tolist() if broker not in move.target_brokers)
    assert Rule.REPLICATION_FACTOR in broken(lambda it: replace(it, target=(*it.target, ReplicaPlacement(more, "/d1"))))
    if len(move.target) > 1:
        assert Rule.REPLICATION_FACTOR in broken(lambda it: replace(it, target=it.target[:-1]))
    if gold := {6, 7} & set(model.broker_ids.tolist()):
        stranger = ReplicaPlacement(min(gold), "/d1")
        assert Rule.LABEL in broken(lambda it: retargeted(it, stranger))
    racks = {broker: int(rack) for broker, rack in zip(model.broker_ids.tolist(), model.rack.tolist(), strict=True)}
    beside = [
        broker
        for broker in racks
        if len(move.target) > 1
        and broker not in (*move.target_brokers, *move.original_brokers)
        and racks[broker] == racks[move.target[0].broker]
    ]
    if beside and len({racks[broker] for broker in move.original_brokers}) == len(move.original):
        assert Rule.RACKS in broken(lambda it: retargeted(it, ReplicaPlacement(beside[0], "/d1")))


@pytest.mark.slow
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(clusters(), st.data())
def test_any_spoilt_load_is_found(model: ClusterModel, data: st.DataObject) -> None:
    plan = made(model)
    at = data.draw(st.integers(0, len(plan.loads) - 1))
    row = plan.loads[at]
    amount = 1 + max(row.before, row.after) * 1e-3
    for wrong in (replace(row, before=row.before + amount), replace(row, after=row.after + amount)):
        loads = (*plan.loads[:at], wrong, *plan.loads[at + 1 :])
        assert rules(model, replace(plan, loads=loads)) == {Rule.LOADS}


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(clusters())
def test_a_full_disk_or_broker_is_found(model: ClusterModel) -> None:
    """The same plan on a cluster whose targets have no room."""
    plan = replace(made(model), loads=())
    copies = [
        place for move in plan.moves for place in move.target if place not in move.original and move.bytes_to_copy
    ]
    assume(copies)
    tight = replace(model, disk_usable_bytes=model.disk_usable_bytes * 0 + 50 * GB)  # all of it is the reserve
    assert Rule.DISK_ROOM in rules(tight, plan)
    slow = replace(model, capacity=model.capacity * 0 + 1)
    assert Rule.CAPACITY in rules(slow, plan)


# All planners, on clusters with all that rules speak of.

POLICIES = [IdcPolicy("split", (("east", 1), ("west", 1)), "east")]


def federation(draw: random.Random) -> ClusterModel:
    """4 to 12 brokers, some with a label, excluded or with a broken disk; topics with labels, tenants and policies."""
    count, racks = draw.randint(4, 12), draw.randint(2, 5)
    paths = [f"/d{number}" for number in range(draw.randint(1, 3))]
    brokers = [
        BrokerFacts(
            broker,
            f"r{broker % racks}",
            ("east", "west")[broker % racks % 2],
            label="gold" if draw.random() < 0.2 else "",
            excluded=draw.random() < 0.1,
            capacity=(400.0 * (size := draw.choice((1, 1, 2))), 1e9 * size, 1e9 * size, 5000.0 * GB * size),
        )
        for broker in range(count)
    ]
    topics, partitions = [], []
    for number in range(draw.randint(1, 5)):
        replicas = draw.randint(1, min(3, racks))
        policy = "split" if replicas == 2 and draw.random() < 0.4 else ""
        label, tenant = "gold" if draw.random() < 0.15 else "", "pay" if draw.random() < 0.15 else ""
        topics.append(TopicFacts(f"t{number}", tenant, label, policy))
        partitions += [
            replicated(draw, TopicPartition(f"t{number}", each), replicas, count, racks, paths)
            for each in range(draw.randint(1, 10))
        ]
    held: dict[ReplicaPlacement, int] = defaultdict(int)
    for facts in partitions:
        for place in facts.replicas:
            held[place] += facts.size_bytes
    log_dirs = []
    for broker in brokers:
        for path in paths:
            used, free = held[ReplicaPlacement(broker.id, path)], draw.randint(200, 2000) * GB
            log_dirs.append(LogDirFacts(broker.id, path, used + free, free, offline=draw.random() < 0.04))
    return ClusterModel.of("live", brokers, log_dirs, partitions, topics, [Tenant("pay", labels=("gold",))], POLICIES)


def replicated(
    draw: random.Random, name: TopicPartition, replicas: int, brokers: int, racks: int, paths: list[str]
) -> PartitionFacts:
    """In racks that differ; the first brokers hold most."""
    order = sorted(range(brokers), key=lambda broker: broker * draw.random())
    on = list({broker % racks: broker for broker in reversed(order)}.values())[::-1][:replicas]
    rate = draw.randint(1, 9)
    places = tuple(ReplicaPlacement(broker, draw.choice(paths)) for broker in on)
    return PartitionFacts(name, places, rate * 1e6, rate * 1e6, draw.randint(1, 40) * GB, cpu=rate, leader_cpu=rate)


def tasks(draw: random.Random, model: ClusterModel) -> Iterator[Task]:
    ids, topics = model.broker_ids.tolist(), list(model.topics)
    log_dirs = [LogDir(place.broker, place.log_dir) for place in map(model.placement, range(len(model.log_dirs)))]
    yield Balance()
    yield Balance(topics=(draw.choice(topics),))
    yield Leaders(away_from=tuple(draw.sample(ids, 1)))
    yield Heal()
    yield Remove(tuple(draw.sample(ids, 2)))
    yield Remove(tuple(draw.sample(ids, 1)), balance=True)
    yield Add(tuple(draw.sample(ids, 1)))
    yield MigrateIdc(IdcPolicy("two", (("east", 1), ("west", 1)), draw.choice(("", "east", "west"))), topics=("t0",))
    yield CreateTopic(Topic("live", "new", idc_policy=draw.choice(("", "split"))), draw.randint(1, 8), 2)
    yield ExpandTopic("t0", 16)
    yield ReplicationFactor((draw.choice(("*", *topics)),), draw.randint(1, 3))
    yield EmptyDisk(tuple(draw.sample(log_dirs, 1)))
    yield Relieve(draw.choice((0.1, 0.2, 0.5)))
    yield Isolate("silver", topics=("t0",), brokers=tuple(plain_brokers(model)))
    yield Isolate("silver", topics=("t0",), machines=tuple(machines(draw)))
    yield Isolate("gold", release=1)


def plain_brokers(model: ClusterModel) -> list[int]:
    is_plain = (model.broker_label < 0) & ~model.excluded
    return [int(broker) for broker in model.broker_ids[is_plain][:4]]


def machines(draw: random.Random) -> Iterator[Machine]:
    for number in range(5):
        yield Machine(f"m{number}", draw.choice(("east", "west")), draw.choice(("r0", "r1", "x")), 2000 * GB, 2)


def plans(seed: int) -> Iterator[tuple[ClusterModel, Task, Plan]]:
    draw = random.Random(seed)  # noqa: S311  # no secret
    model = federation(draw)
    for task in tasks(draw, model):
        try:
            yield model, task, planning.make(model, task, SETTINGS)
        except InvalidInput:  # it can't be done on this cluster
            continue


EVERY = settings(max_examples=12, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


@pytest.mark.slow
@EVERY
@given(st.integers(0, 1000))
def test_what_any_planner_makes_passes_and_nothing_instead_of_it_does_not(seed: int) -> None:
    for model, task, plan in plans(seed):
        assert check(model, plan, SETTINGS, task) == (), task
        is_optional = isinstance(task, Isolate) and not task.machines  # it may stand alone already
        if plan.moves and not is_optional:
            assert check(model, Plan("live", task.kind, ()), SETTINGS, task), task


@pytest.mark.slow
@EVERY
@given(st.integers(0, 1000))
def test_a_move_that_is_missing_shows_in_the_loads_and_in_what_is_left_undone(seed: int) -> None:
    for model, task, plan in plans(seed):
        if not plan.moves:
            continue
        draw = random.Random(seed)  # noqa: S311  # no secret
        at = draw.randrange(len(plan.moves))
        less = replace(plan, moves=(*plan.moves[:at], *plan.moves[at + 1 :]))
        changes_loads = not plan.moves[at].is_new
        assert not changes_loads or Rule.LOADS in {each.rule for each in check(model, less, SETTINGS, task)}
        must = isinstance(task, EmptyDisk | ReplicationFactor | CreateTopic | ExpandTopic)
        if must or (isinstance(task, Remove) and not task.balance):
            found = {each.rule for each in check(model, replace(less, loads=()), SETTINGS, task)}
            assert Rule.TASK in found, (task, plan.moves[at])


@EVERY
@given(st.integers(2, 9), st.integers(0, 1000))
def test_moves_that_wait_for_one_another_are_found_when_they_do_not(count: int, seed: int) -> None:
    """A row of disks of which only the last is empty: each waits for the one after it."""
    draw = random.Random(seed)  # noqa: S311  # no secret
    size = draw.randint(100, 700) * GB
    brokers = range(count + 1)
    model = ClusterModel.of(
        "live",
        [BrokerFacts(broker, capacity=CAPACITY) for broker in brokers],
        [LogDirFacts(broker, "/d", 1000 * GB, 1000 * GB - (size if broker < count else 0)) for broker in brokers],
        [
            PartitionFacts(TopicPartition("t", each), (ReplicaPlacement(each, "/d"),), 1, 1, size)
            for each in range(count)
        ],
    )
    order = range(count - 1, -1, -1)  # the last goes to the empty one, and each other to the one after it
    moves = [
        PartitionMove(
            TopicPartition("t", each), (), (ReplicaPlacement(each + 1, "/d"),), size, goal="rack", stage=stage
        )
        for stage, each in enumerate(order)
    ]
    assert check(model, Plan("live", "balance", tuple(moves)), SETTINGS) == ()
    both_fit = 2 * size <= 0.8 * 1000 * GB and size <= 1000 * GB - size - 50 * GB
    at_once = Plan("live", "balance", tuple(replace(move, stage=0) for move in moves))
    assert (Rule.DISK_ROOM in rules(model, at_once)) != both_fit
    backwards = Plan("live", "balance", tuple(replace(move, stage=count - move.stage) for move in moves))
    assert Rule.TASK in rules(model, backwards)

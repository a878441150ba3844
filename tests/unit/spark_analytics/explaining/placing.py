"""Small clusters, rules and placements for the tests of what explains them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from guardian.model.plan import PartitionMove, ReplicaPlacement
from guardian.model.topology import TopicPartition
from spark_analytics.explaining.asked import Asked
from spark_analytics.model.cluster_model import BrokerFacts, ClusterModel, Ints, LogDirFacts, PartitionFacts
from spark_analytics.model.resources import RESOURCES
from spark_analytics.search.found import Found, Stuck
from spark_analytics.search.goal import Targets
from spark_analytics.search.rules import Rules

GB = 10**9
FOUR = tuple(BrokerFacts(number, f"r{number}") for number in range(1, 5))
ASKED = Asked(Targets.default(), throttle=100_000_000)


def places(*names: str) -> tuple[ReplicaPlacement, ...]:
    """`1:/a` is log dir /a of broker 1."""
    split = [name.partition(":") for name in names]
    return tuple(ReplicaPlacement(int(broker), path or "/a") for broker, _, path in split)


def cluster(
    partitions: Mapping[tuple[str, int], tuple[Sequence[str], int]],
    brokers: Sequence[BrokerFacts] = FOUR,
    total: int = 1000 * GB,
    paths: Sequence[str] = ("/a", "/b"),
    usable: int | None = None,
) -> ClusterModel:
    """`partitions`: (topic, number) -> (replicas, the leader first; GB of each). A GB comes with 1 MB/s of traffic."""
    return ClusterModel.of(
        "live",
        brokers,
        [LogDirFacts(each.id, path, total, total if usable is None else usable) for each in brokers for path in paths],
        [
            PartitionFacts(
                TopicPartition(*name), places(*on), write_rate=size * 1e6, read_rate=size * 1e6, size_bytes=size * GB
            )
            for name, (on, size) in partitions.items()
        ],
        at_ms=7,
        input="two samples",
    )


def free_rules(model: ClusterModel) -> Rules:
    """One class: everything may go everywhere, but to dead brokers and offline log dirs."""
    alive = model.alive[None, :].copy()
    online = ~model.log_dir_offline & model.alive[model.log_dir_broker]
    idcs = len(model.idc_names)
    return Rules(
        class_of=np.zeros(model.partitions, dtype=np.int64),
        may_stay=alive,
        may_take=alive & ~model.excluded,
        may_lead=alive,
        idc_min=np.zeros((1, idcs), dtype=np.int64),
        idc_max=np.full((1, idcs), 1000),
        rack_max=np.full(1, 1000),
        log_dir_may_take=online,
        log_dir_may_stay=online,
        capacity_limit=np.array([0.7, 0.8, 0.8, 0.8]),
        disk_limit=0.8,
        free_to_move=np.ones(model.slots, dtype=np.bool_),
        must_leave=np.zeros(model.slots, dtype=np.bool_),
    )


def found(
    model: ClusterModel,
    targets: Mapping[tuple[str, int], Sequence[str]],
    forced: bool = False,
    stuck: tuple[Stuck, ...] = (),
) -> Found:
    """As if the search had found these replicas, the leader first; followers by their slots. The rest stays."""
    log_dir = {(int(model.broker_ids[model.log_dir_broker[at]]), path): at for at, path in enumerate(model.log_dirs)}
    slots, leaders = model.slot_log_dir.copy(), model.leader_slot.copy()
    for name, names in targets.items():
        index = model.partition_index(TopicPartition(*name))
        wanted = [log_dir[(place.broker, place.log_dir)] for place in places(*names)]
        own = list(range(model.slot_start[index], model.slot_start[index + 1]))
        left = {at: slots[at] for at in own}
        stays = {at: int(home) for at, home in left.items() if home in wanted}
        new = [at for at in wanted if at not in stays.values()]
        for at in own:
            if at not in stays:
                broker = model.log_dir_broker[slots[at]] if slots[at] >= 0 else -1
                same = [to for to in new if model.log_dir_broker[to] == broker]
                stays[at] = (same or new)[0]
                new.remove(stays[at])
            slots[at] = stays[at]
        leaders[index] = next(at for at in own if slots[at] == wanted[0])
    return as_found(model, slots, leaders, forced=(slots != model.slot_log_dir) & forced, stuck=stuck)


def as_found(
    model: ClusterModel, slots: Ints, leaders: Ints, forced: np.ndarray | None = None, stuck: tuple[Stuck, ...] = ()
) -> Found:
    unknown = np.zeros(RESOURCES)
    return Found(
        slot_log_dir=slots,
        leader_slot=leaders,
        forced=np.zeros(model.slots, dtype=np.bool_) if forced is None else forced,
        met=unknown > 0,
        cv=unknown,
        max_over_mean=unknown,
        least_cv=unknown,
        least_max=unknown,
        disk_level=np.zeros(model.brokers),
        stuck=stuck,
    )


def without_reason(move: PartitionMove) -> PartitionMove:
    return replace(move, reason="", goal="", relief=0.0)

"""Small random clusters for the properties of planners, and naive answers to what planners are asked."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from hypothesis import strategies as st

from guardian.model.federation import IdcPolicy, Tenant
from guardian.model.links import Line
from guardian.model.plan import ReplicaPlacement
from guardian.model.planner_settings import PlannerSettings
from guardian.model.topology import TopicPartition
from spark_analytics.model.cluster_model import BrokerFacts, ClusterModel, LogDirFacts, PartitionFacts, TopicFacts
from spark_analytics.model.load import load_now
from spark_analytics.model.resources import Resource

GB = 10**9
SPLIT = IdcPolicy("split", (("east", 1), ("west", 1)), "east")
_ONE_OR_TWO: Sequence[tuple[str, ...]] = (("/a",), ("/a", "/b"))


@dataclass(frozen=True)
class Facts:
    """What a model is made of, in any order."""

    brokers: list[BrokerFacts]
    log_dirs: list[LogDirFacts]
    partitions: list[PartitionFacts]
    topics: list[TopicFacts]

    def model(self) -> ClusterModel:
        return ClusterModel.of(
            "live",
            self.brokers,
            self.log_dirs,
            self.partitions,
            self.topics,
            [Tenant("pay", labels=("gold",)), Tenant("any")],
            [SPLIT],
            [Line(("east", "west"), 80e6, 0.5)],
        )


@st.composite
def facts(
    draw: st.DrawFn,
    paths: Sequence[tuple[str, ...]] = _ONE_OR_TWO,
    least_brokers: int = 3,
    plain: bool = False,
    excluded: bool = True,
) -> Facts:
    """Two data centres with racks of their own, disks of several sizes, topics of one to three replicas.

    Unless it is `plain`, topics may belong to a label or a tenant and live on brokers of theirs, or have a policy;
    single partitions may be pinned or not be seen whole, and a broker be excluded. Nothing breaks a rule to begin
    with: replicas share a rack only where there are more of them than racks.
    """
    count = draw(st.integers(least_brokers, 9))
    racks, dirs = draw(st.integers(2, 4)), draw(st.sampled_from(paths))
    gold = count - 3 if not plain and count > 5 and draw(st.booleans()) else count
    away = draw(st.integers(0, count - 1)) if not plain and excluded and draw(st.booleans()) else -1
    brokers = [
        BrokerFacts(
            each,
            f"r{each % racks}",
            _idc(each % racks),
            label="gold" if each >= gold else "",
            excluded=each == away,
        )
        for each in range(count)
    ]
    topics, partitions = [], []
    for number in range(draw(st.integers(1, 4))):
        topic = draw(_topics(f"t{number}", plain, gold < count))
        topics.append(topic)
        is_gold = gold < count and (topic.label == "gold" or topic.tenant == "pay")
        homes = range(gold, count) if is_gold else range(gold)
        replicas = 2 if topic.policy else draw(st.integers(1, min(3, len(homes))))
        for partition in range(draw(st.integers(1, 6))):
            order = draw(st.permutations(list(homes)))
            on = apart(order, racks, replicas)
            if topic.policy:
                on = [next(each for each in order if _idc(each % racks) == idc) for idc in ("east", "west")]
            at = tuple(ReplicaPlacement(broker, draw(st.sampled_from(dirs))) for broker in on)
            partitions.append(draw(_partitions(TopicPartition(topic.name, partition), at, plain)))
    return Facts(brokers, _disks(draw, brokers, dirs, partitions), partitions, topics)


@st.composite
def clusters(
    draw: st.DrawFn,
    paths: Sequence[tuple[str, ...]] = _ONE_OR_TWO,
    least_brokers: int = 3,
    plain: bool = False,
    excluded: bool = True,
) -> ClusterModel:
    """The same as a model. Unless it is `plain`, brokers may have capacities, of which all are within their limits."""
    model = draw(facts(paths, least_brokers, plain, excluded)).model()
    if plain or not draw(st.booleans()):
        return model
    capacity = model.capacity.copy()
    highest = load_now(model).broker.max(axis=0)
    for resource in (Resource.CPU, Resource.NW_IN, Resource.NW_OUT):
        capacity[:, resource] = np.maximum(highest[resource], 1.0) * draw(st.sampled_from([2.0, 3.0, 6.0]))
    return replace(model, capacity=capacity)


def _idc(rack: int) -> str:
    return "east" if rack % 2 == 0 else "west"


@st.composite
def _topics(draw: st.DrawFn, name: str, plain: bool, has_gold: bool) -> TopicFacts:
    kinds = [TopicFacts(name)]
    if not plain:
        kinds += [TopicFacts(name, tenant="any"), TopicFacts(name, policy="split")]
    if has_gold:
        kinds += [TopicFacts(name, label="gold"), TopicFacts(name, tenant="pay")]
    return draw(st.sampled_from(kinds))


@st.composite
def _partitions(draw: st.DrawFn, name: TopicPartition, at: tuple[ReplicaPlacement, ...], plain: bool) -> PartitionFacts:
    odd = 9 if plain else draw(st.integers(0, 9))
    return PartitionFacts(
        name,
        at,
        write_rate=float(draw(st.integers(1, 9))) * 1e6,
        read_rate=float(draw(st.integers(1, 9))) * 1e6,
        size_bytes=draw(st.integers(1, 40)) * GB,
        cpu=2.0,
        leader_cpu=3.0,
        movable=odd != 0,
        whole=odd != 1,
        peak=1.3 if odd == 2 else 1.0,
        growth=1e5 if odd == 3 else 0.0,
    )


def apart(order: Sequence[int], racks: int, replicas: int) -> list[int]:
    """Brokers in as many racks as there are."""
    first = list({broker % racks: broker for broker in reversed(order)}.values())
    return (first + [broker for broker in order if broker not in first])[:replicas]


def _disks(
    draw: st.DrawFn, brokers: Sequence[BrokerFacts], dirs: Sequence[str], partitions: Sequence[PartitionFacts]
) -> list[LogDirFacts]:
    held: dict[tuple[int, str], int] = defaultdict(int)
    for each in partitions:
        for place in each.replicas:
            held[place.broker, place.log_dir] += each.size_bytes
    found = []
    for broker in brokers:
        for path in dirs:
            total = held[broker.id, path] + draw(st.integers(1, 400)) * GB
            found.append(LogDirFacts(broker.id, path, total, total - held[broker.id, path]))
    return found


def roomy(model: ClusterModel) -> ClusterModel:
    """The same with room for everything everywhere."""
    return replace(
        model,
        capacity=np.full_like(model.capacity, np.inf),
        disk_total_bytes=model.disk_total_bytes + 1e15,
        disk_usable_bytes=model.disk_usable_bytes + 1e15,
    )


def suits(model: ClusterModel, topic: int, broker: int) -> bool:
    """Whether topics of this label and tenant may live there."""
    label, tenant, own = int(model.topic_label[topic]), int(model.topic_tenant[topic]), int(model.broker_label[broker])
    if label >= 0:
        return own == label
    if tenant >= 0 and model.tenant_labels[tenant].any():
        return own >= 0 and bool(model.tenant_labels[tenant, own])
    return own < 0


class FirstFit:
    """Places replicas one by one where there is most room, by the hard rules and no more: what it can, anybody can.

    `margin` times what a replica brings must fit, so that a planner that fails where this does not is wrong.
    """

    def __init__(self, model: ClusterModel, how: PlannerSettings, margin: float = 2.0) -> None:
        self._model, self._how, self._margin = model, how, margin
        load = load_now(model)
        peak = float(model.peak.max(initial=1.0))
        self._room = np.array(how.limits) / peak * model.capacity - load.broker[:, :4]
        disk = np.bincount(model.log_dir_disk, load.log_dir[:, 0], len(model.disk_total_bytes))
        grows = float(np.maximum(model.growth_bytes_per_s, 0).sum()) * how.growth_days * 86_400
        self._disk = (
            np.minimum(
                how.disk_limit * model.disk_total_bytes - disk,
                model.disk_usable_bytes - how.disk_reserve * model.disk_total_bytes,
            )
            - grows
        )

    def spend(self, log_dir: int, load: Sequence[float]) -> None:
        """Somebody else has put this there."""
        self._room[self._model.log_dir_broker[log_dir]] -= np.asarray(load)[:4]
        self._disk[self._model.log_dir_disk[log_dir]] -= load[Resource.DISK]

    def place(
        self, topic: int, load: Sequence[float], beside: Collection[int], racks: Iterable[int] = ()
    ) -> int | None:
        """The broker that takes it, in none of these racks; None where none can."""
        needed = self._margin * np.asarray(load)[:4]
        for broker in np.argsort(-self._free(), kind="stable").tolist():
            disk = self._roomiest(broker)
            fits = (needed <= self._room[broker]).all() and disk is not None and needed[3] <= self._disk[disk]
            open_to = self._model.alive[broker] and not self._model.excluded[broker] and broker not in beside
            if fits and open_to and suits(self._model, topic, broker) and self._model.rack[broker] not in set(racks):
                self._room[broker] -= needed
                self._disk[disk] -= needed[3]
                return int(broker)
        return None

    def _free(self) -> np.ndarray:
        room = [self._roomiest(broker) for broker in range(self._model.brokers)]
        return np.array([-np.inf if disk is None else self._disk[disk] for disk in room])

    def _roomiest(self, broker: int) -> int | None:
        on = np.flatnonzero((self._model.log_dir_broker == broker) & ~self._model.log_dir_offline)
        return int(max(self._model.log_dir_disk[on], key=lambda disk: self._disk[disk])) if len(on) else None

"""The model as plain dictionaries and lists, and what a task changes in it before anything moves."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from statistics import median
from typing import NamedTuple

from guardian.model.federation import IdcPolicy, Machine
from guardian.model.plan import PartitionMove, Plan, ReplicaPlacement
from guardian.model.planner_settings import PlannerSettings
from guardian.model.tasks import (
    Add,
    Balance,
    CreateTopic,
    EmptyDisk,
    Isolate,
    Leaders,
    MigrateIdc,
    Remove,
    Task,
)
from guardian.model.topology import ANY_LOG_DIR, TopicPartition
from spark_analytics.model.cluster_model import ClusterModel

CPU, NW_IN, NW_OUT, DISK, REPLICAS, LEADERS = range(6)
RESOURCES = ("cpu", "nw_in", "nw_out", "disk")
TOLERANCE = 1e-6


class Held(NamedTuple):
    """A replica where it is: what it costs as a follower, and what its disk does for it."""

    place: ReplicaPlacement
    disk: int
    load: Sequence[float]  # CPU, NW_IN, NW_OUT, DISK
    io: float

    @property
    def broker(self) -> int:
        return self.place.broker

    @property
    def log_dir(self) -> str:
        return self.place.log_dir


@dataclass(frozen=True, slots=True)
class BrokerFact:
    """`rack` is a text of its own for each broker without one. `limits` are what may be used of each resource."""

    rack: str
    idc: str
    label: str
    alive: bool
    closed: bool  # excluded, leaving, or not one of those that may take
    leaving: bool
    limits: tuple[float, ...]
    host: str = ""


@dataclass(frozen=True, slots=True)
class TopicFact:
    """`forbidden` are brokers that goals of other packages do not let hold it, `not_leading` not lead it (added.py)."""

    label: str
    tenant_labels: tuple[str, ...]
    policy: IdcPolicy | None
    tenant: str = field(default="", compare=False)
    forbidden: frozenset[int] = frozenset()
    not_leading: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class World:
    """`disk_of` maps a place to its disk, `room` a disk to (total, usable) bytes. `closed` places take nothing.

    Nobody may touch what is `unseen` (it has replicas that the model does not know, or no leader) or `lost` (no replica
    of it lives). `scope` are the topics that the task is about; None: all.
    """

    cluster: str
    settings: PlannerSettings
    brokers: Mapping[int, BrokerFact]
    disk_of: Mapping[ReplicaPlacement, int]
    closed: frozenset[ReplicaPlacement]
    offline: frozenset[ReplicaPlacement]
    emptied: frozenset[ReplicaPlacement]
    room: Mapping[int, tuple[float, float]]
    paths: Mapping[int, tuple[str, ...]]
    topics: Mapping[str, TopicFact]
    partitions: Mapping[TopicPartition, tuple[Held, ...]]
    unseen: frozenset[TopicPartition]
    lost: frozenset[TopicPartition]
    unmoved: frozenset[TopicPartition]  # too little is known of them to move them without need
    leader_load: Mapping[TopicPartition, Sequence[float]]
    carried: Mapping[int, Sequence[float]]  # by broker: CPU, NW_IN, NW_OUT, DISK, replicas, leaders
    stored: Mapping[ReplicaPlacement, Sequence[float]]  # by log dir: bytes, bytes/s
    growth: Mapping[TopicPartition, float]  # bytes/s of one replica
    peak: float  # how much higher than its median the traffic of the most uneven partition is
    slow: frozenset[int]  # disks that are much slower than most
    io_room: Mapping[int, float]  # bytes/s by disk
    compared: frozenset[int] = field(default_factory=frozenset)  # brokers that are held against one another
    not_leading: frozenset[int] = field(default_factory=frozenset)
    scope: frozenset[str] | None = None
    possible: dict[tuple[TopicFact, int, tuple[int, ...]], tuple[int, int]] = field(default_factory=dict)  # found once

    @classmethod
    def of(cls, model: ClusterModel, settings: PlannerSettings, plan: Plan, task: Task | None = None) -> World:
        places = [model.placement(index) for index in range(len(model.log_dirs))]
        offline = {
            place for place, is_offline in zip(places, model.log_dir_offline.tolist(), strict=True) if is_offline
        }
        emptied = set()
        if isinstance(task, EmptyDisk):
            emptied = {ReplicaPlacement(each.broker, each.path) for each in task.log_dirs}
        paths: dict[int, tuple[str, ...]] = dict.fromkeys(model.broker_ids.tolist(), ())
        for place in places:
            paths[place.broker] += (place.log_dir,)
        partitions, leader_load = _partitions(model, places)
        carried, stored = _sums(model.broker_ids.tolist(), places, partitions, leader_load)
        brokers = _brokers(model, settings)
        world = cls(
            cluster=model.cluster,
            settings=settings,
            brokers=brokers,
            disk_of=dict(zip(places, model.log_dir_disk.tolist(), strict=True)),
            closed=frozenset(offline | emptied),
            offline=frozenset(offline),
            emptied=frozenset(emptied),
            room=dict(enumerate(zip(model.disk_total_bytes.tolist(), model.disk_usable_bytes.tolist(), strict=True))),
            paths=paths,
            topics=_topics(model),
            partitions=partitions,
            unseen=frozenset(model.partition(index) for index, whole in enumerate(model.whole.tolist()) if not whole),
            unmoved=frozenset(model.partition(index) for index, may in enumerate(model.movable.tolist()) if not may),
            lost=frozenset(
                partition
                for partition, now in partitions.items()
                if now and not any(brokers[held.broker].alive and held.place not in offline for held in now)
            ),
            leader_load=leader_load,
            carried=carried,
            stored=stored,
            growth=dict(zip(partitions, model.growth_bytes_per_s.tolist(), strict=True)),
            peak=float(model.peak.max(initial=1.0)),
            slow=_slow(model, settings),
            compared=frozenset(broker for broker, fact in brokers.items() if not fact.closed),
            io_room=dict(enumerate((settings.disk_io_limit * model.disk_io_capacity).tolist())),
        )
        return world if task is None else _with_task(world, model, plan, task)

    def topic(self, partition: TopicPartition) -> TopicFact:
        return self.topics.get(partition.topic, _ANYWHERE)

    def suits(self, topic: TopicFact, broker: int) -> bool:
        """A label of its own is for its own; a tenant's are for what has none; the rest goes where nobody's is."""
        if broker in topic.forbidden:
            return False
        label = self.brokers[broker].label
        if topic.policy is not None and not self.brokers[broker].idc:
            return False
        if topic.label:
            return label == topic.label
        if topic.tenant_labels:
            return label in topic.tenant_labels
        return not label or label in self.settings.shared_labels

    def is_open(self, broker: int) -> bool:
        """One of its log dirs takes replicas."""
        paths = self.paths.get(broker)
        return paths is None or any(ReplicaPlacement(broker, path) not in self.closed for path in paths)

    def lives(self, place: ReplicaPlacement) -> bool:
        return self.brokers[place.broker].alive and self.where(place) not in self.offline

    def where(self, place: ReplicaPlacement) -> ReplicaPlacement | None:
        """The log dir that is meant; None where the broker chooses among several."""
        if place.log_dir != ANY_LOG_DIR or place in self.disk_of:
            return place
        paths = self.paths.get(place.broker, ())
        return ReplicaPlacement(place.broker, paths[0]) if len(paths) == 1 else None


_ANYWHERE = TopicFact("", (), None)


def finally_at(world: World, plan: Plan) -> dict[TopicPartition, tuple[ReplicaPlacement, ...]]:
    """Return where replicas are when the plan is over, the leader first."""
    places = {partition: tuple(held.place for held in now) for partition, now in world.partitions.items()}
    return places | {move.partition: move.target for move in plan.moves}


def _brokers(model: ClusterModel, settings: PlannerSettings) -> dict[int, BrokerFact]:
    shares = shares_of(settings)
    found = {}
    for index, broker in enumerate(model.broker_ids.tolist()):
        capacity = model.capacity[index].tolist()
        found[broker] = BrokerFact(
            rack=model.rack_names[model.rack[index]],
            idc=_name(model.idc_names, int(model.idc[index])),
            label=_name(model.label_names, int(model.broker_label[index])),
            alive=bool(model.alive[index]),
            closed=bool(model.excluded[index] or not model.alive[index]),
            leaving=False,
            limits=tuple(share * of for share, of in zip(shares, capacity, strict=True)),
            host=model.hosts[index],
        )
    return found


def shares_of(settings: PlannerSettings) -> tuple[float, ...]:
    return settings.cpu_limit, settings.network_limit, settings.network_limit, settings.disk_limit


def _name(names: Sequence[str], code: int) -> str:
    return names[code] if code >= 0 else ""


def _topics(model: ClusterModel) -> dict[str, TopicFact]:
    found = {}
    for index, topic in enumerate(model.topics):
        tenant, policy = int(model.topic_tenant[index]), int(model.topic_policy[index])
        allowed = model.tenant_labels[tenant].tolist() if tenant >= 0 else []
        found[topic] = TopicFact(
            label=_name(model.label_names, int(model.topic_label[index])),
            tenant_labels=tuple(label for label, may in zip(model.label_names, allowed, strict=False) if may),
            policy=model.policies[policy] if policy >= 0 else None,
            tenant=_name(model.tenant_names, tenant),
        )
    return found


def _partitions(
    model: ClusterModel, places: Sequence[ReplicaPlacement]
) -> tuple[dict[TopicPartition, tuple[Held, ...]], dict[TopicPartition, Sequence[float]]]:
    starts, log_dirs, disks = model.slot_start.tolist(), model.slot_log_dir.tolist(), model.log_dir_disk.tolist()
    loads, ios = model.slot_load[:, : len(RESOURCES)].tolist(), model.slot_io.tolist()
    topics, numbers = model.partition_topic.tolist(), model.partition_number.tolist()
    names = [TopicPartition(model.topics[topic], number) for topic, number in zip(topics, numbers, strict=True)]
    replicas = [
        None if at < 0 else Held(places[at], disks[at], load, io)
        for at, load, io in zip(log_dirs, loads, ios, strict=True)
    ]
    held = {
        name: tuple(replica for replica in replicas[first:last] if replica is not None)
        for name, first, last in zip(names, starts, starts[1:], strict=False)
    }
    leading = model.leader_load[:, : len(RESOURCES)].tolist()
    return held, dict(zip(names, leading, strict=True))


def _sums(
    brokers: Sequence[int],
    places: Sequence[ReplicaPlacement],
    partitions: Mapping[TopicPartition, tuple[Held, ...]],
    leader_load: Mapping[TopicPartition, Sequence[float]],
) -> tuple[dict[int, list[float]], dict[ReplicaPlacement, list[float]]]:
    """Add up what each broker carries and each log dir stores, replica by replica."""
    carried = {broker: [0.0] * (len(RESOURCES) + 2) for broker in brokers}
    stored = {place: [0.0, 0.0] for place in places}
    on = {id(place): (carried[place.broker], stored[place]) for place in places}  # quicker than to hash a place
    for partition, replicas in partitions.items():
        for place, _, (cpu, nw_in, nw_out, size), io in replicas:
            of_broker, of_log_dir = on[id(place)]
            of_broker[CPU] += cpu
            of_broker[NW_IN] += nw_in
            of_broker[NW_OUT] += nw_out
            of_broker[DISK] += size
            of_broker[REPLICAS] += 1
            of_log_dir[0] += size
            of_log_dir[1] += io
        if replicas:
            of_broker, _ = on[id(replicas[0].place)]
            for resource, load in enumerate(leader_load[partition]):
                of_broker[resource] += load
            of_broker[LEADERS] += 1
    return carried, stored


def _with_task(world: World, model: ClusterModel, plan: Plan, task: Task) -> World:
    """Change the world as the task says before anything moves: who leaves, who may take, whose label or policy changes.

    A broker to be removed that keeps some of what it has stays: it may even take what others leave.
    """
    brokers, topics = dict(world.brokers), dict(world.topics)
    not_leading = frozenset[int]()
    scope: Collection[str] | None = None
    match task:
        case Balance():
            scope = _meant(model, task.topics)
        case Remove():
            for broker in set(task.brokers) - _staying(world, plan):
                brokers[broker] = replace(brokers[broker], closed=True, leaving=True)
        case Add():
            for broker in brokers.keys() - set(task.brokers):
                brokers[broker] = replace(brokers[broker], closed=True)
        case Leaders():
            not_leading, scope = frozenset(task.away_from), _meant(model, task.topics)
        case Isolate():
            return _isolated(world, model, plan, task)
        case MigrateIdc():
            scope = _meant(model, task.topics, task.tenant)
            for topic in scope:
                topics[topic] = replace(topics[topic], policy=task.policy)
        case CreateTopic():
            topics[task.topic.name] = _created(model, task)
            scope = [task.topic.name]
        case _:
            pass
    known = None if scope is None else frozenset(scope)
    compared = frozenset(broker for broker in world.compared if not brokers[broker].leaving)
    return replace(world, brokers=brokers, topics=topics, compared=compared, not_leading=not_leading, scope=known)


def _staying(world: World, plan: Plan) -> set[int]:
    """Living brokers that keep something, or of which the plan says that they can't go."""
    moved = {move.partition: {place.broker for place in move.target} for move in plan.moves}
    kept = {
        held.broker
        for partition, now in world.partitions.items()
        for held in now
        if partition not in moved or held.broker in moved[partition]
    }
    return {broker for broker in kept | plan.excused.brokers & world.brokers.keys() if world.brokers[broker].alive}


def _created(model: ClusterModel, task: CreateTopic) -> TopicFact:
    policy = next((each for each in model.policies if each.name == task.topic.idc_policy), None)
    tenants = dict(zip(model.tenant_names, model.tenant_labels.tolist(), strict=True))
    allowed = tenants.get(task.topic.tenant, [])
    labels = tuple(label for label, may in zip(model.label_names, allowed, strict=False) if may)
    return TopicFact(task.topic.label, labels, policy, task.topic.tenant)


def _isolated(world: World, model: ClusterModel, plan: Plan, task: Isolate) -> World:
    """Its topics have the label, and so have those of the offered brokers and machines that it takes."""
    brokers, topics = dict(world.brokers), dict(world.topics)
    if task.topics or task.tenant:
        for topic in _meant(model, task.topics, task.tenant):
            topics[topic] = replace(topics[topic], label=task.label)
    of_label = {topic for topic, fact in topics.items() if fact.label == task.label}
    taken = {
        place.broker
        for partition, places in finally_at(world, plan).items()
        if partition.topic in of_label and partition not in world.unseen | world.lost
        for place in places
    }
    for broker in taken.intersection(task.brokers):
        brokers[broker] = replace(brokers[broker], label=task.label)
    disk_of, room, carried = dict(world.disk_of), dict(world.room), dict(world.carried)
    for broker, machine in _joining(model, plan, task).items():
        brokers[broker] = _joined(world.settings, broker, machine, task.label)
        disk_of[ReplicaPlacement(broker)] = len(room)
        room[len(room)] = (float(machine.disk_bytes), float(machine.disk_bytes))
        carried[broker] = (0.0,) * (len(RESOURCES) + 2)
    return replace(
        world, brokers=brokers, topics=topics, disk_of=disk_of, room=room, carried=carried, scope=frozenset(of_label)
    )


def _slow(model: ClusterModel, settings: PlannerSettings) -> frozenset[int]:
    known = [wait for wait in model.disk_await_ms.tolist() if wait == wait]  # noqa: PLR0124  # nan: not known
    if not known:
        return frozenset()
    most = settings.slow_disk * median(known)
    return frozenset(disk for disk, wait in enumerate(model.disk_await_ms.tolist()) if wait > most)


def _joining(model: ClusterModel, plan: Plan, task: Isolate) -> dict[int, Machine]:
    """{broker that is to come: the machine of the task that becomes it}. What the plan says else names no broker."""
    offered = {machine.host: machine for machine in task.machines}
    known = set(model.broker_ids.tolist())
    return {broker: offered[host] for broker, host in plan.joins if host in offered and broker not in known}


def _joined(settings: PlannerSettings, broker: int, machine: Machine, label: str) -> BrokerFact:
    """A rack of its own for a machine of which none is known; what it has is known where it is not 0."""
    capacity = (machine.cores * 100.0, machine.nic_bytes_per_s, machine.nic_bytes_per_s, machine.disk_bytes)
    return BrokerFact(
        rack=machine.rack or f"(broker {broker})",
        idc=machine.idc,
        label=label,
        alive=True,
        closed=False,
        leaving=False,
        limits=tuple(share * (of or float("inf")) for share, of in zip(shares_of(settings), capacity, strict=True)),
        host=machine.host,
    )


def _meant(model: ClusterModel, names: Sequence[str], tenant: str = "") -> list[str]:
    return [topic for topic in model.topics if _is_meant(model, topic, names, tenant)]


def _is_meant(model: ClusterModel, topic: str, names: Sequence[str], tenant: str) -> bool:
    if tenant:
        code = int(model.topic_tenant[model.topics.index(topic)])
        return _name(model.tenant_names, code) == tenant
    return not names or any(topic.startswith(name[:-1]) if name.endswith("*") else topic == name for name in names)


def after(world: World, move: PartitionMove) -> tuple[tuple[ReplicaPlacement, tuple[Held, ...]], ...]:
    """The target's places, each with the replicas that it may be: itself, or any of those that leave.

    A plan does not say which replica goes where; that matters only where replicas of a partition differ in their loads.
    The first that a place may be is another one at each place, in the order of the partition, as long as some are left.
    """
    now = world.partitions.get(move.partition, ())
    by_broker = {held.broker: held for held in now}
    stays = {place.broker for place in move.target} & by_broker.keys()
    leaves = tuple(held for held in now if held.broker not in stays) or now[-1:]
    turns = count()
    return tuple(
        (place, (by_broker[place.broker],) if place.broker in stays else _from(leaves, next(turns)))
        for place in move.target
    )


def _from(leaves: tuple[Held, ...], turn: int) -> tuple[Held, ...]:
    """All of them, another one first each time."""
    first = turn % max(len(leaves), 1)
    return leaves[first:] + leaves[:first]

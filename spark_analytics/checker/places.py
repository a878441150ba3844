"""Where a replica could go besides what a plan does: the answer to "there was no other place".

A place counts only where there is room for it though nothing that the plan moves away were gone yet and all that it
brings were there. So whatever is found here could have been done, by any plan and in any order. Where a budget is set,
nothing is found: the plan may have spent it on other things.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from math import inf

from guardian.model.plan import Plan, ReplicaPlacement
from guardian.model.topology import TopicPartition
from spark_analytics.checker.moves import astray
from spark_analytics.checker.stages import carried, copies
from spark_analytics.checker.world import DISK, REPLICAS, RESOURCES, Held, TopicFact, World

Places = Mapping[TopicPartition, Sequence[ReplicaPlacement]]


class Room:
    """What brokers and disks still take, at peak and with the growth that disks keep room for."""

    def __init__(self, world: World, plan: Plan, at: Places) -> None:
        self._world, self._plan, self._at = world, plan, at
        self._is_counted = False
        self._peak = world.peak if world.settings.peak_limits else 1.0
        self._is_bounded = min(world.settings.max_bytes, world.settings.max_seconds) < inf
        self._days_s = world.settings.growth_days * 86_400

    def _count(self) -> None:
        """Once somebody asks: most plans leave nothing undone."""
        if self._is_counted:
            return
        self._is_counted = True
        world, plan, at = self._world, self._plan, self._at
        copied, _ = copies(world, plan.moves)
        gained, _ = carried(world, plan.moves)
        self._used = {
            broker: [now + more for now, more in zip(world.carried[broker], gained[broker], strict=False)]
            for broker in world.brokers
        }
        self._held, self._io, self._grows = (defaultdict[int, float](float) for _ in range(3))
        self._held.update(copied)
        for place, (size, io) in world.stored.items():
            self._held[world.disk_of[place]] += size
            self._io[world.disk_of[place]] += io
        for partition, now in world.partitions.items():
            for disk in {held.disk for held in now} | {world.disk_of.get(place, -1) for place in at[partition]}:
                self._grows[disk] += self._growth(partition)
        self._left = {disk: usable - copied[disk] for disk, (_, usable) in world.room.items()}
        self._replicas = Counter({broker: int(loads[REPLICAS]) for broker, loads in world.carried.items()})
        for move in plan.moves:
            before = {held.broker for held in world.partitions.get(move.partition, ())}
            self._replicas.update(place.broker for place in move.target if place.broker not in before)
        self._dirs: dict[int, list[ReplicaPlacement]] = {broker: [] for broker in world.brokers}
        for place in world.disk_of:
            if place not in world.closed and world.brokers[place.broker].alive:
                self._dirs[place.broker].append(place)

    def place_for(
        self,
        partition: TopicPartition,
        leaves: ReplicaPlacement | None,
        disk_limit: float = 1.0,
        full: Collection[int] = (),
        elsewhere: Collection[int] = (),
        inside: bool = False,
    ) -> ReplicaPlacement | None:
        """A place for the replica that leaves that one, or for one more (None): in another rack than all others.

        `disk_limit` is stricter than the settings', disks that are `full` take nothing, nor do brokers of `elsewhere`.
        `inside`: another log dir of the same broker will do, and is looked for first.
        """
        if leaves is not None and inside:
            topic, load = self._world.topic(partition), self._load(partition, leaves)
            if not self._is_bounded and not self._is_wrong(topic, leaves.broker):
                self._count()
                here = self._log_dir(partition, leaves.broker, load, disk_limit, full, leaves)
                if here is not None:
                    return here
        others = (broker for broker in self._world.brokers if broker not in elsewhere)
        return next(
            (at for broker in others if (at := self.place_on(broker, partition, leaves, disk_limit, full))), None
        )

    def place_on(
        self,
        broker: int,
        partition: TopicPartition,
        leaves: ReplicaPlacement | None,
        disk_limit: float = 1.0,
        full: Collection[int] = (),
    ) -> ReplicaPlacement | None:
        """The same on one other broker."""
        world, topic, fact = self._world, self._world.topic(partition), self._world.brokers[broker]
        now = world.partitions.get(partition, ())
        if not now or self._is_bounded or world.settings.leaders_of(partition.topic):
            return None
        self._count()
        stays = [place.broker for place in self._at[partition] if leaves is None or place.broker != leaves.broker]
        taken = {held.broker for held in now} | set(stays)
        if fact.closed or broker in taken or fact.rack in {world.brokers[each].rack for each in stays}:
            return None
        load = self._load(partition, leaves)
        if (
            world.suits(topic, broker)
            and self._suits_idc(topic, stays, leaves, broker)
            and self.bears(broker, load.load)
        ):
            return self._log_dir(partition, broker, load, disk_limit, full)
        return None

    def empties(self, broker: int, others: Collection[int] = ()) -> bool:
        """Return whether all that lies on the broker at the end finds places, one after the other; it takes them."""
        on_it = [(partition, place) for partition, at in self._at.items() for place in at if place.broker == broker]
        on_it.sort(key=lambda item: -self._load(*item).load[DISK])
        for partition, place in on_it:
            found = self.place_for(partition, place, elsewhere={broker, *others})
            if found is None:
                return False
            self._take(partition, found, self._load(partition, place))
        return True

    def _growth(self, partition: TopicPartition) -> float:
        return max(0.0, self._world.growth[partition]) * self._days_s

    def _load(self, partition: TopicPartition, leaves: ReplicaPlacement | None) -> Held:
        """Return the load of a replica as if it led, to be on the safe side."""
        now = self._world.partitions[partition]
        held = next((each for each in now if leaves is not None and each.broker == leaves.broker), None)
        held = held or max(now, key=lambda each: each.load[DISK])
        leads = self._world.leader_load[partition]
        return held._replace(load=[one + more for one, more in zip(held.load, leads, strict=True)])

    def _is_wrong(self, topic: TopicFact, broker: int) -> bool:
        fact = self._world.brokers[broker]
        return not fact.alive or fact.leaving or not self._world.suits(topic, broker)

    def _suits_idc(self, topic: TopicFact, stays: Sequence[int], leaves: ReplicaPlacement | None, broker: int) -> bool:
        """No replica more astray, and no data centre above its number."""
        policy = topic.policy
        if policy is None:
            return True
        idc = self._world.brokers[broker].idc
        there = sum(self._world.brokers[each].idc == idc for each in stays)
        if there + 1 > dict(policy.of_factor(len(stays) + 1).replicas).get(idc, 0):
            return False
        before = [*stays, leaves.broker] if leaves else list(stays)
        return astray(self._world, policy, [*stays, broker]) <= astray(self._world, policy, before)

    def bears(self, broker: int, load: Sequence[float]) -> bool:
        """One more replica, or leader, of that load."""
        self._count()
        limits, used = self._world.brokers[broker].limits, self._used[broker]
        return self._replicas[broker] < self._world.settings.max_replicas and all(
            (now + more) * (1.0 if resource == DISK else self._peak) <= limit
            for resource, (now, more, limit) in enumerate(zip(used, load, limits, strict=True))
        )

    def carries(self, partition: TopicPartition, broker: int, leads: bool) -> list[float]:
        """Return what the replica costs the broker of each resource, and of replicas and leaders."""
        held = next(each for each in self._world.partitions[partition] if each.broker == broker)
        if not leads:
            return [*held.load, 1.0, 0.0]
        more = self._world.leader_load[partition]
        return [*(one + two for one, two in zip(held.load, more, strict=True)), 1.0, 1.0]

    def leads(self, partition: TopicPartition) -> list[float]:
        """Return what it costs a broker to lead the partition."""
        return [*self._world.leader_load[partition], 0.0, 1.0]

    def _log_dir(
        self,
        partition: TopicPartition,
        broker: int,
        load: Held,
        disk_limit: float,
        full: Collection[int],
        but: ReplicaPlacement | None = None,
    ) -> ReplicaPlacement | None:
        world = self._world
        own = world.disk_of.get(but) if but is not None else None
        if but is not None and own is None:
            return None
        size = load.load[DISK] + self._growth(partition)
        for place in self._dirs[broker]:
            disk = world.disk_of[place]
            total, _ = world.room[disk]
            limit = min(disk_limit, world.settings.disk_limit) * total - self._held[disk] - self._grows[disk]
            spare = self._left[disk] - self._grows[disk] - world.settings.disk_reserve * total
            is_open = disk != own and disk not in full and disk not in world.slow
            if is_open and size <= min(limit, spare) and self._io[disk] + load.io <= world.io_room.get(disk, inf):
                return place
        return None

    def _take(self, partition: TopicPartition, place: ReplicaPlacement, load: Held) -> None:
        disk = self._world.disk_of[place]
        self._held[disk] += load.load[DISK]
        self._left[disk] -= load.load[DISK]
        self._io[disk] += load.io
        self._grows[disk] += self._growth(partition)
        self._replicas[place.broker] += 1
        for resource in range(len(RESOURCES)):
            self._used[place.broker][resource] += load.load[resource]

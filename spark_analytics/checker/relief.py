"""Whether disks that were to be relieved are."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from guardian.model.plan import Plan, ReplicaPlacement
from guardian.model.tasks import Relieve
from guardian.model.topology import ANY_LOG_DIR
from spark_analytics.checker.places import Places, Room
from spark_analytics.checker.stages import held_by_disk
from spark_analytics.checker.world import DISK, TOLERANCE, Held, World


def check_relieved(world: World, plan: Plan, task: Relieve, at: Places) -> Iterator[str]:
    """A disk may stay above the limit where the plan says so, and where no other takes any replica of it."""
    held, gone = held_by_disk(world), _gone(world, at)
    left = {disk: max(held[disk], total - usable) - gone[disk] for disk, (total, usable) in world.room.items()}
    meant = _meant(world, task)
    full = {
        disk
        for disk in meant
        if max(held[disk], world.room[disk][0] - world.room[disk][1]) > task.limit * world.room[disk][0]
    }
    room = Room(world, plan, at)
    for disk, place in sorted(meant.items()):
        total, _ = world.room[disk]
        if left[disk] <= task.limit * total * (1 + TOLERANCE):
            continue
        told = f"{place.broker}:{place.log_dir} keeps {left[disk]:.0f} B of {total:.0f} B"
        if not plan.unmet:
            yield told
        elif not plan.moves and (other := _other(world, room, task, at, disk, full)):
            yield f"{told}, though {other}"


def _meant(world: World, task: Relieve) -> Mapping[int, ReplicaPlacement]:
    """{disk: one of its log dirs}"""
    asked = set(task.brokers) | {each.broker for each in task.log_dirs}
    named = {(each.broker, each.path) for each in task.log_dirs}
    return {
        disk: place
        for place, disk in world.disk_of.items()
        if (not asked or place.broker in task.brokers or (place.broker, place.log_dir) in named) and world.lives(place)
    }


def _gone(world: World, at: Places) -> Mapping[int, float]:
    gone: dict[int, float] = defaultdict(float)
    for partition, now in world.partitions.items():
        for replica in now:
            if not _stays(replica, at[partition]):
                gone[replica.disk] += replica.load[DISK]
    return gone


def _stays(replica: Held, places: Sequence[ReplicaPlacement]) -> bool:
    return replica.place in places or ReplicaPlacement(replica.broker, ANY_LOG_DIR) in places


def _other(world: World, room: Room, task: Relieve, at: Places, disk: int, full: set[int]) -> str:
    """A replica that could leave it, and where to."""
    for partition, now in world.partitions.items():
        if partition in world.unseen | world.lost | world.unmoved or world.settings.excludes(partition.topic):
            continue
        for replica in now:
            if replica.disk == disk and replica.load[DISK] > 0 and _stays(replica, at[partition]):
                found = room.place_for(partition, replica.place, task.limit, full, inside=True)
                if found is not None:
                    return f"{found.broker}:{found.log_dir} has room for {partition}"
    return ""

"""Why a partition moves, in one sentence that an operator can check against a dashboard.

broker 1 disk 62% above the mean, -42.0 GB                  what it is relieved of
broker 9 disk 90% below the mean, +42.0 GB                  where that is the larger part of it
log dir /d2 of broker 3 disk_io 40% above the mean of its broker, -3.1 MB/s
broker 4 is dead                                            it had to move
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from guardian.model.plan import LoadResource
from guardian.model.topology import ANY_LOG_DIR
from guardian.model.units import beside_mean, human_bytes
from spark_analytics.explaining.changes import Changes
from spark_analytics.explaining.credit import GOALS, LOG_DIR_BYTES, LOG_DIR_IO, Credit
from spark_analytics.explaining.measure import Places
from spark_analytics.model.cluster_model import ClusterModel, Floats
from spark_analytics.model.resources import RESOURCES, Resource

GOAL_NAMES = (
    "cpu-spread",
    "nw-in-spread",
    "nw-out-spread",
    "disk-spread",
    "replica-spread",
    "leader-spread",
    "log-dir-spread",
    "log-dir-io-spread",
)
ROOM = "make-room"

_RESOURCES = (*(LoadResource(resource.name.lower()) for resource in Resource), LoadResource.DISK, LoadResource.DISK_IO)


def amount(resource: str, load: float) -> str:
    """Such as 42.0 GB, 3.1 MB/s, 12.5 % of a core, 3."""
    if resource == LoadResource.DISK:
        return human_bytes(load)
    if resource == LoadResource.CPU:
        return f"{load:.1f} % of a core" if load >= 0.1 else f"{load:.2g} % of a core"
    if resource in (LoadResource.REPLICAS, LoadResource.LEADERS):
        return f"{load:.0f}"
    return f"{human_bytes(load)}/s"


def log_dir_name(model: ClusterModel, log_dir: int) -> str:
    broker, path = f"broker {model.broker_ids[model.log_dir_broker[log_dir]]}", model.log_dirs[log_dir]
    return broker if path == ANY_LOG_DIR else f"log dir {path} of {broker}"


def reliefs(changes: Changes, credit: Credit, model: ClusterModel, brokers: Places, log_dirs: Places) -> Iterator[str]:
    """A sentence for each item that moves for the sake of evenness."""
    row, goal, takes = credit.row, credit.goal, credit.takes
    on_broker = goal < RESOURCES
    broker = np.where(takes, changes.from_broker[row], changes.to_broker[row])
    log_dir = np.where(takes, changes.from_dir[row], changes.to_dir[row])
    load = _loads(changes)
    stays = changes.from_broker == changes.to_broker
    was, will = load[0][row, goal], load[1][row, goal]
    net = np.where(stays[row] & on_broker, was - will, np.where(takes, was, will))
    column = np.where(on_broker, goal, goal - RESOURCES)
    deviation = np.where(
        on_broker,
        brokers.deviation_before[broker, np.minimum(column, RESOURCES - 1)],
        log_dirs.deviation_before[log_dir, np.minimum(column, 1)],
    )
    signed = np.where(takes, -net, net)
    rooms = _rooms(changes, model)
    ids = model.broker_ids.tolist()
    for at, kind, where, path, above, change, gain in zip(
        range(changes.items),
        goal.tolist(),
        broker.tolist(),
        log_dir.tolist(),
        deviation.tolist(),
        signed.tolist(),
        credit.gain.tolist(),
        strict=True,
    ):
        if gain <= 0:
            yield rooms[at]
            continue
        resource = _RESOURCES[kind]
        sign = "-" if change < 0 else "+"
        if kind < RESOURCES:
            place, of = f"broker {ids[where]}", ""
        else:
            place, of = log_dir_name(model, path), " of its broker"
        yield f"{place} {resource} {beside_mean(above)}{of}, {sign}{amount(resource, abs(change))}"


def _loads(changes: Changes) -> tuple[Floats, Floats]:
    """[rows, GOALS] what leaves and what comes."""
    leaves, comes = (np.zeros((len(changes.item), GOALS)) for _ in range(2))
    for into, loads in ((leaves, changes.was), (comes, changes.will)):
        into[:, :RESOURCES] = loads
        into[:, LOG_DIR_BYTES] = loads[:, Resource.DISK]
        into[:, LOG_DIR_IO] = changes.io
    return leaves, comes


def _rooms(changes: Changes, model: ClusterModel) -> list[str]:
    """[items] what to say of a move by which no goal gains: it gives way to others, at the first place it leaves."""
    rows = np.flatnonzero((changes.from_dir >= 0) & (changes.from_dir != changes.to_dir))[::-1]
    first = np.full(changes.items, -1)
    first[changes.item[rows]] = rows
    return [
        f"makes room on {log_dir_name(model, int(changes.from_dir[row]))}, which other moves of this plan fill"
        if row >= 0
        else "makes up for other moves of this plan: no goal gains by it alone"
        for row in first.tolist()
    ]

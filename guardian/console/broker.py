"""A broker and a disk of it: what they do, for whom, what is held back there, and what is being copied there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from fastapi import Request
from fastapi.responses import Response

from guardian.console.cluster import Name
from guardian.console.copying import Copies
from guardian.console.health import latest
from guardian.console.heat import lines, traffic
from guardian.console.lines import STATES, VERDICTS
from guardian.console.sections import get
from guardian.console.urls import url
from guardian.console.views import Crumb, ReadingPages
from guardian.errors import NotFound
from guardian.security.rules.routing import VIEW_CLUSTER
from guardian.web.observed import ClusterSeen
from protos.guardian.v1 import insight_pb2
from protos.guardian.v1 import protection_pb2 as pb

BEHAVIOURS: Mapping[int, str] = {
    pb.USER_WRITE: "user write",
    pb.USER_READ: "user read",
    pb.REPLICATION_WRITE: "replication write",
    pb.REPLICATION_READ: "replication read",
    pb.MOVE_WRITE: "move write",
    pb.MOVE_READ: "move read",
}
LIMITS = {
    pb.DISK_OVER: ("bad", "over its limits"),
    pb.DISK_BETWEEN: ("warn", "near its limits"),
    pb.DISK_UNDER: ("ok", "under its limits"),
    pb.DISK_UNSEEN: ("none", "not seen"),
}
LEVERS = {
    pb.CLIENT_QUOTA: "client quota",
    pb.FOLLOWER_RATE: "follower rate",
    pb.LEADER_RATE: "leader rate",
    pb.LOG_DIR_RATE: "log dir rate",
}
_MOST_DOINGS = 50
_MOST_MOVES = 50


@dataclass(frozen=True, slots=True)
class Behaviour:
    """The sum of one of the six behaviours over the partitions that were looked at."""

    name: str
    partitions: int
    bytes_per_s: float
    abnormal: int


class BrokerPages(ReadingPages):
    @get("/clusters/{cluster}/brokers/{broker_id}", VIEW_CLUSTER)
    def broker(self, request: Request, name: Name, broker_id: int) -> Response:
        view = self._views.of_cluster(request, name, "brokers")
        broker = view.cluster.broker(broker_id)
        if broker is None:
            raise NotFound(f"broker is {broker_id}, which cluster {name} does not have: see its list of brokers")
        judged = view.part(self._looks.disk_health, name)
        excluded = view.part(self._looks.exclusions, name) or ()
        cordons = view.part(self._looks.cordons, name) or ()
        return view.shown(
            "broker.html",
            f"Broker {broker_id} of {name}",
            *_above(name),
            (str(broker_id), ""),
            broker=broker,
            state=STATES[broker.state],
            verdicts={each.disk: each for each in judged.disks if each.broker == broker_id} if judged else {},
            verdict_words=VERDICTS,
            exclusion=next((each for each in excluded if each.broker_id == broker_id), None),
            cordon=next((each for each in cordons if each.broker_id == broker_id), None),
            **_numbers(view.part(self._looks.seen, name), broker_id),
            **_behaviour(view.part(self._looks.protection, name), broker_id),
            **_copies(view.part(self._looks.copying, name), broker_id),
        )

    @get("/clusters/{cluster}/brokers/{broker_id}/activity", VIEW_CLUSTER)
    def activity(self, request: Request, name: Name, broker_id: int) -> Response:
        view = self._views.of_cluster(request, name)
        return view.shown(
            "activity.html",
            f"What broker {broker_id} of {name} does, and for whom",
            (f"Broker {broker_id}", url("clusters", name, "brokers", broker_id)),
            ("Activity", ""),
            of_topic=False,
            reply=view.part(self._looks.activity, name, broker=broker_id),
        )

    @get("/clusters/{cluster}/brokers/{broker_id}/disks/{disk:path}", VIEW_CLUSTER)
    def disk(self, request: Request, name: Name, broker_id: int, disk: str) -> Response:
        view = self._views.of_cluster(request, name, "disks")
        seen = view.part(self._looks.seen, name)
        judged = view.part(self._looks.disk_health, name)
        drawn = _drawn(seen, broker_id, disk)
        verdict = _of_disk(judged.disks if judged else (), broker_id, disk)
        if seen is not None and judged is not None and not (verdict or drawn["series"] or drawn["log_dirs"]):
            raise NotFound(f"disk is {disk!r}, which broker {broker_id} of {name} was not seen to have of late")
        held = view.part(self._looks.protection, name)
        return view.shown(
            "disk.html",
            f"Disk {disk} of broker {broker_id}, {name}",
            *_above(name),
            (str(broker_id), url("clusters", name, "brokers", broker_id)),
            (disk, ""),
            broker_id=broker_id,
            disk=disk,
            verdict=verdict,
            verdict_words=VERDICTS,
            limit=_limit_of(held, broker_id, disk),
            limit_words=LIMITS,
            hold=_hold_of(held, broker_id, disk),
            **drawn,
            **_behaviour(held, broker_id, disk),
        )


def _above(cluster: str) -> tuple[Crumb, ...]:
    return (("Brokers", url("clusters", cluster, "brokers")),)


def _numbers(seen: ClusterSeen | None, broker: int) -> dict[str, object]:
    """Return what the lake tells of a broker: now, and over the last hour."""
    found = seen.brokers.get(broker) if seen else None
    if seen is None or found is None:
        now = dict.fromkeys(("bytes_in", "bytes_out", "cpu"))
        return {"seen": None, "now": now, "traffic": None, "load": None, "busy": {}, "moved": {}}
    return {
        "seen": found,
        "now": {"bytes_in": latest(found.bytes_in), "bytes_out": latest(found.bytes_out), "cpu": latest(found.cpu)},
        "traffic": traffic(seen.steps_ms, found.bytes_in, found.bytes_out),
        "load": lines(seen.steps_ms, "share", {"Busiest disk": found.disk_busy, "CPU": found.cpu}, 1.0),
        "busy": {disk.disk: latest(disk.busy) for disk in found.disks},
        "moved": {disk.disk: latest(disk.moved) for disk in found.disks},
    }


def _drawn(seen: ClusterSeen | None, broker: int, disk: str) -> dict[str, object]:
    """Return what the lake tells of a disk: now, and over the last hour."""
    found = seen.brokers.get(broker) if seen else None
    series = next((each for each in found.disks if each.disk == disk), None) if found else None
    log_dirs = [each for each in found.log_dirs if each.disk == disk] if found else []
    if seen is None or series is None:
        return {"series": None, "log_dirs": log_dirs, "now": {"busy": None, "moved": None}, "busy": None, "moved": None}
    return {
        "series": series,
        "log_dirs": log_dirs,
        "now": {"busy": latest(series.busy), "moved": latest(series.moved)},
        "busy": lines(seen.steps_ms, "share", {"Busy": series.busy}, 1.0),
        "moved": lines(seen.steps_ms, "rate", {"Read and written": series.moved}),
    }


def _behaviour(report: pb.ProtectionReport | None, broker: int, disk: str = "") -> dict[str, object]:
    """Return what is done to the disks, and what is held back there."""
    doings = _doings(report, broker, disk)
    return {
        "protection": report,
        "behaviours": behaviours(doings),
        "doings": doings[:_MOST_DOINGS],
        "more_doings": max(0, len(doings) - _MOST_DOINGS),
        "behaviour_words": BEHAVIOURS,
        "levers": _levers(report, broker, disk),
        "lever_words": LEVERS,
    }


def _copies(by_broker: Mapping[int, Copies] | None, broker: int) -> dict[str, object]:
    if by_broker is None:
        return {"moving": (), "more_moving": 0, "rates": (), "copies": None}
    found = by_broker.get(broker, Copies())
    return {
        "moving": found.moving[:_MOST_MOVES],
        "more_moving": max(0, len(found.moving) - _MOST_MOVES),
        "rates": found.rates,
        "copies": len(found.moving),
    }


def _of_disk(judged: Iterable[insight_pb2.DiskHealth], broker: int, disk: str) -> insight_pb2.DiskHealth | None:
    return next((each for each in judged if (each.broker, each.disk) == (broker, disk)), None)


def _limit_of(report: pb.ProtectionReport | None, broker: int, disk: str) -> pb.DiskLimitHealth | None:
    disks = report.disks if report else ()
    return next((each for each in disks if (each.disk.broker, each.disk.disk) == (broker, disk)), None)


def _hold_of(report: pb.ProtectionReport | None, broker: int, disk: str) -> pb.ProtectionHold | None:
    """That of the disk, or of all disks of the broker."""
    holds = report.held.holds if report else ()
    return next((each for each in holds if each.disk.broker == broker and each.disk.disk in {disk, ""}), None)


def behaviours(doings: Iterable[pb.DiskDoing]) -> list[Behaviour]:
    """All six, in their order: what nobody does is told as well."""
    listed = list(doings)
    return [
        Behaviour(
            name,
            sum(1 for each in listed if each.behaviour == value),
            sum(each.bytes_per_s for each in listed if each.behaviour == value),
            sum(1 for each in listed if each.behaviour == value and each.abnormal),
        )
        for value, name in BEHAVIOURS.items()
    ]


def _doings(report: pb.ProtectionReport | None, broker: int, disk: str = "") -> list[pb.DiskDoing]:
    """The abnormal ones first, the largest first of each."""
    doings = (*report.queue, *report.normal) if report else ()
    return [each for each in doings if each.disk.broker == broker and (not disk or each.disk.disk == disk)]


def _levers(report: pb.ProtectionReport | None, broker: int, disk: str = "") -> list[pb.ProtectionLever]:
    levers = report.held.levers if report else ()
    return [each for each in levers if each.disk.broker == broker and (not disk or each.disk.disk == disk)]

"""A broker and a disk of it: what they do, for whom, what is held back there, and what is being copied there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from fastapi import APIRouter, Request
from fastapi.responses import Response

from guardian.console.cluster import STATES, VERDICTS, Name, crumbs_of
from guardian.console.health import latest
from guardian.console.looking import Looks, softly
from guardian.console.rendering import Renderer, url
from guardian.errors import NotFound
from guardian.model.execution import AdaptedRate, ExecutionTask, TaskState
from guardian.model.ticket import Ticket
from guardian.web.observed import BrokerSeen
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


@dataclass(frozen=True, slots=True)
class Copying:
    """A partition that a ticket moves to, from or within the broker."""

    ticket: Ticket
    task: ExecutionTask
    is_into: bool


def router(looks: Looks, render: Renderer) -> APIRouter:
    pages = APIRouter(prefix="/clusters/{cluster}/brokers/{broker_id}")

    @pages.get("")
    def broker_page(request: Request, name: Name, broker_id: int) -> Response:
        cluster, notes = looks.cluster(request, name), list[str]()
        seen = softly(notes, lambda: looks.seen(request, name))
        drawn = seen.brokers.get(broker_id) if seen else None
        broker = cluster.broker(broker_id)
        if broker is None:
            raise NotFound(f"broker is {broker_id}, which cluster {name} does not have: see its list of brokers")
        judged = softly(notes, lambda: looks.disk_health(request, name))
        held = softly(notes, lambda: looks.protection(request, name))
        excluded = softly(notes, lambda: looks.exclusions(request, name)) or ()
        cordons = softly(notes, lambda: looks.cordons(request, name)) or ()
        moving, rates = softly(notes, lambda: _copying(looks, request, name, broker_id)) or ([], [])
        doings = _doings(held, broker_id)
        return render(
            request,
            "broker.html",
            section="federation",
            title=f"Broker {broker_id} of {name}",
            tab="brokers",
            crumbs=crumbs_of(cluster, ("Brokers", url("clusters", name, "brokers")), (str(broker_id), "")),
            cluster=cluster,
            broker=broker,
            notes=notes,
            seen=drawn,
            is_read=seen is not None,
            state=STATES[broker.state],
            now={key: latest(getattr(drawn, key)) if drawn else None for key in ("bytes_in", "bytes_out", "cpu")},
            traffic=_traffic(seen.steps_ms, drawn) if seen and drawn else None,
            load=_load(seen.steps_ms, drawn) if seen and drawn else None,
            verdicts={each.disk: each for each in judged.disks if each.broker == broker_id} if judged else {},
            verdict_words=VERDICTS,
            busy={disk.disk: latest(disk.busy) for disk in drawn.disks} if drawn else {},
            moved={disk.disk: latest(disk.moved) for disk in drawn.disks} if drawn else {},
            protection=held,
            behaviours=behaviours(doings),
            doings=doings[:_MOST_DOINGS],
            more_doings=max(0, len(doings) - _MOST_DOINGS),
            behaviour_words=BEHAVIOURS,
            levers=_levers(held, broker_id),
            lever_words=LEVERS,
            exclusion=next((each for each in excluded if each.broker_id == broker_id), None),
            cordon=next((each for each in cordons if each.broker_id == broker_id), None),
            moving=moving[:_MOST_MOVES],
            more_moving=max(0, len(moving) - _MOST_MOVES),
            rates=rates,
        )

    @pages.get("/activity")
    def who(request: Request, name: Name, broker_id: int) -> Response:
        cluster, notes = looks.cluster(request, name), list[str]()
        return render(
            request,
            "activity.html",
            section="federation",
            title=f"What broker {broker_id} of {name} does, and for whom",
            crumbs=crumbs_of(
                cluster, (f"Broker {broker_id}", url("clusters", name, "brokers", broker_id)), ("Activity", "")
            ),
            notes=notes,
            of_topic=False,
            cluster=cluster,
            reply=softly(notes, lambda: looks.activity(request, name, broker=broker_id)),
        )

    @pages.get("/disks/{disk:path}")
    def disk_page(request: Request, name: Name, broker_id: int, disk: str) -> Response:
        cluster, notes = looks.cluster(request, name), list[str]()
        seen = softly(notes, lambda: looks.seen(request, name))
        judged = softly(notes, lambda: looks.disk_health(request, name))
        held = softly(notes, lambda: looks.protection(request, name))
        drawn = seen.brokers.get(broker_id) if seen else None
        verdict = next(
            (each for each in judged.disks if (each.broker, each.disk) == (broker_id, disk)) if judged else iter(()),
            None,
        )
        series = next((each for each in drawn.disks if each.disk == disk) if drawn else iter(()), None)
        log_dirs = [each for each in drawn.log_dirs if each.disk == disk] if drawn else []
        if seen is not None and judged is not None and not (verdict or series or log_dirs):
            raise NotFound(f"disk is {disk!r}, which broker {broker_id} of {name} was not seen to have of late")
        doings = _doings(held, broker_id, disk)
        return render(
            request,
            "disk.html",
            section="federation",
            title=f"Disk {disk} of broker {broker_id}, {name}",
            tab="disks",
            crumbs=crumbs_of(
                cluster,
                ("Brokers", url("clusters", name, "brokers")),
                (str(broker_id), url("clusters", name, "brokers", broker_id)),
                (disk, ""),
            ),
            cluster=cluster,
            broker_id=broker_id,
            disk=disk,
            notes=notes,
            is_read=seen is not None,
            verdict=verdict,
            verdict_words=VERDICTS,
            log_dirs=log_dirs,
            limit=next(
                (
                    each
                    for each in (held.disks if held else ())
                    if (each.disk.broker, each.disk.disk) == (broker_id, disk)
                ),
                None,
            ),
            limit_words=LIMITS,
            hold=next(
                (
                    each
                    for each in (held.held.holds if held else ())
                    if (each.disk.broker, each.disk.disk) in {(broker_id, disk), (broker_id, "")}
                ),
                None,
            ),
            now={"busy": latest(series.busy) if series else None, "moved": latest(series.moved) if series else None},
            busy=_one(seen.steps_ms, "Busy", series.busy, "share", 1.0) if seen and series else None,
            moved=_one(seen.steps_ms, "Read and written", series.moved, "rate") if seen and series else None,
            protection=held,
            behaviours=behaviours(doings),
            doings=doings[:_MOST_DOINGS],
            more_doings=max(0, len(doings) - _MOST_DOINGS),
            behaviour_words=BEHAVIOURS,
            levers=_levers(held, broker_id, disk),
            lever_words=LEVERS,
        )

    return pages


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
    if report is None:
        return []
    return [
        each
        for each in (*report.queue, *report.normal)
        if each.disk.broker == broker and (not disk or each.disk.disk == disk)
    ]


def _levers(report: pb.ProtectionReport | None, broker: int, disk: str = "") -> list[pb.ProtectionLever]:
    levers = report.held.levers if report else ()
    return [each for each in levers if each.disk.broker == broker and (not disk or each.disk.disk == disk)]


def _copying(
    looks: Looks, request: Request, cluster: str, broker: int
) -> tuple[list[Copying], list[tuple[Ticket, AdaptedRate]]]:
    """What tickets move there now, what runs first; and what copies may take of the broker."""
    moving: list[Copying] = []
    rates: list[tuple[Ticket, AdaptedRate]] = []
    for ticket, _ in looks.tickets(request, cluster):
        if not ticket.state.is_driven:
            continue
        execution = looks.ticket(request, ticket.id)[1]
        if execution is None:
            continue
        rates += [(ticket, rate) for rate in execution.rates if rate.broker == broker]
        for task in execution.tasks:
            sources = {place.broker for place in task.move.original}
            targets = {place.broker for place in task.move.target}
            if not task.state.is_over and broker in sources | targets:
                moving.append(Copying(ticket, task, broker in targets - sources))
    moving.sort(key=lambda each: (each.task.state is TaskState.PENDING, each.task.started_at_ms, each.task.number))
    return moving, rates


def _one(
    steps_ms: tuple[int, ...], name: str, values: Iterable[float | None], show: str, highest: float = 0.0
) -> dict[str, object]:
    return {"times": steps_ms, "show": show, "highest": highest, "series": [{"name": name, "values": list(values)}]}


def _traffic(steps_ms: tuple[int, ...], seen: BrokerSeen) -> dict[str, object]:
    return {
        "times": steps_ms,
        "show": "rate",
        "series": [{"name": "Bytes in", "values": seen.bytes_in}, {"name": "Bytes out", "values": seen.bytes_out}],
    }


def _load(steps_ms: tuple[int, ...], seen: BrokerSeen) -> dict[str, object]:
    return {
        "times": steps_ms,
        "show": "share",
        "highest": 1.0,
        "series": [{"name": "Busiest disk", "values": seen.disk_busy}, {"name": "CPU", "values": seen.cpu}],
    }

"""A cluster: what its brokers and disks do over time, how evenly, what is missing; and the lists of its parts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Path, Request
from fastapi.responses import Response

from guardian.console.health import health_of, latest, offline_dirs, skews, sums, total
from guardian.console.looking import HOUR_MS, Looks, softly
from guardian.console.paging import List, page_of
from guardian.console.rendering import Renderer, url, words
from guardian.errors import InvalidInput
from guardian.model.federation import Topic
from guardian.model.topology import Broker, BrokerState, Cluster
from guardian.web.observed import BrokerSeen, ClusterSeen, LogDirSeen, Series, TopicSize
from protos.guardian.v1 import insight_pb2 as pb

# In the path it is {cluster}: permissions look there.
Name = Annotated[str, Path(alias="cluster")]
HEAT_ROWS = 100
_SPANS = {"15m": HOUR_MS // 4, "1h": HOUR_MS, "6h": 6 * HOUR_MS}
# What can be drawn: words, how values are shown, and the value of the darkest cell where it is not the highest one.
_MEASURES = {
    "disk_busy": ("Busiest disk", "share", 1.0),
    "disks": ("Disks", "share", 1.0),
    "cpu": ("CPU", "share", 1.0),
    "bytes_in": ("Bytes in", "rate", None),
    "bytes_out": ("Bytes out", "rate", None),
}
VERDICTS = {
    pb.DISK_SLOW: ("bad", "slow"),
    pb.DISK_SUSPECT: ("warn", "suspect"),
    pb.DISK_BUSY: ("warn", "busy"),
    pb.DISK_SOUND: ("ok", "sound"),
    pb.DISK_IDLE: ("none", "idle"),
    pb.DISK_UNKNOWN: ("none", "unknown"),
}
RATINGS = {
    pb.OFFLINE: ("bad", "offline"),
    pb.AT_RISK: ("bad", "at risk"),
    pb.WEAK: ("warn", "weak"),
    pb.DEGRADED: ("warn", "degraded"),
    pb.SOUND: ("ok", "sound"),
}
STATES = {
    BrokerState.ACTIVE: ("ok", "active"),
    BrokerState.DRAINING: ("info", "draining"),
    BrokerState.MAINTENANCE: ("info", "maintenance"),
}


@dataclass(frozen=True, slots=True)
class BrokerLine:
    """A broker in its cluster's list; None: not seen."""

    broker: Broker
    seen: BrokerSeen | None
    is_excluded: bool

    @property
    def bytes_in(self) -> float | None:
        return latest(self.seen.bytes_in) if self.seen else None

    @property
    def bytes_out(self) -> float | None:
        return latest(self.seen.bytes_out) if self.seen else None

    @property
    def cpu(self) -> float | None:
        return latest(self.seen.cpu) if self.seen else None

    @property
    def disk_busy(self) -> float | None:
        return latest(self.seen.disk_busy) if self.seen else None

    @property
    def used(self) -> float | None:
        return self.seen.used_share if self.seen else None

    @property
    def offline(self) -> int:
        return offline_dirs(self.seen)


@dataclass(frozen=True, slots=True)
class DiskLine:
    """A disk of a broker; `verdict` None: nobody judged it."""

    broker: int
    disk: str
    log_dirs: tuple[LogDirSeen, ...]
    busy: float | None
    moved: float | None
    verdict: pb.DiskHealth | None

    @property
    def used(self) -> float | None:
        return max((share for each in self.log_dirs if (share := each.used_share) is not None), default=None)


@dataclass(frozen=True, slots=True)
class TopicLine:
    """A topic that was seen, or that the directory names."""

    name: str
    size: TopicSize | None
    entry: Topic | None


def crumbs_of(cluster: Cluster, *more: tuple[str, str]) -> tuple[tuple[str, str], ...]:
    """The last one is the page itself."""
    first = (("Federation", url("")), (cluster.name, url("clusters", cluster.name)))
    return (*first, *more)


def router(looks: Looks, render: Renderer) -> APIRouter:
    pages = APIRouter(prefix="/clusters/{cluster}")

    @pages.get("")
    def cluster_page(request: Request, name: Name) -> Response:
        cluster, notes = looks.cluster(request, name), list[str]()
        findings = softly(notes, lambda: looks.findings(request, name))
        tickets = softly(notes, lambda: looks.tickets(request, name)) or ()
        seen = softly([], lambda: looks.seen(request, name))  # its part of the page says why not
        own = [each for each in findings.findings if each.cluster == name] if findings else []
        return render(
            request,
            "cluster.html",
            section="federation",
            title=name,
            tab="overview",
            crumbs=crumbs_of(cluster),
            cluster=cluster,
            notes=notes,
            findings=own,
            health=health_of(own, is_looked_at=bool(findings and findings.looks)),
            open_tickets=[each for each in tickets if not each[0].state.is_over],
            away=[broker for broker in cluster.brokers if broker.state is not BrokerState.ACTIVE],
            racks=len({broker.rack for broker in cluster.brokers}),
            bytes_in=total(seen, "bytes_in") if seen else None,
            bytes_out=total(seen, "bytes_out") if seen else None,
            offline=sum(map(offline_dirs, seen.brokers.values())) if seen else None,
            heard=sum(1 for each in seen.brokers.values() if not each.error) if seen else None,
        )

    @pages.get("/activity")
    def activity(request: Request, name: Name, of: str = "disk_busy", span: str = "1h") -> Response:
        """The heat map of brokers or disks, and the cluster's traffic."""
        cluster = looks.cluster(request, name)
        if of not in _MEASURES:
            raise InvalidInput(f"of is {of!r}: use one of {', '.join(_MEASURES)}")
        if span not in _SPANS:
            raise InvalidInput(f"span is {span!r}: use one of {', '.join(_SPANS)}")
        notes: list[str] = []
        seen = softly(notes, lambda: looks.seen(request, name, _SPANS[span]))
        title, show, highest = _MEASURES[of]
        heat = heat_of(name, seen, of, show, highest) if seen else None
        return render(
            request,
            "cluster_activity.html",
            section="federation",
            title=f"What {name} does",
            tab="activity",
            crumbs=crumbs_of(cluster, ("Activity", "")),
            cluster=cluster,
            notes=notes,
            of=of,
            span=span,
            measures={key: words for key, (words, _, _) in _MEASURES.items()},
            spans=tuple(_SPANS),
            measure=title,
            heat=heat,
            left_out=max(0, (_count(seen, of) if seen else 0) - HEAT_ROWS),
            traffic=_traffic(seen) if seen else None,
            skews=skews(seen) if seen else [],
        )

    @pages.get("/durability")
    def durability(request: Request, name: Name) -> Response:
        cluster, notes = looks.cluster(request, name), list[str]()
        report = softly(notes, lambda: looks.durability(request, name))
        return render(
            request,
            "cluster_durability.html",
            section="federation",
            title=f"How safe {name} is",
            tab="durability",
            crumbs=crumbs_of(cluster, ("Durability", "")),
            cluster=cluster,
            notes=notes,
            report=report,
            ratings=RATINGS,
            missing=sum(each.under_replicated for each in report.topics) if report else None,
            all_told=report is not None and len(report.topics) == report.topics_in_all,
        )

    @pages.get("/brokers")
    def brokers(request: Request, name: Name, asked: List) -> Response:
        cluster, notes = looks.cluster(request, name), list[str]()
        seen = softly(notes, lambda: looks.seen(request, name))
        excluded = {each.broker_id for each in softly(notes, lambda: looks.exclusions(request, name)) or ()}
        lines = [
            BrokerLine(broker, seen.brokers.get(broker.id) if seen else None, broker.id in excluded)
            for broker in cluster.brokers
        ]
        page = page_of(
            lines,
            asked,
            lambda line: (
                f"{line.broker.id} {line.broker.rack} {line.broker.idc} {line.broker.label} "
                f"{STATES[line.broker.state][1]}{' excluded' if line.is_excluded else ''}"
            ),
            {
                "id": lambda line: line.broker.id,
                "rack": lambda line: line.broker.rack,
                "idc": lambda line: line.broker.idc,
                "label": lambda line: line.broker.label,
                "in": lambda line: line.bytes_in,
                "out": lambda line: line.bytes_out,
                "cpu": lambda line: line.cpu,
                "busy": lambda line: line.disk_busy,
                "used": lambda line: line.used,
            },
            "id",
        )
        return render(
            request,
            "brokers.html",
            section="federation",
            title=f"Brokers of {name}",
            tab="brokers",
            crumbs=crumbs_of(cluster, ("Brokers", "")),
            cluster=cluster,
            notes=notes,
            page=page,
            states=STATES,
            is_read=seen is not None,
        )

    @pages.get("/disks")
    def disks(request: Request, name: Name, asked: List) -> Response:
        cluster, notes = looks.cluster(request, name), list[str]()
        seen = softly(notes, lambda: looks.seen(request, name))
        judged = softly(notes, lambda: looks.disk_health(request, name))
        held = softly(notes, lambda: looks.protection(request, name))
        page = page_of(
            disk_lines(seen, judged.disks if judged else ()),
            asked,
            lambda line: (
                f"{line.broker} {line.disk} {' '.join(each.log_dir for each in line.log_dirs)} "
                f"{words(_VERDICT_WORDS, line.verdict.verdict) if line.verdict else ''}"
            ),
            {
                "broker": lambda line: (line.broker, line.disk),
                "busy": lambda line: line.busy,
                "moved": lambda line: line.moved,
                "used": lambda line: line.used,
                "await": lambda line: line.verdict.await_ms if line.verdict else None,
                "verdict": lambda line: -line.verdict.verdict if line.verdict else None,
            },
            "-busy",
        )
        return render(
            request,
            "disks.html",
            section="federation",
            title=f"Disks of {name}",
            tab="disks",
            crumbs=crumbs_of(cluster, ("Disks", "")),
            cluster=cluster,
            notes=notes,
            page=page,
            verdicts=VERDICTS,
            held=held,
            is_read=seen is not None,
        )

    @pages.get("/topics")
    def topics(request: Request, name: Name, asked: List) -> Response:
        cluster, notes = looks.cluster(request, name), list[str]()
        sizes = softly(notes, lambda: looks.topic_sizes(request, name))
        entries = softly(notes, lambda: looks.directory(request, name)) or ()
        page = page_of(
            topic_lines(sizes or (), entries),
            asked,
            lambda line: (
                f"{line.name} {line.entry.owner} {line.entry.tenant} {line.entry.label}" if line.entry else line.name
            ),
            {
                "name": lambda line: line.name,
                "partitions": lambda line: line.size.partitions if line.size else None,
                "size": lambda line: line.size.size_bytes if line.size else None,
                "missing": lambda line: line.size.under_replicated if line.size else None,
                "tenant": lambda line: line.entry.tenant if line.entry else None,
                "owner": lambda line: line.entry.owner if line.entry else None,
            },
            "name",
        )
        return render(
            request,
            "topics.html",
            section="federation",
            title=f"Topics of {name}",
            tab="topics",
            crumbs=crumbs_of(cluster, ("Topics", "")),
            cluster=cluster,
            notes=notes,
            page=page,
            is_read=sizes is not None,
        )

    return pages


def heat_of(cluster: str, seen: ClusterSeen, of: str, show: str, highest: float | None) -> dict[str, object]:
    """What charts.js draws: the rows with the highest peaks, in the order of their names."""
    rows = sorted(_rows(cluster, seen, of), key=lambda row: _peak(row[3]), reverse=True)[:HEAT_ROWS]
    rows.sort(key=lambda row: row[:2])
    digits = 3 if show == "share" else 0
    peak = max((_peak(row[3]) for row in rows), default=0.0)
    return {
        "times": seen.steps_ms,
        "show": show,
        "highest": highest if highest is not None else peak,
        "rows": [
            {
                "name": f"{broker}:{disk}" if disk else str(broker),
                "href": where,
                "values": [None if value is None else round(value, digits) for value in values],
            }
            for broker, disk, where, values in rows
        ],
    }


def disk_lines(seen: ClusterSeen | None, judged: Iterable[pb.DiskHealth]) -> list[DiskLine]:
    """Of what was seen, and what was judged without being seen of late."""
    verdicts = {(each.broker, each.disk): each for each in judged}
    lines = []
    for broker in (seen.brokers if seen else {}).values():
        dirs: dict[str, list[LogDirSeen]] = {}
        for each in broker.log_dirs:
            dirs.setdefault(each.disk, []).append(each)
        busy = {disk.disk: disk for disk in broker.disks}
        for disk in sorted({*dirs, *busy} - {""}):
            drawn = busy.get(disk)
            lines.append(
                DiskLine(
                    broker.broker,
                    disk,
                    tuple(dirs.get(disk, ())),
                    latest(drawn.busy) if drawn else None,
                    latest(drawn.moved) if drawn else None,
                    verdicts.pop((broker.broker, disk), None),
                )
            )
    lines += [DiskLine(broker, disk, (), None, None, verdict) for (broker, disk), verdict in verdicts.items()]
    return lines


def topic_lines(sizes: Iterable[TopicSize], entries: Iterable[Topic]) -> list[TopicLine]:
    """By name."""
    by_name = {each.name: each for each in sizes}
    directory = {each.name: each for each in entries}
    return [TopicLine(name, by_name.get(name), directory.get(name)) for name in sorted({*by_name, *directory})]


def _rows(cluster: str, seen: ClusterSeen, of: str) -> Iterable[tuple[int, str, str, Series]]:
    for id_, broker in seen.brokers.items():
        if of == "disks":
            for disk in broker.disks:
                yield id_, disk.disk, url("clusters", cluster, "brokers", id_, "disks", disk.disk), disk.busy
        elif series := getattr(broker, of):
            yield id_, "", url("clusters", cluster, "brokers", id_), series


def _count(seen: ClusterSeen, of: str) -> int:
    return sum(1 for _ in _rows("", seen, of))


def _peak(series: Series) -> float:
    return max((value for value in series if value is not None), default=-1.0)


def _traffic(seen: ClusterSeen) -> dict[str, object]:
    return {
        "times": seen.steps_ms,
        "show": "rate",
        "series": [
            {"name": "Bytes in", "values": _rounded(sums(seen, "bytes_in"))},
            {"name": "Bytes out", "values": _rounded(sums(seen, "bytes_out"))},
        ],
    }


def _rounded(values: Iterable[float | None]) -> list[int | None]:
    return [None if value is None else round(value) for value in values]


_VERDICT_WORDS: dict[int, str] = {verdict: text for verdict, (_, text) in VERDICTS.items()}

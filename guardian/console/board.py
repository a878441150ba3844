"""The board: clusters side by side, each with what it does and how it is, and which of two is worse. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from guardian.console.doubts import as_bad_as, doubts_of_collection
from guardian.console.health import (
    UNREACHABLE,
    Health,
    Serving,
    Skew,
    findings_known,
    findings_of,
    gravity_of,
    health_of,
    latest,
    serving_of,
    severity_of,
    skews,
    sums,
    total,
)
from guardian.console.rendering import show_rate
from guardian.console.sparkline import Sparkline, sparkline
from guardian.model.ticket import Ticket
from guardian.model.topology import BrokerState, Cluster
from guardian.model.units import human_duration
from guardian.web.observed import BrokerSeen, ClusterSeen, Series
from protos.guardian.v1 import insight_pb2 as pb

_LATE_STEPS = 2  # the newest ones, of which not all brokers were heard yet


@dataclass(frozen=True, slots=True)
class Fullest:
    """The log dir with the least room."""

    broker: int
    log_dir: str
    share: float


@dataclass(frozen=True, slots=True)
class Load:
    """What a cluster does and holds now; None: not known. Rates are bytes/s of clients, `cpu` is the mean share of
    cores that are busy, `trend` what clients wrote over time."""

    bytes_in: float | None = None
    bytes_out: float | None = None
    cpu: float | None = None
    fullest: Fullest | None = None
    unevenness: Skew | None = None
    trend: Sparkline | None = None


@dataclass(frozen=True, slots=True)
class BoardLine:
    """A cluster on the board; None: not known."""

    cluster: Cluster
    health: Health
    serving: Serving | None
    load: Load
    findings: int | None
    grave: int
    gravest: int  # severity of the gravest finding; 0: there is none
    is_reached: bool
    tickets_running: int | None
    tickets_waiting: int | None
    away: int  # brokers in another state than active
    mode: str  # of healing

    @property
    def idcs(self) -> tuple[str, ...]:
        return tuple(sorted({broker.idc or "-" for broker in self.cluster.brokers}))


class Badness(NamedTuple):
    """How bad a cluster is, what counts most first: of two, the greater one is worse."""

    not_serving: int  # brokers; all of a cluster that nobody reaches
    gravest: int
    grave: int
    findings: int
    rank: int  # of its word: what is not known stands above what is healthy
    fullest: float
    unevenness: float


def badness(line: BoardLine) -> Badness:
    """Return what clusters are put in order by, the worst first."""
    missing = len(line.serving.missing) if line.serving is not None else 0
    return Badness(
        missing if line.is_reached else max(1, len(line.cluster.brokers)),
        line.gravest,
        line.grave,
        line.findings or 0,
        line.health.rank,
        line.load.fullest.share if line.load.fullest is not None else 0.0,
        line.load.unevenness.spread if line.load.unevenness is not None else 0.0,
    )


def load_of(seen: ClusterSeen | None) -> Load:
    """Return what a board says of what was collected."""
    if seen is None or not seen.brokers:
        return Load()
    busy = [share for each in seen.brokers.values() if (share := latest(each.cpu)) is not None]
    span = human_duration(seen.step_ms * len(seen.steps_ms))
    return Load(
        total(seen, "bytes_in"),
        total(seen, "bytes_out"),
        sum(busy) / len(busy) if busy else None,
        _fullest(seen),
        max(skews(seen), key=lambda each: each.spread, default=None),
        sparkline(_whole(seen, "bytes_in"), show_rate, span),
    )


def board_lines(
    clusters: Iterable[Cluster],
    findings: pb.FindingsReport | None,
    healing: pb.HealingReport | None,
    tickets: Iterable[Ticket] | None,
    seen: Mapping[str, ClusterSeen | None],
) -> list[BoardLine]:
    """None: nobody could say. `seen` is by cluster."""
    modes = {each.cluster: each.policy.mode for each in healing.clusters} if healing is not None else {}
    running: Counter[str] = Counter()
    waiting: Counter[str] = Counter()
    for ticket in tickets or ():
        if not ticket.state.is_over:
            (running if ticket.state.is_driven else waiting)[ticket.cluster] += 1
    return [
        _line(
            cluster,
            findings,
            seen.get(cluster.name),
            (None, None) if tickets is None else (running[cluster.name], waiting[cluster.name]),
            modes.get(cluster.name, ""),
        )
        for cluster in clusters
    ]


def _line(
    cluster: Cluster,
    report: pb.FindingsReport | None,
    seen: ClusterSeen | None,
    tickets: tuple[int | None, int | None],
    mode: str,
) -> BoardLine:
    own = findings_of(cluster.name, report)
    return BoardLine(
        cluster,
        as_bad_as(health_of(cluster, report, own), doubts_of_collection(cluster, seen)),
        serving_of(cluster, report),
        load_of(seen),
        findings_known(report, [cluster.name]),
        sum(1 for each in own if gravity_of(each.kind) == "bad"),
        max((severity_of(each.kind) for each in own), default=0),
        not any(each.kind in UNREACHABLE for each in own),
        *tickets,
        sum(1 for broker in cluster.brokers if broker.state is not BrokerState.ACTIVE),
        mode,
    )


def _fullest(seen: ClusterSeen) -> Fullest | None:
    held = [
        Fullest(broker.broker, log_dir.log_dir, share)
        for broker in seen.brokers.values()
        for log_dir in broker.log_dirs
        if (share := log_dir.used_share) is not None and not log_dir.offline
    ]
    return max(held, key=lambda each: each.share, default=None)


def _whole(seen: ClusterSeen, of: str) -> Series:
    """Return what all brokers did together, by step, without the steps that begin and end it before all were heard.
    What some brokers did would look like a rise, and like a fall now.
    """
    counts = [sum(1 for each in seen.brokers.values() if _known(each, of, at)) for at in range(len(seen.steps_ms))]
    values = sums(seen, of)
    end = len(values)
    while end > max(1, len(values) - _LATE_STEPS) and counts[end - 1] < counts[end - 2]:
        end -= 1
    for at in range(end - 1):
        if counts[at] >= counts[at + 1] and counts[at]:
            break
        values[at] = None
    return tuple(values[:end])


def _known(broker: BrokerSeen, of: str, at: int) -> bool:
    series: Series = getattr(broker, of)
    return at < len(series) and series[at] is not None

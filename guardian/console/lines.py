"""The rows of a cluster's lists, and how each list is sorted and searched. Pure.

A list has a `COLUMNS` table: what its query may sort by, and the value that a row has there (None: not known).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from guardian.console.health import latest, offline_dirs
from guardian.console.paging import Columns
from guardian.console.rendering import words
from guardian.model.federation import Topic
from guardian.model.topology import Broker, BrokerState
from guardian.web.observed import BrokerSeen, ClusterSeen, LogDirSeen, TopicSize
from protos.guardian.v1 import insight_pb2 as pb

VERDICTS = {
    pb.DISK_SLOW: ("bad", "slow"),
    pb.DISK_SUSPECT: ("warn", "suspect"),
    pb.DISK_BUSY: ("warn", "busy"),
    pb.DISK_SOUND: ("ok", "sound"),
    pb.DISK_IDLE: ("none", "idle"),
    pb.DISK_UNKNOWN: ("none", "unknown"),
}
STATES = {
    BrokerState.ACTIVE: ("ok", "active"),
    BrokerState.DRAINING: ("info", "draining"),
    BrokerState.MAINTENANCE: ("info", "maintenance"),
}
_VERDICT_WORDS: dict[int, str] = {verdict: text for verdict, (_, text) in VERDICTS.items()}


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
    def offline(self) -> int | None:
        return offline_dirs([self.seen] if self.seen else [])


BROKER_COLUMNS: Columns[BrokerLine] = {
    "id": lambda line: line.broker.id,
    "rack": lambda line: line.broker.rack,
    "idc": lambda line: line.broker.idc,
    "label": lambda line: line.broker.label,
    "in": lambda line: line.bytes_in,
    "out": lambda line: line.bytes_out,
    "cpu": lambda line: line.cpu,
    "busy": lambda line: line.disk_busy,
    "used": lambda line: line.used,
}


def broker_text(line: BrokerLine) -> str:
    """Return the text that a search looks at."""
    broker = line.broker
    excluded = " excluded" if line.is_excluded else ""
    return f"{broker.id} {broker.rack} {broker.idc} {broker.label} {STATES[broker.state][1]}{excluded}"


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


DISK_COLUMNS: Columns[DiskLine] = {
    "broker": lambda line: (line.broker, line.disk),
    "busy": lambda line: line.busy,
    "moved": lambda line: line.moved,
    "used": lambda line: line.used,
    "await": lambda line: line.verdict.await_ms if line.verdict else None,
    "verdict": lambda line: -line.verdict.verdict if line.verdict else None,
}


def disk_text(line: DiskLine) -> str:
    """Return the text that a search looks at."""
    log_dirs = " ".join(each.log_dir for each in line.log_dirs)
    verdict = words(_VERDICT_WORDS, line.verdict.verdict) if line.verdict else ""
    return f"{line.broker} {line.disk} {log_dirs} {verdict}"


def disk_lines(seen: ClusterSeen | None, judged: Iterable[pb.DiskHealth]) -> list[DiskLine]:
    """Return the lines of disks that were seen, and of those judged without being seen of late."""
    verdicts = {(each.broker, each.disk): each for each in judged}
    lines = [line for broker in (seen.brokers.values() if seen else ()) for line in _disks_of(broker, verdicts)]
    lines += [DiskLine(broker, disk, (), None, None, verdict) for (broker, disk), verdict in verdicts.items()]
    return lines


def _disks_of(broker: BrokerSeen, verdicts: dict[tuple[int, str], pb.DiskHealth]) -> Iterable[DiskLine]:
    """Takes their verdicts away: what is left of these was not seen."""
    dirs: dict[str, list[LogDirSeen]] = {}
    for each in broker.log_dirs:
        dirs.setdefault(each.disk, []).append(each)
    drawn = {disk.disk: disk for disk in broker.disks}
    for name in sorted({*dirs, *drawn} - {""}):
        disk = drawn.get(name)
        yield DiskLine(
            broker.broker,
            name,
            tuple(dirs.get(name, ())),
            latest(disk.busy) if disk else None,
            latest(disk.moved) if disk else None,
            verdicts.pop((broker.broker, name), None),
        )


@dataclass(frozen=True, slots=True)
class TopicLine:
    """A topic that was seen, or that the directory names."""

    name: str
    size: TopicSize | None
    entry: Topic | None


TOPIC_COLUMNS: Columns[TopicLine] = {
    "name": lambda line: line.name,
    "partitions": lambda line: line.size.partitions if line.size else None,
    "size": lambda line: line.size.size_bytes if line.size else None,
    "missing": lambda line: line.size.under_replicated if line.size else None,
    "tenant": lambda line: line.entry.tenant if line.entry else None,
    "owner": lambda line: line.entry.owner if line.entry else None,
}


def topic_text(line: TopicLine) -> str:
    """Return the text that a search looks at."""
    entry = line.entry
    return f"{line.name} {entry.owner} {entry.tenant} {entry.label}" if entry else line.name


def topic_lines(sizes: Iterable[TopicSize], entries: Iterable[Topic]) -> list[TopicLine]:
    """Return the lines of topics by name."""
    by_name = {each.name: each for each in sizes}
    directory = {each.name: each for each in entries}
    return [TopicLine(name, by_name.get(name), directory.get(name)) for name in sorted({*by_name, *directory})]

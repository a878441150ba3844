"""A topic: whose it is, where its replicas are, what it carries, who reads and writes it, and what of it is tiered."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fastapi import Request
from fastapi.responses import Response

from guardian.console.cluster import RATINGS, Name
from guardian.console.health import latest
from guardian.console.heat import traffic
from guardian.console.paging import Columns, List, page_of
from guardian.console.sections import get
from guardian.console.urls import url
from guardian.console.views import ReadingPages
from guardian.errors import NotFound
from guardian.model.cluster_state import ORIGIN_WORDS
from guardian.model.topology import Cluster
from guardian.security.rules.routing import VIEW_CLUSTER
from guardian.web.observed import ReplicaSeen, TopicSeen

MOST_COLUMNS = 40


@dataclass(frozen=True, slots=True)
class PartitionLine:
    """A partition and its replicas, the leader first; None: nobody was seen to lead it. There is a replica at least."""

    partition: int
    leader: ReplicaSeen | None
    replicas: tuple[ReplicaSeen, ...]

    @property
    def size_bytes(self) -> int:
        return max((each.size_bytes for each in self.replicas), default=0)

    @property
    def missing(self) -> int | None:
        """Replicas that are not in sync, as the leader says."""
        if self.leader is None or self.leader.replicas is None or self.leader.in_sync is None:
            return None
        return self.leader.replicas - self.leader.in_sync

    def on(self, broker: int) -> ReplicaSeen | None:
        return next((each for each in self.replicas if each.broker == broker), None)


@dataclass(frozen=True, slots=True)
class Column:
    """A broker of the placement picture."""

    broker: int
    idc: str
    rack: str


PARTITION_COLUMNS: Columns[PartitionLine] = {
    "partition": lambda line: line.partition,
    "size": lambda line: line.size_bytes,
    "missing": lambda line: line.missing,
}


def partition_text(line: PartitionLine) -> str:
    """Return the text that a search looks at."""
    return str(line.partition)


class TopicPages(ReadingPages):
    @get("/clusters/{cluster}/topics/{topic}", VIEW_CLUSTER)
    def topic(self, request: Request, name: Name, topic: str, asked: List) -> Response:
        view = self._views.of_cluster(request, name, "topics")
        seen = view.part(self._looks.topic_seen, name, topic)
        directory = view.part(self._looks.directory, name)
        entry = next((each for each in directory or () if each.name == topic), None)
        if seen is not None and not seen.replicas and directory is not None and entry is None:
            raise NotFound(f"topic is {topic!r}, which no broker of {name} was seen to hold of late")
        tenants = view.part(self._looks.tenants) or ()
        lines = partition_lines(seen.replicas if seen else ())
        columns = columns_of(view.cluster, lines)
        return view.shown(
            "topic.html",
            topic,
            ("Topics", url("clusters", name, "topics")),
            (topic, ""),
            topic=topic,
            entry=entry,
            is_directory_known=directory is not None,
            tenant=next((each for each in tenants if entry and each.name == entry.tenant), None),
            page=page_of(lines, asked, partition_text, PARTITION_COLUMNS, "partition"),
            columns=columns if len(columns) <= MOST_COLUMNS else (),
            groups=_groups(columns),
            tiered=view.if_any(self._looks.tiered, view.cluster, topic),
            **in_sum(lines),
            **_traffic(seen),
        )

    @get("/clusters/{cluster}/topics/{topic}/configuration", VIEW_CLUSTER)
    def configuration(self, request: Request, name: Name, topic: str) -> Response:
        view = self._views.of_cluster(request, name)
        reply = view.part(self._looks.settings, name, topic)
        return view.shown(
            "configuration.html",
            f"Configuration of {topic}",
            (topic, url("clusters", name, "topics", topic)),
            ("Configuration", ""),
            described=next((each for each in reply.topics if each.topic == topic), None) if reply else None,
            origins=ORIGIN_WORDS,
        )

    @get("/clusters/{cluster}/topics/{topic}/activity", VIEW_CLUSTER)
    def activity(self, request: Request, name: Name, topic: str) -> Response:
        view = self._views.of_cluster(request, name)
        return view.shown(
            "activity.html",
            f"Who reads and writes {topic}",
            (topic, url("clusters", name, "topics", topic)),
            ("Activity", ""),
            of_topic=True,
            reply=view.part(self._looks.activity, name, topic=topic),
        )

    @get("/clusters/{cluster}/topics/{topic}/durability", VIEW_CLUSTER)
    def durability(self, request: Request, name: Name, topic: str) -> Response:
        view = self._views.of_cluster(request, name)
        report = view.part(self._looks.durability, name, topic)
        return view.shown(
            "topic_durability.html",
            f"How safe {topic} is",
            (topic, url("clusters", name, "topics", topic)),
            ("Durability", ""),
            rated=next((each for each in report.topics if each.topic == topic), None) if report else None,
            ratings=RATINGS,
        )


def in_sum(lines: Sequence[PartitionLine]) -> dict[str, int | None]:
    """Return the figures at the top; None: no replica was seen, so that they are not known."""
    if not lines:
        return dict.fromkeys(("partitions", "missing", "leaderless", "size"))
    return {
        "partitions": len(lines),
        "missing": _under_replicated(lines),
        "leaderless": sum(1 for line in lines if line.leader is None),
        "size": sum(each.size_bytes for line in lines for each in line.replicas),
    }


def _under_replicated(lines: Sequence[PartitionLine]) -> int | None:
    known = [line.missing for line in lines if line.missing is not None]
    return sum(1 for missing in known if missing) if known else None


def partition_lines(replicas: Iterable[ReplicaSeen]) -> list[PartitionLine]:
    """Return the lines by partition. Of two that say that they lead, the one whose log goes further does."""
    by_partition: dict[int, list[ReplicaSeen]] = {}
    for each in replicas:
        by_partition.setdefault(each.partition, []).append(each)
    lines = []
    for partition, held in sorted(by_partition.items()):
        leaders = sorted((each for each in held if each.is_leader), key=lambda each: -each.end_offset)
        leader = leaders[0] if leaders else None
        followers = sorted((each for each in held if each is not leader), key=lambda each: each.broker)
        lines.append(PartitionLine(partition, leader, ((leader,) if leader else ()) + tuple(followers)))
    return lines


def columns_of(cluster: Cluster, lines: Sequence[PartitionLine]) -> tuple[Column, ...]:
    """The brokers that hold something, neighbours of one rack beside each other."""
    held = {each.broker for line in lines for each in line.replicas}
    known = {broker.id: broker for broker in cluster.brokers}
    found = [
        Column(id_, known[id_].idc if id_ in known else "", known[id_].rack if id_ in known else "") for id_ in held
    ]
    return tuple(sorted(found, key=lambda each: (each.idc, each.rack, each.broker)))


def _groups(columns: Iterable[Column]) -> list[tuple[str, int]]:
    """(words, how many columns) of each rack."""
    found: list[tuple[str, int]] = []
    for column in columns:
        words = " ".join(each for each in (column.idc, column.rack) if each) or "-"
        if found and found[-1][0] == words:
            found[-1] = (words, found[-1][1] + 1)
        else:
            found.append((words, 1))
    return found


def _traffic(seen: TopicSeen | None) -> dict[str, object]:
    """Now, and over the last hour; None: nothing is known."""
    if seen is None or not any(value is not None for value in (*seen.bytes_in, *seen.bytes_out)):
        return {"now": {"in": None, "out": None}, "traffic": None}
    return {
        "now": {"in": latest(seen.bytes_in), "out": latest(seen.bytes_out)},
        "traffic": traffic(seen.steps_ms, seen.bytes_in, seen.bytes_out),
    }

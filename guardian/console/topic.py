"""A topic: whose it is, where its replicas are, what it carries, who reads and writes it, and what of it is tiered."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fastapi import APIRouter, Request
from fastapi.responses import Response

from guardian.console.cluster import RATINGS, Name, crumbs_of
from guardian.console.health import latest
from guardian.console.looking import Looks, softly
from guardian.console.paging import List, page_of
from guardian.console.rendering import Renderer, url
from guardian.errors import NotFound
from guardian.model.topology import Cluster
from guardian.web.observed import ReplicaSeen, TopicSeen

MOST_COLUMNS = 40


@dataclass(frozen=True, slots=True)
class PartitionLine:
    """A partition and its replicas, the leader first; None: nobody was seen to lead it."""

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


def router(looks: Looks, render: Renderer) -> APIRouter:
    pages = APIRouter(prefix="/clusters/{cluster}/topics/{topic}")

    @pages.get("")
    def topic_page(request: Request, name: Name, topic: str, asked: List) -> Response:
        cluster, notes = looks.cluster(request, name), list[str]()
        seen = softly(notes, lambda: looks.topic_seen(request, name, topic))
        entries = softly(notes, lambda: looks.directory(request, name)) or ()
        entry = next((each for each in entries if each.name == topic), None)
        if seen is not None and not seen.replicas and entry is None:
            raise NotFound(f"topic is {topic!r}, which no broker of {name} was seen to hold of late")
        tenants = softly(notes, lambda: looks.tenants(request)) or ()
        tiered = softly([], lambda: looks.tiered(request, cluster).get(topic))  # a cluster without tiered storage
        lines = partition_lines(seen.replicas if seen else ())
        columns = columns_of(cluster, lines)
        page = page_of(
            lines,
            asked,
            lambda line: f"{line.partition}",
            {
                "partition": lambda line: line.partition,
                "size": lambda line: line.size_bytes,
                "missing": lambda line: line.missing,
            },
            "partition",
        )
        return render(
            request,
            "topic.html",
            section="federation",
            title=topic,
            tab="topics",
            crumbs=crumbs_of(cluster, ("Topics", url("clusters", name, "topics")), (topic, "")),
            cluster=cluster,
            topic=topic,
            notes=notes,
            is_read=seen is not None,
            entry=entry,
            tenant=next((each for each in tenants if entry and each.name == entry.tenant), None),
            page=page,
            columns=columns if len(columns) <= MOST_COLUMNS else (),
            groups=_groups(columns),
            partitions=len(lines),
            missing=sum(1 for line in lines if line.missing),
            leaderless=sum(1 for line in lines if line.leader is None),
            size=sum(each.size_bytes for line in lines for each in line.replicas),
            now={"in": latest(seen.bytes_in), "out": latest(seen.bytes_out)} if seen else {"in": None, "out": None},
            traffic=_traffic(seen) if seen else None,
            tiered=tiered,
        )

    @pages.get("/activity")
    def who(request: Request, name: Name, topic: str) -> Response:
        cluster, notes = looks.cluster(request, name), list[str]()
        return render(
            request,
            "activity.html",
            section="federation",
            title=f"Who reads and writes {topic}",
            crumbs=crumbs_of(cluster, (topic, url("clusters", name, "topics", topic)), ("Activity", "")),
            notes=notes,
            of_topic=True,
            cluster=cluster,
            reply=softly(notes, lambda: looks.activity(request, name, topic=topic)),
        )

    @pages.get("/durability")
    def durability(request: Request, name: Name, topic: str) -> Response:
        cluster, notes = looks.cluster(request, name), list[str]()
        report = softly(notes, lambda: looks.durability(request, name, topic))
        return render(
            request,
            "topic_durability.html",
            section="federation",
            title=f"How safe {topic} is",
            crumbs=crumbs_of(cluster, (topic, url("clusters", name, "topics", topic)), ("Durability", "")),
            notes=notes,
            cluster=cluster,
            rated=next((each for each in report.topics if each.topic == topic), None) if report else None,
            ratings=RATINGS,
        )

    return pages


def partition_lines(replicas: Iterable[ReplicaSeen]) -> list[PartitionLine]:
    """By partition. Of two that say that they lead, the one whose log goes further does."""
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


def _traffic(seen: TopicSeen) -> dict[str, object] | None:
    if not any(value is not None for value in (*seen.bytes_in, *seen.bytes_out)):
        return None
    return {
        "times": seen.steps_ms,
        "show": "rate",
        "series": [{"name": "Bytes in", "values": seen.bytes_in}, {"name": "Bytes out", "values": seen.bytes_out}],
    }

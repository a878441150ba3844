"""`guardian tiering orphans`: copies that nobody will finish, deletions that are due, and what was swept so far."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from guardian.cli.options import EndpointsOption, Output, OutputOption, connect
from guardian.cli.render import human_time, print_json, print_table
from guardian.cli.tiering_catalogue import TieredTopic, live_segments, read_catalogue
from guardian.cli.tiering_options import (
    LimitOption,
    OlderThanOption,
    TieredClusterOption,
    counted,
    partition_json,
    segment_json,
    sized,
    warn_of_the_rest,
)
from guardian.client import GuardianClient
from guardian.core.sweeping import Orphan, orphans
from guardian.model.tiering import LiveSegment, uuid_text
from guardian.model.units import human_bytes, human_duration, parse_duration_ms

_HOW = """\
How sweeping works: a broker that becomes the leader claims the partition. Its plugin marks the copies that others left
unfinished (DELETE_SEGMENT_STARTED), and Kafka's RemoteLogManager deletes their files, then their metadata, at its next
run (remote.log.manager.task.interval.ms, 30 s by default). Nothing needs to be done."""
_IF_NOT = """\
When it doesn't happen within minutes:
- Is the leader at work? `guardian tiering partition TOPIC PARTITION` names it; its log says why it can't (search for
  GuardianRemoteLogMetadataManager and RemoteLogManager). `guardian raft status` must show that writes are taken.
- A suspect was begun by the broker that leads now: it may still copy, or hang. Restart that broker, or let another one
  lead (kafka-leader-election): whoever leads then sweeps it.
- Files that no metadata knows are not swept: `guardian tiering verify` finds them."""


@dataclass(frozen=True, slots=True)
class _TopicReport:
    topic: TieredTopic
    orphans: tuple[Orphan, ...]
    deletions: tuple[LiveSegment, ...]

    @property
    def swept_segments(self) -> int:
        return sum(one.swept_segments for one in self.topic.partitions)

    @property
    def swept_bytes(self) -> int:
        return sum(one.swept_bytes for one in self.topic.partitions)

    @property
    def is_empty(self) -> bool:
        return not (self.orphans or self.deletions or self.swept_segments)


def orphans_command(
    cluster: TieredClusterOption = "",
    older_than: OlderThanOption = "1h",
    limit: LimitOption = 100,
    endpoints: EndpointsOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Show copies that will never be finished, deletions that are due, and what was swept so far.

    An orphan is certain when another broker has claimed the partition after the copy was begun: the fence lets nobody
    finish it. It is suspect when its copy takes longer than --older-than.

    Example: guardian tiering orphans --older-than 30m
    """
    older_than_ms = parse_duration_ms("--older-than", older_than)
    now_ms = time.time_ns() // 1_000_000
    with connect(endpoints) as client:
        found = [_report(client, topic, now_ms, older_than_ms) for topic in read_catalogue(client, cluster).topics]
    if output is Output.JSON:
        print_json(_as_json(found))
        return
    _print_orphans(found, now_ms, older_than, limit)
    _print_topics([report for report in found if not report.is_empty], now_ms)
    print(_HOW)
    if any(report.orphans or report.deletions for report in found):
        print(_IF_NOT)


def _report(client: GuardianClient, topic: TieredTopic, now_ms: int, older_than_ms: int) -> _TopicReport:
    found: list[Orphan] = []
    deletions: list[LiveSegment] = []
    for summary, segments in live_segments(client, topic.existing):
        found += orphans(summary.partition, segments, summary.claim, now_ms, older_than_ms)
        deletions += [segment for segment in segments if segment.is_being_deleted]
    return _TopicReport(topic, tuple(found), tuple(deletions))


def _print_orphans(found: Sequence[_TopicReport], now_ms: int, older_than: str, limit: int) -> None:
    rows = [(report.topic, orphan) for report in found for orphan in report.orphans]
    if not rows:
        print("No orphans.")
        print()
        return
    certain = [orphan.segment for _, orphan in rows if orphan.is_certain]
    suspect = [orphan.segment for _, orphan in rows if not orphan.is_certain]
    print(f"Orphans: {sized(certain, 'certain', 'certain')}, {sized(suspect, 'suspect', 'suspect')}")
    shown = rows[:limit] if limit else rows
    print_table(
        ("CLUSTER", "PARTITION", "FROM", "TO", "SIZE", "BROKER", "BEGUN", "WHY"),
        [
            (
                topic.cluster,
                f"{topic.name}-{orphan.partition.partition}",
                str(orphan.segment.start_offset),
                str(orphan.segment.end_offset),
                human_bytes(orphan.segment.size_bytes),
                str(orphan.segment.broker_id),
                human_time(orphan.segment.at_ms),
                _why(topic, orphan, now_ms, older_than),
            )
            for topic, orphan in shown
        ],
        right=("FROM", "TO", "SIZE", "BROKER"),
    )
    warn_of_the_rest(len(shown), len(rows), "orphan", "More: --limit")
    print()


def _why(topic: TieredTopic, orphan: Orphan, now_ms: int, older_than: str) -> str:
    claim = topic.partition(orphan.partition.partition).claim
    if orphan.is_certain and claim is not None:
        ago = human_duration(now_ms - claim.claimed_at_ms)
        return f"certain: broker {claim.broker_id} has claimed the partition since, {ago} ago"
    return f"suspect: under way for {human_duration(now_ms - orphan.segment.at_ms)}, more than {older_than}"


def _print_topics(found: Sequence[_TopicReport], now_ms: int) -> None:
    if not found:
        return
    numbers = ("ORPHANS", "SIZE", "DELETIONS DUE", "SIZE OF THESE", "OLDEST", "SWEPT", "RECLAIMED")
    rows = [
        (
            report.topic.cluster,
            report.topic.name if report.topic.existing else f"{report.topic.name} (deleted)",
            *_cells([orphan.segment for orphan in report.orphans]),
            *_cells(report.deletions),
            _oldest(report.deletions, now_ms),
            str(report.swept_segments),
            human_bytes(report.swept_bytes),
        )
        for report in found
    ]
    deletions = [segment for report in found for segment in report.deletions]
    total = (
        "total",
        counted(len(rows), "topic"),
        *_cells([orphan.segment for report in found for orphan in report.orphans]),
        *_cells(deletions),
        _oldest(deletions, now_ms),
        str(sum(report.swept_segments for report in found)),
        human_bytes(sum(report.swept_bytes for report in found)),
    )
    print_table(("CLUSTER", "TOPIC", *numbers), [*rows, total], right=numbers)
    print()


def _cells(segments: Sequence[LiveSegment]) -> tuple[str, str]:
    return str(len(segments)), human_bytes(sum(segment.size_bytes for segment in segments))


def _oldest(segments: Sequence[LiveSegment], now_ms: int) -> str:
    return human_duration(now_ms - min(segment.at_ms for segment in segments)) if segments else "-"


def _as_json(found: Sequence[_TopicReport]) -> dict[str, Any]:
    return {
        "orphans": [
            {
                **partition_json(report.topic.cluster, report.topic.name, orphan.partition),
                **segment_json(orphan.segment),
                "certain": orphan.is_certain,
            }
            for report in found
            for orphan in report.orphans
        ],
        "topics": [
            {
                "cluster": report.topic.cluster,
                "cluster_id": report.topic.cluster_id,
                "topic": report.topic.name,
                "topic_id": uuid_text(report.topic.topic_id),
                "deleted": not report.topic.existing,
                "orphans": len(report.orphans),
                "orphan_bytes": sum(orphan.segment.size_bytes for orphan in report.orphans),
                "deletions_due": len(report.deletions),
                "deletion_bytes": sum(segment.size_bytes for segment in report.deletions),
                "swept_segments": report.swept_segments,
                "swept_bytes": report.swept_bytes,
            }
            for report in found
        ],
    }

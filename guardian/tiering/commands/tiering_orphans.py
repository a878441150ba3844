"""`guardian tiering orphans`: copies that nobody will finish, what deleted topics left, and what was swept so far."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from guardian.cli.options import EndpointsOption, Output, OutputOption, connect, now_ms
from guardian.cli.output_more import more_of
from guardian.cli.printing import echo
from guardian.cli.render import human_time, print_json, print_table
from guardian.client import GuardianClient
from guardian.errors import GuardianError, InvalidInput
from guardian.model.text import uuid_text
from guardian.model.units import human_bytes, human_duration, parse_duration_ms
from guardian.tiering.commands.tiering_catalogue import TieredTopic, live_segments, read_catalogue
from guardian.tiering.commands.tiering_gone import GoneTopic, by_topic, find_gone, print_gone
from guardian.tiering.commands.tiering_options import (
    REMOTE,
    BrokerConfigOption,
    ClasspathOption,
    LimitOption,
    TieredClusterOption,
    counted,
    partition_json,
    require_told,
    segment_json,
    sized,
    warn_of_the_rest,
)
from guardian.tiering.commands.tiering_seen import Seen
from guardian.tiering.commands.tiering_sweep import as_json, carry_out, find, print_found, print_swept, swept_json
from guardian.tiering.model import LiveSegment
from guardian.tiering.remote_storage.stores import RemoteStore, open_store
from guardian.tiering.rules.reclaiming import gone_partitions
from guardian.tiering.rules.sweeping import Orphan, orphans

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
- Files that no metadata knows are swept by `guardian tiering orphans --sweep`; `guardian tiering verify` finds them."""


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
    older_than: Annotated[
        str,
        typer.Option(
            "--older-than",
            help="A copy that takes longer than this, such as 1h, is suspect; --sweep deletes nothing that is younger.",
        ),
    ] = "1h",
    remote: Annotated[str, REMOTE] = "",
    sweep: Annotated[
        bool, typer.Option("--sweep", help="Show what a sweep of --remote would delete; with --yes, delete it.")
    ] = False,
    many: Annotated[
        bool, typer.Option("--many", help="With --sweep: also when more segments are unknown than broken copies leave.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="With --sweep: delete, and don't only show.")] = False,
    classpath: ClasspathOption = "",
    broker_config: BrokerConfigOption = None,
    limit: LimitOption = 100,
    endpoints: EndpointsOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Show copies that will never be finished, deletions that are due, what deleted topics left, what was swept so far.

    An orphan is certain when another broker has claimed the partition after
    the copy was begun: the fence lets nobody finish it. It is suspect when its
    copy takes longer than --older-than. Leaders sweep orphans by themselves.

    With --sweep: what nobody else sweeps, of one cluster and its store.
    Segments and files of topics that the cluster no longer has, and files that
    no live segment knows, all older than --older-than. Brokers are asked which
    topics exist; when too few answer, nothing is done. Nothing is changed
    without --yes. Never sweep after Guardian was restored from a snapshot:
    what was copied since is unknown to it.

    Example: guardian tiering orphans --sweep --remote hdfs://nn:8020/guardian --cluster live
    """
    older_than_ms = parse_duration_ms("--older-than", older_than)
    _require_matching(remote, sweep=sweep, yes=yes)
    if sweep:
        store = open_store(remote, classpath, broker_config)
        with connect(endpoints) as client:
            _sweep(client, cluster, store, older_than, yes, many, limit, output)
        return
    at_ms = now_ms()
    with connect(endpoints) as client:
        topics = read_catalogue(client, cluster).topics
        found = [_report(client, topic, at_ms, older_than_ms) for topic in topics]
        gone, not_asked = _look_for_gone(client, topics)
    if output is Output.JSON:
        print_json(_as_json(found, gone, not_asked))
        require_told(topics)
        return
    require_told(topics)
    _print_orphans(found, at_ms, older_than, limit)
    _print_topics([report for report in found if not report.is_empty], at_ms)
    _print_gone(gone, not_asked)
    _print_advice(found)


def _require_matching(remote: str, *, sweep: bool, yes: bool) -> None:
    """Raise InvalidInput for options that need others which were not given."""
    if remote and not sweep:
        raise InvalidInput(f"--remote is {remote!r}, without --sweep: give both, which changes nothing without --yes")
    if yes and not sweep:
        raise InvalidInput("--yes is given without --sweep: there is nothing to agree to")
    if sweep and not remote:
        raise InvalidInput("--remote is missing: --sweep needs the store whose files it deletes, such as hdfs://nn/dir")


def _sweep(
    client: GuardianClient,
    cluster: str,
    store: RemoteStore,
    older_than: str,
    yes: bool,
    many: bool,
    limit: int,
    output: Output,
) -> None:
    """Exit code 1 when not all could be swept."""
    seen = Seen(client, cluster)
    found = find(client, seen, store, parse_duration_ms("--older-than", older_than))
    if output is Output.TABLE:
        print_found(found, seen, store, older_than, limit)
    if found.has_many_strays and yes and not many:
        raise InvalidInput(
            f"{found.stray_segments} segments have files that no metadata knows, beside {found.finished} that are "
            "known: was Guardian restored? Then they are what is left of newer data. If it was not, add --many"
        )
    swept = carry_out(client, store, found) if yes else None
    if output is Output.JSON:
        print_json({**as_json(found, seen), "swept": swept_json(swept, seen) if swept is not None else None})
    elif swept is not None:
        print_swept(swept, seen)
    elif not found.is_empty:
        echo()
        echo("Nothing was changed: add --yes to delete these.")
    if swept is not None and not swept.is_complete:
        raise typer.Exit(1)


def _look_for_gone(
    client: GuardianClient, topics: Iterable[TieredTopic]
) -> tuple[tuple[GoneTopic, ...], dict[str, str]]:
    """Return what is left of topics that their clusters no longer have; and by cluster, why it could not be asked."""
    gone: list[GoneTopic] = []
    not_asked: dict[str, str] = {}
    existing = [topic for topic in topics if topic.existing]
    for (cluster_id, cluster), found in itertools.groupby(existing, key=lambda one: (one.cluster_id, one.cluster)):
        ours = {topic.topic_id: topic for topic in found}
        try:
            missing = find_gone(client, cluster_id, ours)
        except GuardianError as error:
            not_asked[cluster] = str(error)
            continue
        summaries = [one for topic_id in missing for one in ours[topic_id].existing]
        metadata = {summary.partition: segments for summary, segments in live_segments(client, summaries)}
        names = {topic_id: ours[topic_id].name for topic_id in missing}
        gone += by_topic(gone_partitions(summaries, metadata, missing), cluster, names.__getitem__)
    return tuple(gone), not_asked


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
        echo("No orphans.")
        echo()
        return
    certain = [orphan.segment for _, orphan in rows if orphan.is_certain]
    suspect = [orphan.segment for _, orphan in rows if not orphan.is_certain]
    echo(f"Orphans: {sized(certain, 'certain', 'certain')}, {sized(suspect, 'suspect', 'suspect')}")
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
        more=more_of([orphan for _, orphan in shown], "segment.id", "segment.state", "segment.max_timestamp_ms"),
    )
    warn_of_the_rest(len(shown), len(rows), "orphan", "More: --limit")
    echo()


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
    more = more_of([*(report.topic for report in found), None], "topic_id", "cluster_id")
    print_table(("CLUSTER", "TOPIC", *numbers), [*rows, total], right=numbers, more=more)
    echo()


def _print_gone(gone: Sequence[GoneTopic], not_asked: Mapping[str, str]) -> None:
    if gone:
        segments = [segment for topic in gone for segment in topic.segments]
        echo(f"Left of deleted topics: {sized(segments, 'live segment')}")
        print_gone(gone)
        echo("Next: guardian tiering orphans --sweep --remote URL --cluster CLUSTER")
        echo()
    for cluster, why in not_asked.items():
        echo(f"Deleted topics of cluster {cluster} were not looked for: {why}.")
    if not_asked:
        echo()


def _print_advice(found: Sequence[_TopicReport]) -> None:
    echo(_HOW)
    if any(report.orphans or report.deletions for report in found):
        echo(_IF_NOT)


def _cells(segments: Sequence[LiveSegment]) -> tuple[str, str]:
    return str(len(segments)), human_bytes(sum(segment.size_bytes for segment in segments))


def _oldest(segments: Sequence[LiveSegment], now_ms: int) -> str:
    return human_duration(now_ms - min(segment.at_ms for segment in segments)) if segments else "-"


def _as_json(found: Sequence[_TopicReport], gone: Sequence[GoneTopic], not_asked: Mapping[str, str]) -> dict[str, Any]:
    return {
        "deleted_topics": [topic.as_json() for topic in gone],
        "not_asked": [{"cluster": cluster, "why": why} for cluster, why in not_asked.items()],
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

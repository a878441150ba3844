"""`guardian tiering`: what brokers keep in Guardian about tiered segments, and whether the remote store agrees."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Annotated, Any

import typer

from guardian.cli.options import EndpointsOption, Output, OutputOption, connect, now_ms
from guardian.cli.output_more import more_of
from guardian.cli.printing import echo
from guardian.cli.render import human_time, print_json, print_table
from guardian.client import GuardianClient
from guardian.model.segment import RemoteLogSegmentState
from guardian.model.text import uuid_text
from guardian.model.units import human_bytes, human_duration, parse_duration_ms
from guardian.tiering.commands import tiering_import, tiering_orphans, tiering_verify
from guardian.tiering.commands.tiering_catalogue import TieredTopic, live_segments, partition_segments, read_catalogue
from guardian.tiering.commands.tiering_options import (
    LimitOption,
    OlderThanOption,
    TieredClusterOption,
    counted,
    epochs_text,
    partition_json,
    require_told,
    segment_json,
    sized,
    warn_of_the_rest,
)
from guardian.tiering.model import LiveSegment, PartitionClaim, PartitionSummary
from guardian.tiering.rules.covering import Coverage, OffsetRange, coverage
from guardian.tiering.rules.sweeping import orphans

app = typer.Typer(
    help="Tiered storage: the segments that brokers keep track of here, orphans, and what the remote store holds.",
    no_args_is_help=True,
)
TopicArgument = Annotated[str, typer.Argument(metavar="TOPIC", help="The topic's name, or its id as Kafka prints it.")]

_SHOWN_HOLES = 10
_PATIENCE_MS = 3_600_000  # the other commands' --older-than


class StateFilter(StrEnum):
    """Kafka's states, each in one word."""

    COPYING = "copying"
    FINISHED = "finished"
    DELETING = "deleting"


_STATES = {
    StateFilter.COPYING: RemoteLogSegmentState.COPY_SEGMENT_STARTED,
    StateFilter.FINISHED: RemoteLogSegmentState.COPY_SEGMENT_FINISHED,
    StateFilter.DELETING: RemoteLogSegmentState.DELETE_SEGMENT_STARTED,
}


@app.command("topics")
def topics(
    cluster: TieredClusterOption = "",
    older_than: OlderThanOption = "1h",
    quick: Annotated[
        bool, typer.Option("--quick", help="Don't look into partitions: no COPYING, DELETING and ORPHANS.")
    ] = False,
    endpoints: EndpointsOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """List the topics with tiered segments: how many, how big, what is under way, and orphans (copies nobody finishes).

    Example: guardian tiering topics --cluster live
    """
    older_than_ms = parse_duration_ms("--older-than", older_than)
    at_ms = now_ms()
    with connect(endpoints) as client:
        known = read_catalogue(client, cluster).topics
        found = [topic for topic in known if topic.existing]
        counts = [_counts(client, topic, at_ms, older_than_ms, quick) for topic in found]
    if output is Output.JSON:
        print_json([_topic_json(topic, count) for topic, count in zip(found, counts, strict=True)])
    elif known:
        _print_topics(found, counts)
    require_told(known)


def _print_topics(found: Sequence[TieredTopic], counts: Sequence[_Counts]) -> None:
    numbers = ("PARTITIONS", "SEGMENTS", "SIZE", "COPYING", "DELETING", "ORPHANS")
    labels = _labels(found)
    rows = [
        (topic.cluster, label, *_count_cells(count)) for topic, label, count in zip(found, labels, counts, strict=True)
    ]
    total = _Counts.sum(counts)
    print_table(
        ("CLUSTER", "TOPIC", *numbers),
        [*rows, ("total", counted(len(rows), "topic"), *_count_cells(total))],
        right=numbers,
        more=more_of([*found, None], "topic_id", "cluster_id"),
    )
    if total.orphans:
        echo()
        echo("Next: guardian tiering orphans")


@app.command("partition")
def partition(
    topic: TopicArgument,
    number: Annotated[int, typer.Argument(metavar="PARTITION", min=0, help="The partition's number.")],
    cluster: TieredClusterOption = "",
    endpoints: EndpointsOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Show a partition: who may write (the claim), its segments by state, which offsets can be read from remote.

    Example: guardian tiering partition orders 0
    """
    with connect(endpoints) as client:
        found = read_catalogue(client, cluster).topic(topic)
        summary = found.partition(number)
        segments = partition_segments(client, summary.partition) if not summary.is_deleted else ()
    covered = coverage(segments)
    if output is Output.JSON:
        print_json(_partition_json(found, summary, segments, covered))
        return
    echo(f"Partition {found.name}-{number} of cluster {found.cluster}, topic id {uuid_text(found.topic_id)}")
    for label, text in _partition_lines(summary, segments, covered, now_ms()):
        echo(f"{label:<10}{text}")


@app.command("segments")
def list_segments(
    topic: TopicArgument,
    number: Annotated[
        int | None, typer.Argument(metavar="PARTITION", min=0, show_default=False, help="Only this partition's.")
    ] = None,
    state: Annotated[StateFilter | None, typer.Option("--state", help="Only segments in this state.")] = None,
    from_offset: Annotated[
        int, typer.Option("--from-offset", min=0, help="Only segments that hold this offset or later ones.")
    ] = 0,
    limit: LimitOption = 100,
    cluster: TieredClusterOption = "",
    endpoints: EndpointsOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """List live segments by partition and offset. AGE is the time since a segment got its state, by its broker's clock.

    Example: guardian tiering segments orders 0 --from-offset 120000 --limit 20
    """
    with connect(endpoints) as client:
        found = read_catalogue(client, cluster).topic(topic)
        summaries = found.existing if number is None else (found.partition(number),)
        rows = [
            (summary, segment)
            for summary, segments in live_segments(client, summaries)
            for segment in sorted(segments, key=lambda one: (one.start_offset, one.at_ms))
            if segment.end_offset >= from_offset and (state is None or segment.state is _STATES[state])
        ]
    shown = rows[:limit] if limit else rows
    if output is Output.JSON:
        print_json(
            [partition_json(found.cluster, found.name, one.partition) | segment_json(segment) for one, segment in shown]
        )
    else:
        _print_segments(shown, now_ms())
    if len(shown) < len(rows):
        warn_of_the_rest(len(shown), len(rows), "segment", "All: the same with --limit 0")


app.command("orphans")(tiering_orphans.orphans_command)
app.command("verify")(tiering_verify.verify)
app.command("import")(tiering_import.import_command)


@dataclass(frozen=True, slots=True)
class _Counts:
    """What topics have; None: nobody looked into their partitions."""

    partitions: int = 0
    segments: int = 0
    size_bytes: int = 0
    copying: int | None = 0
    deleting: int | None = 0
    orphans: int | None = 0

    @staticmethod
    def sum(counts: Iterable[_Counts]) -> _Counts:
        """Return them together: what is not known of one is not known."""
        many = list(counts)
        amounts = {each.name: [getattr(one, each.name) for one in many] for each in fields(_Counts)}
        sums: dict[str, Any] = {name: None if None in each else sum(each) for name, each in amounts.items()}
        return _Counts(**sums)


def _counts(client: GuardianClient, topic: TieredTopic, now_ms: int, older_than_ms: int, quick: bool) -> _Counts:
    if quick:
        sizes = [(one.live_segments, one.live_bytes) for one in topic.existing]
        return _Counts(len(sizes), sum(count for count, _ in sizes), sum(size for _, size in sizes), None, None, None)
    return _Counts.sum(
        _Counts(
            1,
            len(segments),
            sum(segment.size_bytes for segment in segments),
            sum(segment.is_copying for segment in segments),
            sum(segment.is_being_deleted for segment in segments),
            len(orphans(summary.partition, segments, summary.claim, now_ms, older_than_ms)),
        )
        for summary, segments in live_segments(client, topic.existing)
    )


def _labels(topics: Sequence[TieredTopic]) -> list[str]:
    """The topics' names; of those that were made more than once with the ids that tell them apart."""
    made = Counter((topic.cluster, topic.name) for topic in topics)
    return [
        f"{topic.name} ({uuid_text(topic.topic_id)})" if made[topic.cluster, topic.name] > 1 else topic.name
        for topic in topics
    ]


def _count_cells(count: _Counts) -> tuple[str, ...]:
    looked_into = (count.copying, count.deleting, count.orphans)
    return (
        str(count.partitions),
        str(count.segments),
        human_bytes(count.size_bytes),
        *("not known" if number is None else str(number) for number in looked_into),
    )


def _topic_json(topic: TieredTopic, count: _Counts) -> dict[str, Any]:
    return {
        "cluster": topic.cluster,
        "cluster_id": topic.cluster_id,
        "topic": topic.name,
        "topic_id": uuid_text(topic.topic_id),
        "partitions": count.partitions,
        "live_segments": count.segments,
        "live_bytes": count.size_bytes,
        "copying": count.copying,
        "deleting": count.deleting,
        "orphans": count.orphans,
    }


def _partition_lines(
    summary: PartitionSummary, segments: Sequence[LiveSegment], covered: Coverage, now_ms: int
) -> Iterable[tuple[str, str]]:
    if summary.is_deleted:
        yield "State", "deleted: no more events are taken, and what was stored is swept away"
    yield "Leader", _claim_text(summary.claim, now_ms)
    yield "Events", f"{summary.first_event_id} to below {summary.next_event_id} are kept"
    yield (
        "Segments",
        ", ".join(
            [
                sized([one for one in segments if one.is_finished], "finished copy", "finished copies"),
                sized([one for one in segments if one.is_copying], "copy under way", "copies under way"),
                sized([one for one in segments if one.is_being_deleted], "deletion due", "deletions due"),
            ]
        ),
    )
    if found := orphans(summary.partition, segments, summary.claim, now_ms, _PATIENCE_MS):
        yield "Orphans", f"{sized([one.segment for one in found], 'copy', 'copies')}: see `guardian tiering orphans`"
    if covered.whole is None:
        yield "Offsets", "none can be read from remote"
    else:
        holes = f" with {counted(len(covered.holes), 'hole')}" if covered.holes else ", without holes,"
        yield "Offsets", f"{_range_text(covered.whole)}{holes} can be read from remote"
    for hole in covered.holes[:_SHOWN_HOLES]:
        yield "Hole", f"{_range_text(hole)}: {counted(hole.offsets, 'offset')} that no finished segment has"
    if len(covered.holes) > _SHOWN_HOLES:
        yield "", f"and {len(covered.holes) - _SHOWN_HOLES} more: -o json has all"
    if covered.aside:
        yield "Aside", f"{sized(covered.aside, 'segment')} that nothing is read from: superseded, or of a lost lineage"
    swept = f"{counted(summary.swept_segments, 'copy', 'copies')} that nobody finished"
    yield "Swept", f"{swept} ({human_bytes(summary.swept_bytes)})" if summary.swept_segments else "nothing so far"


def _claim_text(claim: PartitionClaim | None, now_ms: int) -> str:
    if claim is None:
        return "nobody has claimed the partition: what is written is not fenced"
    epoch = "claimed in claim order" if claim.leader_epoch is None else f"leader epoch {claim.leader_epoch}"
    ago = human_duration(now_ms - claim.claimed_at_ms)
    writer = f", writer {claim.writer}" if claim.writer else ""
    since = f"since {human_time(claim.claimed_at_ms)} ({ago} ago)"
    return f"broker {claim.broker_id}, {epoch}, token {claim.fencing_token}, {since}{writer}"


def _range_text(found: OffsetRange) -> str:
    return f"{found.first} to {found.last}"


def _partition_json(
    topic: TieredTopic, summary: PartitionSummary, segments: Sequence[LiveSegment], covered: Coverage
) -> dict[str, Any]:
    claim = summary.claim
    states = {
        state.name: {
            "segments": sum(one.state is state for one in segments),
            "bytes": sum(one.size_bytes for one in segments if one.state is state),
        }
        for state in _STATES.values()
    }
    return {
        **partition_json(topic.cluster, topic.name, summary.partition),
        "deleted": summary.is_deleted,
        "claim": None
        if claim is None
        else {
            "fencing_token": claim.fencing_token,
            "broker_id": claim.broker_id,
            "writer": claim.writer,
            "leader_epoch": claim.leader_epoch,
            "claimed_at_ms": claim.claimed_at_ms,
        },
        "first_event_id": summary.first_event_id,
        "next_event_id": summary.next_event_id,
        "live_segments": summary.live_segments,
        "live_bytes": summary.live_bytes,
        "states": states,
        "offsets": covered.whole._asdict() if covered.whole else None,
        "holes": [hole._asdict() for hole in covered.holes],
        "aside": [uuid_text(segment.id) for segment in covered.aside],
        "swept_segments": summary.swept_segments,
        "swept_bytes": summary.swept_bytes,
    }


def _print_segments(rows: Sequence[tuple[PartitionSummary, LiveSegment]], now_ms: int) -> None:
    print_table(
        ("PARTITION", "FROM", "TO", "EPOCHS", "SIZE", "STATE", "BROKER", "AGE", "SEGMENT"),
        [
            (
                str(summary.partition.partition),
                str(segment.start_offset),
                str(segment.end_offset),
                epochs_text(segment),
                human_bytes(segment.size_bytes),
                segment.state.name,
                str(segment.broker_id),
                human_duration(now_ms - segment.at_ms),
                uuid_text(segment.id),
            )
            for summary, segment in rows
        ],
        right=("PARTITION", "FROM", "TO", "SIZE", "BROKER", "AGE"),
        more=more_of([segment for _, segment in rows], "at_ms", "max_timestamp_ms", "txn_index_empty"),
    )

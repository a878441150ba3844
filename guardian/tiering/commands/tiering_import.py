"""`guardian tiering import`: the segments of Kafka's topic-based manager into Guardian's store.

    topic ─▶ rules.topic_folding ─▶ rules.importing ◀─ live segments of the store
                                         │ without --dry-run
                                         └▶ appends, a segment whole or not at all ─▶ compared again

An import appends as brokers do, under the token of a partition's last claim, or under none where nobody has claimed
it. Where somebody claims in between, the store refuses, and the import goes on under the new token. Whatever was
appended before it broke off is known to the next one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import typer

from guardian.cli.options import DryRunOption, EndpointsOption, Output, OutputOption, connect
from guardian.cli.printing import echo
from guardian.cli.render import print_json, print_table
from guardian.cli.waiting import told_if_slow
from guardian.federation.commands.registered import registered
from guardian.model.text import uuid_text
from guardian.tiering.commands.tiering_appending import Refusal, append_all
from guardian.tiering.commands.tiering_options import LimitOption, counted, partition_json, warn_of_the_rest
from guardian.tiering.commands.tiering_stored import StoredSegments
from guardian.tiering.commands.tiering_topic import TOPIC, ReadTopic, read_topic
from guardian.tiering.model import TopicIdPartition
from guardian.tiering.rules.importing import PartitionComparison
from guardian.tiering.rules.topic_folding import MetadataFold, Unreadable


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import found and did. `before` and `after` compare the same partitions, in their order; `after` is
    `before` where nothing was done."""

    cluster: str
    topic: ReadTopic
    before: tuple[PartitionComparison, ...]
    after: tuple[PartitionComparison, ...]
    refused: tuple[Refusal, ...] = ()
    is_dry_run: bool = False

    @property
    def fold(self) -> MetadataFold:
        return self.topic.fold

    @property
    def missing(self) -> int:
        """Segments that the store lacks, or has in an earlier state, after the import."""
        return sum(len(one.appends) for one in self.after)

    @property
    def differing(self) -> int:
        return sum(len(one.differing) for one in self.after)

    @property
    def is_whole(self) -> bool:
        """Return whether nothing needs a person; what a dry run would take does not."""
        lacks = bool(self.missing) and not self.is_dry_run
        return not (lacks or self.differing or self.refused or self.fold.unreadable or self.topic.lost_records)


def import_command(
    cluster: Annotated[
        str, typer.Option("--cluster", metavar="NAME", help="The registered cluster whose segments are taken over.")
    ],
    dry_run: DryRunOption = False,
    limit: LimitOption = 100,
    endpoints: EndpointsOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Take over the segments that Kafka's own manager keeps in __remote_log_metadata; exit code 1 if any can't be.

    Reads the topic to its present end, appends what Guardian lacks, and
    compares again. Repeating it takes only what differs. Copies that are
    not finished are left: their brokers may yet finish them. What can't be
    read, and segments that differ in more than their state, are named and
    left alone.

    Example: guardian tiering import --cluster live --dry-run
    """
    with connect(endpoints) as client:
        chosen = registered(client.list_clusters(), cluster)
        with told_if_slow(f"Reading {TOPIC} of cluster {chosen.name}"):
            topic = read_topic(chosen)
        stored = StoredSegments(client, chosen.cluster_id)
        before = stored.compared(topic.fold)
        done = Imported(chosen.name, topic, before, before, is_dry_run=dry_run)
        if not dry_run:
            refused = append_all(client, before, stored.tokens())
            done = replace(done, refused=refused, after=stored.compared(topic.fold))
    if output is Output.JSON:
        print_json(_as_json(done))
    else:
        _print(done, limit)
    if not done.is_whole:
        raise typer.Exit(1)


def _print(done: Imported, limit: int) -> None:
    fold = done.fold
    echo(
        f"Cluster {done.cluster}: {counted(fold.records, 'record')} of {TOPIC} tell of "
        f"{counted(sum(one.in_topic for one in done.before), 'segment')} in "
        f"{counted(len(done.before), 'partition')}"
    )
    if done.topic.lost_records:
        lost = counted(done.topic.lost_records, "record")
        echo(f"ITS BEGINNING IS LOST: {lost} of the topic's start were removed, by its retention or by a person")
    changed = [both for both in zip(done.before, done.after, strict=True) if _is_told(both[0])]
    if changed:
        _print_partitions(changed, done, limit)
    _print_unreadable(fold.unreadable, limit)
    for refusal in done.refused[: limit or None]:
        echo(f"NOT TAKEN: {_place(done, refusal.partition)}, {counted(refusal.segments, 'segment')}: {refusal.reason}")
    _print_verdict(done)


def _is_told(compared: PartitionComparison) -> bool:
    return bool(compared.appends or compared.under_way or compared.ended or compared.differing)


def _print_partitions(
    changed: Sequence[tuple[PartitionComparison, PartitionComparison]], done: Imported, limit: int
) -> None:
    changed = sorted(changed, key=lambda both: (not both[1].differing, both[1].partition))
    shown = changed[:limit] if limit else changed
    taken, advanced = ("TO TAKE", "TO CHANGE") if done.is_dry_run else ("TAKEN", "CHANGED")
    numbers = ("IN TOPIC", taken, advanced, "THERE", "ENDED", "UNDER WAY", "DIFFER")
    wide = ("ONLY IN GUARDIAN", "TOPIC ID")
    print_table(
        ("PARTITION", *numbers, *wide),
        [
            (
                _place(done, before.partition),
                *map(str, (*_counts(before, after, done), after.own)),
                uuid_text(before.partition.topic_id),
            )
            for before, after in shown
        ],
        right=(*numbers, "ONLY IN GUARDIAN"),
        wide=wide,
    )
    warn_of_the_rest(len(shown), len(changed), "partition", "More: --limit, or -o json")
    for _, after in shown:
        for one in after.differing:
            facts = ", ".join(one.facts)
            echo(f"DIFFERS: segment {uuid_text(one.segment_id)} of {_place(done, after.partition)} in its {facts}")


def _counts(before: PartitionComparison, after: PartitionComparison, done: Imported) -> tuple[int, ...]:
    """Return the counts in the order of the table's columns; what was not taken after all counts as not taken."""
    left = (0, 0) if done.is_dry_run else (len(after.take), len(after.advance))
    return (
        before.in_topic,
        len(before.take) - left[0],
        len(before.advance) - left[1],
        before.there,
        before.ended,
        before.under_way,
        len(after.differing),
    )


def _print_unreadable(unreadable: Sequence[Unreadable], limit: int) -> None:
    if not unreadable:
        return
    echo()
    echo(f"CAN'T BE READ: {counted(len(unreadable), 'record')}")
    shown = unreadable[:limit] if limit else unreadable
    print_table(
        ("PARTITION OF THE TOPIC", "OFFSET", "WHY"),
        [(str(one.place.partition), str(one.place.offset), one.reason) for one in shown],
        right=("PARTITION OF THE TOPIC", "OFFSET"),
    )
    warn_of_the_rest(len(shown), len(unreadable), "record", "More: --limit, or -o json")


def _print_verdict(done: Imported) -> None:
    left = sum(one.under_way for one in done.after)
    if left:
        echo(f"Left: {counted(left, 'copy', 'copies')} under way; import again when they are finished")
    own = sum(one.own for one in done.after)
    if own:
        echo(f"Only in Guardian: {counted(own, 'segment')}, copied by brokers with Guardian's manager")
    if done.is_dry_run:
        echo(f"{counted(done.missing, 'segment')} would be taken or changed. Nothing was changed.")
    elif done.missing:
        echo(f"GUARDIAN LACKS {counted(done.missing, 'segment')} or has an earlier state: import again")
    else:
        echo("Compared again: Guardian has every other segment that the topic has.")


def _place(done: Imported, partition: TopicIdPartition) -> str:
    return f"{_name(done, partition)}-{partition.partition}"


def _name(done: Imported, partition: TopicIdPartition) -> str:
    return done.fold.topics.get(partition.topic_id) or uuid_text(partition.topic_id)


def _as_json(done: Imported) -> dict[str, Any]:
    return {
        "cluster": done.cluster,
        "dry_run": done.is_dry_run,
        "is_whole": done.is_whole,
        "records": done.fold.records,
        "lost_records": done.topic.lost_records,
        "passed_over": done.fold.passed_over,
        "missing": done.missing,
        "partitions": [
            _partition_json(done, before, after) for before, after in zip(done.before, done.after, strict=True)
        ],
        "unreadable": [
            {"partition": one.place.partition, "offset": one.place.offset, "reason": one.reason}
            for one in done.fold.unreadable
        ],
        "refused": [
            {
                **partition_json(done.cluster, _name(done, one.partition), one.partition),
                "segments": one.segments,
                "reason": one.reason,
            }
            for one in done.refused
        ],
    }


def _partition_json(done: Imported, before: PartitionComparison, after: PartitionComparison) -> dict[str, Any]:
    names = ("in_topic", "taken", "changed", "there", "ended", "under_way")
    return {
        **partition_json(done.cluster, _name(done, before.partition), before.partition),
        **dict(zip(names, _counts(before, after, done), strict=False)),
        "own": after.own,
        "missing": len(after.appends),
        "differing": [{"segment_id": uuid_text(one.segment_id), "facts": list(one.facts)} for one in after.differing],
    }

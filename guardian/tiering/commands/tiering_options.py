"""What the commands of `guardian tiering` have in common: options, and how segments and sums are said."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from guardian.cli.exits import UNKNOWN
from guardian.cli.printing import echo
from guardian.model.text import uuid_text
from guardian.model.units import human_bytes
from guardian.tiering.model import LiveSegment, TopicIdPartition

TieredClusterOption = Annotated[
    str, typer.Option("--cluster", metavar="NAME-OR-ID", help="Only this cluster's: its name, or Kafka's cluster.id.")
]
OlderThanOption = Annotated[
    str, typer.Option("--older-than", help="A copy or deletion that takes longer than this, such as 1h, is suspect.")
]
REMOTE = typer.Option(
    "--remote",
    help="Where the cluster's segments lie: hdfs://host:port/dir (rsm.config.hdfs.uri), or file:///dir of "
    "Kafka's LocalTieredStorage.",
)
ClasspathOption = Annotated[
    str,
    typer.Option(
        "--classpath",
        envvar="GUARDIAN_HDFS_CLASSPATH",
        help="For hdfs://: the plugin's jar, Hadoop's client jars and configuration folder, with colons between.",
    ),
]
BrokerConfigOption = Annotated[
    Path | None,
    typer.Option("--broker-config", help="For hdfs://: a server.properties, for its rsm.config.* (as of Kerberos)."),
]
LimitOption = Annotated[int, typer.Option("--limit", min=0, help="How many rows at most; 0: all.")]


def require_told(topics: Sequence[object]) -> None:
    """End the command with exit code 4 where no broker has told of any topic: that is no zero."""
    if not topics:
        echo(
            "Not known: no broker has told of a tiered segment here; where brokers tier, their plugin keeps that "
            "elsewhere.",
            err=True,
        )
        raise typer.Exit(UNKNOWN)


def counted(count: int, one: str, many: str = "") -> str:
    """1 segment, 2 segments; `many` where it is not made with an s."""
    return f"1 {one}" if count == 1 else f"{count} {many or one + 's'}"


def sized(segments: Iterable[LiveSegment], one: str, many: str = "") -> str:
    """3 segments (1.2 GB)"""
    sizes = [segment.size_bytes for segment in segments]
    return f"{counted(len(sizes), one, many)} ({human_bytes(sum(sizes))})" if sizes else f"no {one}"


def epochs_text(segment: LiveSegment) -> str:
    """3, or 3-9 of a segment with many leader epochs."""
    epochs = sorted(segment.leader_epochs)
    if len(epochs) > 3:
        return f"{epochs[0]}-{epochs[-1]}"
    return ",".join(map(str, epochs)) or "-"


def warn_of_the_rest(shown: int, total: int, noun: str, more: str) -> None:
    """Warn on stderr that there is more than was shown, so that whoever reads a part knows it."""
    if shown < total:
        echo(f"{shown} of {counted(total, noun)} shown. {more}", err=True)


def partition_json(cluster: str, topic: str, partition: TopicIdPartition) -> dict[str, Any]:
    return {
        "cluster": cluster,
        "cluster_id": partition.cluster_id,
        "topic": topic,
        "topic_id": uuid_text(partition.topic_id),
        "partition": partition.partition,
    }


def segment_json(segment: LiveSegment) -> dict[str, Any]:
    return {
        "segment_id": uuid_text(segment.id),
        "state": segment.state.name,
        "start_offset": segment.start_offset,
        "end_offset": segment.end_offset,
        "leader_epochs": {str(epoch): offset for epoch, offset in sorted(segment.leader_epochs.items())},
        "size_bytes": segment.size_bytes,
        "broker_id": segment.broker_id,
        "state_at_ms": segment.at_ms,
        "max_timestamp_ms": segment.max_timestamp_ms,
    }

"""Appends what an import found missing: in bounded requests, each segment whole or not at all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from guardian.cli.waiting import Progress
from guardian.client import GuardianClient
from guardian.tiering.model import TopicIdPartition
from guardian.tiering.rules.importing import PartitionComparison, SegmentAppend
from guardian.tiering.wire import change_to_proto, live_segment_to_proto, partition_to_proto
from protos.guardian.v1 import tiering_pb2

_SEGMENTS = 500  # in one request
_BYTES = 512 << 10
_ROUNDS = 5  # in which others may claim a partition

_Work = tuple[TopicIdPartition, SegmentAppend]


@dataclass(frozen=True, slots=True)
class Refusal:
    """So many segments of a partition were not taken, and why."""

    partition: TopicIdPartition
    segments: int
    reason: str


def append_all(
    client: GuardianClient, compared: Iterable[PartitionComparison], tokens: dict[TopicIdPartition, int]
) -> tuple[Refusal, ...]:
    """Appends what the partitions lack, each under its token, 0 where there is none; returns what the store refuses.

    A partition that was claimed since is tried again under the new token.
    """
    todo = [(one.partition, append) for one in compared for append in one.appends]
    progress = Progress("Imported {done} of {total} segments", len(todo))
    refused: Counter[tuple[TopicIdPartition, str]] = Counter()
    tokens, done = dict(tokens), 0
    for attempt in range(1, _ROUNDS + 1):
        again: list[_Work] = []
        for batch in _batches(todo, tokens):
            parts = [part for _, part in batch]
            for (work, _), result in zip(batch, client.append_segment_events(parts), strict=True):
                done += 1
                if result.error_kind == tiering_pb2.FENCED_LEADER_EPOCH and attempt < _ROUNDS:
                    tokens[work[0]] = result.fencing_token
                    again.append(work)
                    done -= 1
                elif result.error:
                    refused[work[0], result.error] += 1
            progress.at(done)
        todo = again
    return tuple(Refusal(partition, count, reason) for (partition, reason), count in sorted(refused.items()))


def _batches(
    todo: Sequence[_Work], tokens: dict[TopicIdPartition, int]
) -> Iterator[list[tuple[_Work, tiering_pb2.PartitionEvents]]]:
    """A part for each segment, since the store takes a part whole or not at all."""
    batch: list[tuple[_Work, tiering_pb2.PartitionEvents]] = []
    size = 0
    for work in todo:
        part = _part(*work, tokens.get(work[0], 0))
        if batch and (len(batch) == _SEGMENTS or size + part.ByteSize() > _BYTES):
            yield batch
            batch, size = [], 0
        batch.append((work, part))
        size += part.ByteSize()
    if batch:
        yield batch


def _part(partition: TopicIdPartition, append: SegmentAppend, token: int) -> tiering_pb2.PartitionEvents:
    first = [live_segment_to_proto(append.first)] if append.first is not None else []
    later = [change_to_proto(append.segment_id, change) for change in append.changes]
    return tiering_pb2.PartitionEvents(
        partition=partition_to_proto(partition), events=[*first, *later], fencing_token=token
    )

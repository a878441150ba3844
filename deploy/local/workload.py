"""Real, uneven traffic whose every record can be accounted for.

Each record begins with its partition's sequence number, counted from 0. Only this process writes to these partitions,
so sequence == offset holds for every record: a lost record, a duplicate or two in the wrong order all break it.

    prepare(...)   creates the topics, placed unevenly over brokers and log dirs
    python -m deploy.local.workload PLAN.json    writes and reads until SIGTERM, then flushes; counts go to a file
    verify(...)    reads everything back
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from deploy.local.progress import say
from deploy.local.state import from_state, to_state
from deploy.local.traffic import PartitionTraffic
from guardian.errors import ClusterUnavailable, Conflict, GuardianError, InvalidInput
from guardian.kafka import data
from guardian.kafka.control import KafkaControl
from guardian.model.topology import Cluster, TopicPartition

RECORD_BYTES = 4096
SEQUENCE_BYTES = 8
READERS = "guardian-local-readers"
# A cluster that runs for days must not fill the laptop: about 6 GB at most, and the demo stays below it.
TOPIC_CONFIG = {"retention.bytes": str(64 << 20), "segment.bytes": str(16 << 20)}

_TICK_S = 0.05
_SAVE_S = 1.0
_FLUSH_S = 25.0
_MOVE_DEADLINE_S = 60.0
_READ_PATIENCE_S = 60.0


@dataclass(frozen=True, slots=True)
class Gap:
    """A reader of a partition was at offset `expected`, and the next record that it got is at `found`."""

    partition: TopicPartition
    expected: int
    found: int


@dataclass(frozen=True, slots=True)
class WorkloadPlan:
    """What a workload process is told: the cluster, its traffic, and where the counts go."""

    cluster: Cluster
    traffic: tuple[PartitionTraffic, ...]
    counts: Path
    seed: int = 0

    @property
    def topics(self) -> tuple[str, ...]:
        return tuple(sorted({part.partition.topic for part in self.traffic}))

    def write(self, path: Path) -> None:
        _write_whole(path, to_state(self))

    @staticmethod
    def read(path: Path) -> WorkloadPlan:
        """Raises InvalidInput when the file is not one that `write` made."""
        try:
            return from_state(WorkloadPlan, json.loads(path.read_text()))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InvalidInput(f"workload plan {path} can't be read ({error}): start it anew with `up`") from None


@dataclass(frozen=True, slots=True)
class VerifyResult:
    """What reading everything back found. `expired` records were deleted by retention before they could be read."""

    partitions: int
    records: int
    expired: int
    violations: tuple[str, ...] = field(default=())

    @property
    def ok(self) -> bool:
        return not self.violations


def prepare(cluster: Cluster, traffic: Sequence[PartitionTraffic], first_log_dirs: Mapping[int, str]) -> None:
    """Creates the topics that are missing, and moves what is to be hot to the brokers' first log dirs while empty.

    Raises ClusterUnavailable when the cluster does not show it in time.
    """
    wanted = {part.partition for part in traffic}
    with closing(KafkaControl(cluster, _MOVE_DEADLINE_S)) as control:
        existing = {partition.topic for partition in control.describe_partitions({name.topic for name in wanted})}
        new = [part for part in traffic if part.partition.topic not in existing]
        if not new:
            return
        assignments: dict[str, dict[int, tuple[int, ...]]] = defaultdict(dict)
        for part in new:
            assignments[part.partition.topic][part.partition.partition] = part.replicas
        data.create_topics(cluster, assignments, TOPIC_CONFIG)
        move_to_log_dirs(
            control,
            {
                (part.partition, broker): first_log_dirs[broker]
                for part in new
                if part.first_log_dir
                for broker in part.replicas
            },
        )


def move_to_log_dirs(control: KafkaControl, targets: Mapping[tuple[TopicPartition, int], str]) -> None:
    """Moves replicas (partition, broker) to log dirs and waits for it; a replica not made yet is asked again."""
    deadline = time.monotonic() + _MOVE_DEADLINE_S
    left = dict(targets)
    while left:
        refused = control.alter_replica_log_dirs(left)
        found = control.describe_log_dirs({broker for _, broker in left})
        there = {
            (partition, log_dir.broker): log_dir.path
            for log_dir in found
            for partition in log_dir.replicas
            if (partition, log_dir.broker) in left
        }
        left = {replica: path for replica, path in left.items() if there.get(replica) != path}
        if left and time.monotonic() > deadline:
            (partition, broker), path = next(iter(left.items()))
            reason = refused.get((partition, broker), "the copy did not end")
            raise ClusterUnavailable(f"{partition} did not move to {path} on broker {broker}: {reason}")
        if left:
            time.sleep(0.1)


def read_counts(path: Path) -> dict[TopicPartition, int]:
    """Acknowledged records per partition, since the topic was created. Raises InvalidInput when there are none yet."""
    try:
        counts = json.loads(path.read_text())["counts"]
    except (OSError, ValueError, KeyError) as error:
        raise InvalidInput(f"counts {path} can't be read ({error}): start the workload, or wait a second") from None
    return {
        TopicPartition(topic, int(number)): count
        for topic, numbers in counts.items()
        for number, count in numbers.items()
    }


def verify(cluster: Cluster, counts: Mapping[TopicPartition, int]) -> VerifyResult:
    """Reads every partition back; its workload must have stopped.

    Holds when each record's sequence is its offset, and each partition ends at its count. Raises ClusterUnavailable
    when the cluster does not hand over what it says it has.
    """
    topics = sorted({partition.topic for partition in counts})
    if not topics:
        return VerifyResult(0, 0, 0)
    starts, ends = data.start_offsets(cluster, topics), data.end_offsets(cluster, topics)
    violations = [
        f"{partition} ends at offset {ends.get(partition, 'none')}, yet {count} records were acknowledged"
        for partition, count in sorted(counts.items())
        if ends.get(partition) != count
    ]
    read, gaps, broken = _read_back(cluster, starts, ends)
    taken, lost = judge_gaps(gaps, data.start_offsets(cluster, topics))
    return VerifyResult(len(ends), read, sum(starts.values()) + taken, (*violations, *lost, *broken))


def judge_gaps(gaps: Iterable[Gap], starts: Mapping[TopicPartition, int]) -> tuple[int, list[str]]:
    """Return how many records retention took before they were read, and what is lost; `starts` are those after the
    reading.
    """
    taken, lost = 0, []
    for gap in gaps:
        if gap.expected < gap.found <= starts[gap.partition]:
            taken += gap.found - gap.expected
        else:
            lost.append(f"{gap.partition} went from offset {gap.expected - 1} to {gap.found}")
    return taken, lost


def _read_back(
    cluster: Cluster, starts: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int]
) -> tuple[int, list[Gap], list[str]]:
    position = dict(starts)
    unread = {partition for partition in ends if position[partition] < ends[partition]}
    gaps: list[Gap] = []
    violations: list[str] = []
    read = 0
    settings: dict[str, str | int | bool] = {"auto_offset_reset": "earliest", "enable_auto_commit": False}
    with closing(data.consumer(cluster, f"guardian-local-verify-{os.getpid()}-{time.time_ns()}", **settings)) as reader:
        reader.subscribe(sorted({partition.topic for partition in ends}))
        patience = time.monotonic() + _READ_PATIENCE_S
        while unread:
            messages = [message for message in reader.consume(1000, timeout=1.0) if message.error() is None]
            if messages:
                patience = time.monotonic() + _READ_PATIENCE_S
            elif time.monotonic() > patience:
                partition = min(unread)
                raise ClusterUnavailable(
                    f"{partition} of cluster {cluster.name} handed over records up to offset {position[partition]} "
                    f"of {ends[partition]}, then none for {_READ_PATIENCE_S:g} s: look at its leader"
                )
            for message in messages:
                partition, offset = _place(message)
                if partition not in unread:
                    continue
                read += 1
                if offset != position[partition]:
                    gaps.append(Gap(partition, position[partition], offset))
                violations.extend(_misplaced(partition, offset, message.value()))
                position[partition] = offset + 1
                if position[partition] >= ends[partition]:
                    unread.discard(partition)
    return read, gaps, violations


def _misplaced(partition: TopicPartition, offset: int, value: bytes | None) -> list[str]:
    sequence = sequence_of(value)
    return [] if sequence == offset else [f"{partition} holds sequence {sequence} at offset {offset}"]


def sequence_of(value: bytes | None) -> int:
    """A record's sequence number; -1 for a value that the workload did not write."""
    return int.from_bytes(value[:SEQUENCE_BYTES], "big") if value and len(value) >= SEQUENCE_BYTES else -1


class Workload:
    """The writing and reading of one process. `run` returns when `stop` is called."""

    def __init__(self, plan: WorkloadPlan) -> None:
        self._plan = plan
        self._stop = threading.Event()
        self._pool = random.Random(plan.seed).randbytes(1 << 20)
        self._producer = data.producer(
            plan.cluster,
            acks="all",
            enable_idempotence=True,
            linger_ms=100,
            # Never give a record up: its sequence number is used, and a gap would look like a loss.
            message_timeout_ms=0,
            queue_buffering_max_kbytes=32 * 1024,
        )
        self._sent: dict[TopicPartition, int] = {}
        self._acknowledged: dict[TopicPartition, int] = {}
        self._violations: list[str] = []
        self._read = 0

    def stop(self) -> None:
        """Ends `run` in an orderly way; before the first record there is nothing to put in order (SystemExit)."""
        self._stop.set()
        if not self._sent:
            sys.exit(0)

    def run(self) -> bool:
        """Writes and reads until stopped; True when all that was sent is acknowledged, in order, as sent.

        Raises Conflict when the cluster holds less than was acknowledged before.
        """
        self._sent = self._resume()
        self._acknowledged = dict(self._sent)
        readers = threading.Thread(target=self._read_part, name="readers", daemon=True)
        readers.start()
        self._write()
        left = self._producer.flush(_FLUSH_S)
        readers.join()
        self._save()
        for violation in self._violations:
            say(f"workload: {violation}")
        if left:
            say(f"workload: {left} records were not acknowledged within {_FLUSH_S:g} s")
        return not left and not self._violations

    def _resume(self) -> dict[TopicPartition, int]:
        """Goes on where the partitions end: a record in doubt when an earlier process died counts if it is there."""
        ends = data.end_offsets(self._plan.cluster, self._plan.topics)
        before = read_counts(self._plan.counts) if self._plan.counts.exists() else {}
        for partition, count in sorted(before.items()):
            if ends.get(partition, 0) < count:
                raise Conflict(
                    f"{partition} of cluster {self._plan.cluster.name} ends at offset {ends.get(partition, 0)}, yet "
                    f"{count} records were acknowledged: data is lost, `wipe` to start anew"
                )
        return {part.partition: ends[part.partition] for part in self._plan.traffic}

    def _write(self) -> None:
        credit = {part.partition: 0.0 for part in self._plan.traffic}
        last = saved = time.monotonic()
        while not self._stop.wait(_TICK_S) and not self._violations:
            now = time.monotonic()
            # After a pause of this machine the rate goes on; it does not catch up.
            elapsed, last = min(now - last, 1.0), now
            for part in self._plan.traffic:
                due = credit[part.partition] + part.rate * elapsed
                while due >= RECORD_BYTES and self._send(part.partition):
                    due -= RECORD_BYTES
                credit[part.partition] = min(due, part.rate + RECORD_BYTES)
            self._producer.poll(0)
            if now - saved >= _SAVE_S:
                saved = now
                self._save()

    def _send(self, partition: TopicPartition) -> bool:
        """False when the queue is full, as when the cluster is down: the number is used by a later record."""
        sequence = self._sent[partition]
        start = sequence * 997 % (len(self._pool) - RECORD_BYTES)
        value = sequence.to_bytes(SEQUENCE_BYTES, "big") + self._pool[start : start + RECORD_BYTES - SEQUENCE_BYTES]
        try:
            self._producer.produce(
                partition.topic, value=value, partition=partition.partition, on_delivery=self._delivered
            )
        except BufferError:
            return False
        self._sent[partition] = sequence + 1
        return True

    def _delivered(self, error: data.KafkaError | None, message: data.Message) -> None:
        partition, offset = _place(message)
        if error is not None:
            self._violations.append(f"{partition} refused a record: {error.str()}")
        elif offset != self._acknowledged[partition]:
            self._violations.append(
                f"{partition} acknowledged offset {offset} for sequence {self._acknowledged[partition]}"
            )
        else:
            self._acknowledged[partition] = offset + 1

    def _read_part(self) -> None:
        """Reads all topics but the last: some partitions are only written, as in real clusters."""
        topics = list(self._plan.topics[: max(1, len(self._plan.topics) - 1)])
        with closing(data.consumer(self._plan.cluster, READERS, auto_offset_reset="latest")) as reader:
            reader.subscribe(topics)
            while not self._stop.is_set() and not self._violations:
                for message in reader.consume(500, timeout=0.2):
                    if message.error() is None:
                        self._read += 1
                        partition, offset = _place(message)
                        self._violations.extend(_misplaced(partition, offset, message.value()))

    def _save(self) -> None:
        counts: dict[str, dict[str, int]] = defaultdict(dict)
        for partition, count in sorted(self._acknowledged.items()):
            counts[partition.topic][str(partition.partition)] = count
        _write_whole(
            self._plan.counts,
            {"cluster": self._plan.cluster.name, "counts": counts, "read": self._read, "violations": self._violations},
        )


def _place(message: data.Message) -> tuple[TopicPartition, int]:
    topic, number, offset = message.topic(), message.partition(), message.offset()
    if topic is None or number is None or offset is None:
        raise InvalidInput("a message has no topic, partition or offset: it is an event, not a record")
    return TopicPartition(topic, number), offset


def _write_whole(path: Path, state: Mapping[str, Any]) -> None:
    """A reader sees the old file or the new one, never half of one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.write_text(json.dumps(state))
    draft.replace(path)


def main(arguments: Collection[str]) -> int:
    if len(arguments) != 1:
        raise InvalidInput(
            "arguments of the workload: give the path of one plan file, as `guardian local up` writes it"
        )
    workload = Workload(WorkloadPlan.read(Path(next(iter(arguments)))))
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: workload.stop())
    return 0 if workload.run() else 1


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except GuardianError as error:
        say(f"Error: {error}")
        sys.exit(2)

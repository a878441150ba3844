"""What the leader does from time to time so that nothing grows for ever: it looks, decides, and proposes.

    sessions that nobody uses      ExpireSessions, at each tick: it is what moves the sessions' clock on
    audit records that are old     TrimAudit
    what deleted partitions leave  SweepPartitions
    events beyond what is kept     TrimSegmentEvents, of one partition at a time

Each command does a bounded part of the work; a look that finds more of it proposes again. Looks read this member's own
state: what is proposed twice, or late, does no harm.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from guardian.config import LimitsConfig
from guardian.errors import Conflict, InvalidInput, NotFound
from guardian.server.store import ReplicatedStore
from metastore import keys
from metastore import segment_keys as sk
from metastore.store import ReadView
from metastore.tables.partition_heads import head_from_bytes
from metastore.views import Views
from protos.guardian.v1 import records_pb2, tiering_pb2

MAX_COMMANDS = 20  # of one tick
SLACK = 0.1  # events beyond what is kept, as a share of it, before a partition is trimmed
_HEADS_PER_TICK = 10_000
_SWEEP_KEYS = 5_000
_TRIM_RECORDS = 5_000
_DAY_MS = 86_400_000
_PARTITION = struct.Struct(">I")


@dataclass(frozen=True, slots=True)
class PartitionSize:
    """A partition, its first event that is kept and the id that its next event gets."""

    partition: tiering_pb2.TopicIdPartition
    first_event_id: int
    next_event_id: int


@dataclass(frozen=True, slots=True)
class Findings:
    """What a look finds."""

    sessions: int = 0
    has_old_audit: bool = False
    has_deleted_partitions: bool = False
    partitions: Sequence[PartitionSize] = ()


def decide(limits: LimitsConfig, found: Findings) -> list[records_pb2.Command]:
    """What to propose, most of it nothing. Pure."""
    commands: list[records_pb2.Command] = []
    if found.sessions:
        idle_ms = int(limits.session_idle_s * 1000)
        expire = records_pb2.ExpireSessions(idle_ms=idle_ms, max_sessions=limits.sessions)
        commands.append(records_pb2.Command(expire_sessions=expire))
    if found.has_old_audit:
        trim = records_pb2.TrimAudit(keep_ms=audit_kept_ms(limits), max_records=_TRIM_RECORDS)
        commands.append(records_pb2.Command(trim_audit=trim))
    if found.has_deleted_partitions:
        sweep = records_pb2.SweepPartitions(max_keys=_SWEEP_KEYS)
        commands.append(records_pb2.Command(sweep_partitions=sweep))
    kept = limits.events_per_partition
    for size in found.partitions:
        if size.next_event_id - size.first_event_id > kept * (1 + SLACK):
            below = records_pb2.TrimSegmentEvents(partition=size.partition, below_event_id=size.next_event_id - kept)
            commands.append(records_pb2.Command(trim_segment_events=below))
    return commands


def audit_kept_ms(limits: LimitsConfig) -> int:
    return int(limits.audit_days * _DAY_MS)


class Housekeeper:
    """One thread calls `tick`, on the leader."""

    def __init__(self, store: ReplicatedStore, limits: LimitsConfig) -> None:
        self._store = store
        self._limits = limits
        self._cursor = b""  # where the next look at partitions begins

    def tick(self) -> list[str]:
        """Proposes what is due; a sentence for each kind that removed something. Raises errors of guardian.errors."""
        removed: Counter[str] = Counter()
        refused: dict[str, None] = {}  # one that can't be carried out must not keep the others from it
        left = MAX_COMMANDS
        commands = self._due()
        while commands and left > 0:
            swept: Counter[str] = Counter()
            for command in commands[:left]:
                try:
                    swept[_kind(command)] += self._store.propose(command).swept
                except (InvalidInput, NotFound, Conflict) as error:
                    refused[f"housekeeping: {_kind(command)} was refused: {error}"] = None
            removed += swept
            left -= len(commands)
            commands = [command for command in self._due() if swept[_kind(command)]]
        done = [f"housekeeping: {kind} removed {count}" for kind, count in sorted(removed.items())]
        return [*done, *refused]

    def _due(self) -> list[records_pb2.Command]:
        return decide(self._limits, self._look(self._store.read_local()))

    def _look(self, views: Views) -> Findings:
        horizon_ms = max(0, views.clock_ms - audit_kept_ms(self._limits))
        return Findings(
            sessions=views.sessions(),
            has_old_audit=bool(horizon_ms and views.audit_page(0, horizon_ms, "", b"", 1)[0]),
            has_deleted_partitions=bool(views.snapshot.scan(sk.DELETED, limit=1)),
            partitions=self._next_partitions(views.snapshot),
        )

    def _next_partitions(self, view: ReadView) -> list[PartitionSize]:
        """A portion of all partitions, going round."""
        rows = view.scan(sk.HEAD, self._cursor, _HEADS_PER_TICK)
        self._cursor = rows[-1][0] + b"\x00" if len(rows) == _HEADS_PER_TICK else b""
        sizes = []
        for key, value in rows:
            head = head_from_bytes(value)
            if not head.is_deleted:
                sizes.append(PartitionSize(_partition_of(key), head.first_event_id, head.next_event_id))
        return sizes


def _kind(command: records_pb2.Command) -> str:
    return command.WhichOneof("command") or ""


def _partition_of(key: bytes) -> tiering_pb2.TopicIdPartition:
    """The inverse of segment_keys.head."""
    cluster_id, start = keys.read_text(key, len(sk.HEAD))
    end = start + keys.UUID_BYTES
    return tiering_pb2.TopicIdPartition(
        cluster_id=cluster_id, topic_id=key[start:end], partition=_PARTITION.unpack_from(key, end)[0]
    )

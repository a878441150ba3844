"""What the leader does from time to time so that nothing grows for ever: it looks, decides, and proposes.

    sessions that nobody uses      ExpireSessions, at each tick: it is what moves the sessions' clock on
    audit records that are old     TrimAudit
    tickets that ended long ago    TrimTickets, written to a file first where one is configured
    plans that no ticket has       TrimTickets
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
from itertools import islice

from guardian.config import LimitsConfig
from guardian.errors import Conflict, InvalidInput, NotFound
from guardian.replication.store.store import ReplicatedStore
from guardian.tickets.store import append_lines, exported_ticket
from metastore import keys
from metastore import segment_keys as sk
from metastore.store import ReadView
from metastore.tables import plans, ticket_order, ticket_retention
from metastore.tables.partition_heads import head_from_bytes
from metastore.views import Views
from protos.guardian.v1 import records_pb2, tickets_pb2, tiering_pb2

MAX_COMMANDS = 20  # of one tick
SLACK = 0.1  # events beyond what is kept, as a share of it, before a partition is trimmed
_HEADS_PER_TICK = 10_000
_TICKETS_PER_TICK = 1_000
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
    tickets: Sequence[str] = ()
    plans: Sequence[str] = ()
    partitions: Sequence[PartitionSize] = ()


def decide(limits: LimitsConfig, found: Findings) -> list[records_pb2.Command]:
    """Decide what to propose, most of the time nothing. Pure."""
    commands: list[records_pb2.Command] = []
    if found.sessions:
        idle_ms = int(limits.session_idle_s * 1000)
        expire = records_pb2.ExpireSessions(idle_ms=idle_ms, max_sessions=limits.sessions)
        commands.append(records_pb2.Command(expire_sessions=expire))
    if found.has_old_audit:
        trim = records_pb2.TrimAudit(keep_ms=audit_kept_ms(limits), max_records=_TRIM_RECORDS)
        commands.append(records_pb2.Command(trim_audit=trim))
    if found.tickets or found.plans:
        old = records_pb2.TrimTickets(keep_ms=ticket_kept_ms(limits), ticket_ids=found.tickets, plan_hashes=found.plans)
        commands.append(records_pb2.Command(trim_tickets=old))
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


def ticket_kept_ms(limits: LimitsConfig) -> int:
    return int(limits.ticket_days * _DAY_MS)


class Housekeeper:
    """One thread calls `tick`, on the leader."""

    def __init__(self, store: ReplicatedStore, limits: LimitsConfig) -> None:
        self._store = store
        self._limits = limits
        self._rounds = dict.fromkeys((sk.HEAD, keys.Table.PLAN.prefix), b"")
        self._last_ticket = b""  # of this round through those that are old

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
                    self._export(command.trim_tickets.ticket_ids)
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
        old_tickets, unused_plans = self._old_tickets(views)
        return Findings(
            sessions=views.sessions(),
            has_old_audit=bool(horizon_ms and views.audit_page(0, horizon_ms, "", b"", 1)[0]),
            has_deleted_partitions=bool(views.snapshot.scan(sk.DELETED, limit=1)),
            tickets=old_tickets,
            plans=unused_plans,
            partitions=self._next_partitions(views.snapshot),
        )

    def _old_tickets(self, views: Views) -> tuple[list[str], list[str]]:
        """Return ids of tickets and hashes of plans that may go, of a portion of all."""
        view, before_ms = views.snapshot, self._before_ms(views)
        ended, self._last_ticket = ticket_order.ended_before(view, before_ms, self._last_ticket, _TICKETS_PER_TICK)
        values = view.get_many([keys.ticket(each) for each in ended])
        tickets = (tickets_pb2.Ticket.FromString(value) for value in values if value is not None)
        old = (ticket.id for ticket in tickets if ticket_retention.may_go(view, ticket, before_ms))
        hashes = (keys.plan_of(key) for key, _ in self._next(view, keys.Table.PLAN.prefix, _TICKETS_PER_TICK))
        unused = (plan_hash for plan_hash in hashes if plans.may_go(view, plan_hash, before_ms))
        most = ticket_retention.MAX_NAMED
        return list(islice(old, most)), list(islice(unused, most))

    def _before_ms(self, views: Views) -> int:
        return views.clock_ms - ticket_kept_ms(self._limits)

    def _export(self, ticket_ids: Sequence[str]) -> None:
        """Append the tickets that the command removes to the file of the configuration, if any. Raises InvalidInput
        when that fails."""
        path = self._limits.ticket_export
        if not ticket_ids or path is None:
            return
        views = self._store.read_local()
        going = ticket_retention.selected(views.snapshot, ticket_ids, self._before_ms(views))
        try:
            append_lines(path, (exported_ticket(views.snapshot, ticket) for ticket, _ in going))
        except OSError as error:
            raise InvalidInput(
                f"limits.ticket_export {path} can't be appended to ({error.strerror}): "
                "no ticket is removed until it can"
            ) from None

    def _next(self, view: ReadView, prefix: bytes, limit: int) -> list[tuple[bytes, bytes]]:
        """Return a portion of a table's rows, going round."""
        rows = view.scan(prefix, self._rounds[prefix], limit)
        self._rounds[prefix] = rows[-1][0] + b"\x00" if len(rows) == limit else b""
        return rows

    def _next_partitions(self, view: ReadView) -> list[PartitionSize]:
        """Return a portion of all partitions, going round."""
        sizes = []
        for key, value in self._next(view, sk.HEAD, _HEADS_PER_TICK):
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

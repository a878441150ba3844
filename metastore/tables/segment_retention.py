"""What is forgotten of segment events, a bounded portion per command.

trim    whole groups of events below an id go; who asks for one of them is told to take the live segments instead.
        What they say of segments that live on is folded into the base (table LIVE_SEGMENT), and how far those went
        that are being deleted into gone_offsets. With the event that
        ended a segment goes its record, so a repetition of its events is known as one only that long. Afterwards its
        COPY_SEGMENT_STARTED would count as a new segment's. In a session a repetition gets the answer that was kept and
        does not come here; outside of one, or once its session is forgotten, it would have to come after the segment's
        whole life and after as many later events of the partition as are kept (thousands), from a writer that still
        has the partition's token: clients give an append up within seconds.
delete  the partitions take no more events; they are put on the sweeper's list
sweep   removes what is stored of the partitions on the list. The head stays (about 100 bytes with its key, for each
        partition that was ever deleted): a late writer must be refused.
"""

from __future__ import annotations

from collections.abc import Iterable

from google.protobuf.message import DecodeError

from guardian.errors import Conflict, InvalidInput, NotFound
from metastore import keys
from metastore import segment_keys as sk
from metastore.records import Record
from metastore.store import ReadView
from metastore.tables import event_groups, gone_offsets
from metastore.tables.event_groups import Group
from metastore.tables.partition_heads import Head, partition_from_proto, stored_head, topic_fault
from metastore.tables.proposal import Decision, Proposal
from metastore.tables.segment_records import DELETING, GONE, STARTED, change
from protos.guardian.v1 import records_pb2, tiering_pb2
from protos.guardian.v1.raw_pb2 import PlainSegmentEvent

MAX_DELETED_PARTITIONS = 10_000  # in one command
MAX_TRIMMED = 10_000  # events in one command, but at least a group
MAX_SWEPT = 10_000  # in one command

_Outcome = Decision


def trim(command: records_pb2.TrimSegmentEvents, view: ReadView, _proposal: Proposal) -> _Outcome:
    """Forgets about MAX_TRIMMED events at a time and says how many (`swept`): repeat until it is 0."""
    name = partition_from_proto(command.partition)
    partition = sk.partition(name)
    head = stored_head(view, partition)
    if head is None:
        raise NotFound(f"partition {name.partition} of topic {name.topic_id.hex()} has no events")
    groups = _groups_below(view, partition, head, command.below_event_id)
    if not groups or head.is_deleted:
        return [], records_pb2.CommandReply()
    base = _Base(view, partition)
    for group in groups:
        base.fold(group)
    first = groups[-1].last_event_id + 1
    records: list[Record] = [(sk.HEAD + partition, head._replace(first_event_id=first).to_bytes())]
    records += [(group.key, None) for group in groups]
    records += base.records()
    return records, records_pb2.CommandReply(swept=first - head.first_event_id)


def delete(command: tiering_pb2.DeletePartitionsRequest, view: ReadView, _proposal: Proposal) -> _Outcome:
    """All of them or, when one is malformed or another cluster's, none. Deleting again changes nothing."""
    if len(command.partitions) > MAX_DELETED_PARTITIONS:
        raise InvalidInput(
            f"{len(command.partitions)} partitions are to be deleted: name at most {MAX_DELETED_PARTITIONS} at a time"
        )
    records: dict[bytes, bytes | None] = {}
    for proto in command.partitions:
        partition = partition_from_proto(proto)
        encoded = sk.partition(partition)
        head = stored_head(view, encoded)
        if head is None:
            owner = keys.topic_owner(partition.topic_id)
            fault = topic_fault(records.get(owner) or view.get(owner), partition)
            if fault:
                raise Conflict(fault)
            records[owner] = partition.cluster_id.encode()
        elif head.is_deleted:
            continue
        gone = (head or Head())._replace(is_deleted=True, live_segments=0, live_bytes=0)
        records[sk.HEAD + encoded] = gone.to_bytes()
        records[sk.DELETED + encoded] = b""
    heads_first = sorted(records.items(), key=lambda record: not record[0].startswith(sk.HEAD))
    return [*heads_first], records_pb2.CommandReply()


def sweep(command: records_pb2.SweepPartitions, view: ReadView, _proposal: Proposal) -> _Outcome:
    """Removes about `max_keys` records of deleted partitions and says how many (`swept`): repeat until it is 0."""
    limit = min(command.max_keys, MAX_SWEPT)
    if not limit:
        raise InvalidInput(f"max_keys is 0: use 1 to {MAX_SWEPT}")
    records: list[Record] = []
    for listed, _ in view.scan(sk.DELETED, limit=limit):
        partition = listed[len(sk.DELETED) :]
        swept = _stored(view, partition, limit - len(records))
        records += [(key, None) for key in swept]
        if len(records) >= limit:
            break
        records += [(sk.CLAIM + partition, None), (sk.GONE_OFFSETS + partition, None), (listed, None)]
    return records, records_pb2.CommandReply(swept=len(records))


class _Base:
    """The live segments as of the first event that is kept, with changes on top."""

    def __init__(self, view: ReadView, partition: bytes) -> None:
        self._view = view
        self._partition = partition
        self._live = sk.LIVE + partition
        self._changed: dict[bytes, bytes | None] = {}
        self._ended: list[bytes] = []
        self._gone_offsets = gone_offsets.stored(view, partition)
        self._gone_offsets_before = dict(self._gone_offsets)

    def fold(self, group: Group) -> None:
        for raw, event in _read(group):
            key = self._live + event.segment_id
            if event.state == STARTED:
                self._changed[key] = raw
            elif event.state == GONE:
                self._changed[key] = None
                self._ended.append(sk.SEGMENT + event.segment_id)
            else:
                segment = self._changed.get(key) or self._view.get(key) or b""
                if event.state == DELETING:
                    gone_offsets.note(self._gone_offsets, segment, self._view.get(sk.SEGMENT + event.segment_id))
                self._changed[key] = segment + change(event)

    def records(self) -> list[Record]:
        records: list[Record] = [*sorted(self._changed.items()), *((key, None) for key in sorted(self._ended))]
        if self._gone_offsets != self._gone_offsets_before:
            records.append(gone_offsets.record(self._partition, self._gone_offsets))
        return records


def _groups_below(view: ReadView, partition: bytes, head: Head, below: int) -> list[Group]:
    found: list[Group] = []
    for group in event_groups.stored(view, partition, head.first_event_id):
        if group.last_event_id >= below or (found and group.last_event_id - head.first_event_id >= MAX_TRIMMED):
            break
        found.append(group)
    return found


def _stored(view: ReadView, partition: bytes, limit: int) -> list[bytes]:
    """Keys of a partition: about `limit`, fewer when that is all there is."""
    found: list[bytes] = []
    for group in event_groups.stored(view, partition):
        found += (group.key, *{sk.SEGMENT + event.segment_id for _, event in _read(group)})
        if len(found) >= limit:
            return sorted(found)
    for key, _ in view.scan(sk.LIVE + partition, limit=limit - len(found)):
        found += (key, sk.SEGMENT + sk.decode_segment(key))
    return sorted(set(found))


def _read(group: Group) -> Iterable[tuple[bytes, PlainSegmentEvent]]:
    try:
        return list(event_groups.read(group))
    except DecodeError:
        raise InvalidInput(
            f"the events up to {group.last_event_id} of the partition are unreadable: "
            f"report this as a bug, with the store's files"
        ) from None

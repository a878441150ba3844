"""Keys whose byte order is the order of what they name, so that a range scan is a prefix read.

    key = table (1 byte) + components

- text: UTF-8 with 00 written as 00 FF, then 00 01. The end sorts before anything that could follow, so "a" comes
  before "ab", and no text is the beginning of another one's encoding.
- numbers: unsigned, big-endian, of fixed width. Uuids: their 16 bytes.

UTF-8 sorts as its code points do, as Python compares strings; so encoded order is the order of the tuples.
Table bytes are stored: never renumber, never reuse.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from enum import IntEnum, unique
from typing import NamedTuple

from guardian.errors import InvalidInput

_U32 = struct.Struct(">I")
_U64 = struct.Struct(">Q")
_ONE_NUMBER = struct.Struct(">BQ")
_TWO_NUMBERS = struct.Struct(">BQQ")
_MAX_U64 = (1 << 64) - 1
_END = b"\x00\x01"
_ESCAPED_ZERO = b"\x00\xff"
UUID_BYTES = 16


@unique
class Table(IntEnum):
    META = 0
    CLUSTER = 1
    PLAN = 2  # content hash -> number of chunks, when one was put last, whether all are there, how many tickets have it
    PLAN_CHUNK = 3
    TICKET = 4
    TICKET_BY_IDEMPOTENCY_KEY = 5
    EXECUTION = 6
    SEGMENT_EVENT = 7
    PARTITION_HEAD = 8
    LIVE_SEGMENT = 9
    SEGMENT = 10
    TOPIC_OWNER = 11  # topic id -> Kafka's cluster.id, in UTF-8
    DELETED_PARTITION = 13
    PARTITION_CLAIM = 14
    SESSION = 17
    SESSION_BY_USE = 18
    SESSION_REPLY = 19
    AUDIT = 20
    MACHINE = 21
    TENANT = 22
    TOPIC = 23
    IDC_POLICY = 24
    EXCLUSION = 25
    REFERENCE = 26  # what is named by an entry -> the entry
    ID_COUNTER = 27
    HIGHEST_ID = 28
    EXECUTION_TASK = 29
    GONE_OFFSETS = 30
    COLLECTION = 31  # who collects which broker: one record
    EVENT = 32  # events of tickets and throttles, and how far sinks have come
    PROTECTION = 33  # cluster -> what is held to protect its disks
    CORDON = 34  # cluster, broker -> what was set where no new replicas are to come
    LEVEL = 35  # which commands all members know: one record
    CALL = 36  # cluster, finding -> what calls a person
    CLOCK = 37  # the group's clock: one record
    USER_TASK = 38  # cluster, id -> a plan that somebody asked for
    USER_TASK_ANSWER = 39  # the same -> what it was answered with
    DOCUMENT = 45  # roles, approval policy: by name
    ENDED_SESSION = 46  # sessions of the console that were signed out, by when they would end
    CLUSTER_BY_ID = 47  # Kafka's cluster.id -> the name of the cluster that has it, in UTF-8
    TICKET_INDEX = 40  # cluster -> its open tickets that are no drafts, and how many tickets are in each state
    TICKET_DRAFTS = 48  # cluster, bucket -> its drafts
    FINDINGS = 49  # cluster, or the empty name -> what the leader's detectors see there
    TICKET_ORDER = 41  # what a list is narrowed down to, position of a ticket -> nothing

    @property
    def prefix(self) -> bytes:
        """Return the byte that every key of the table begins with."""
        return bytes((self,))


class PartitionId(NamedTuple):
    """A partition of any cluster of the federation. `topic_id` has 16 bytes."""

    cluster_id: str
    topic_id: bytes
    partition: int


def _by_text(table: Table) -> Callable[[str], bytes]:
    """Return how a table's keys are made of a text, or the prefix of those that begin with it."""
    prefix = table.prefix
    return lambda text: prefix + _text(text)


cluster = _by_text(Table.CLUSTER)  # by its name
cluster_by_id = _by_text(Table.CLUSTER_BY_ID)  # by Kafka's cluster.id
protection = _by_text(Table.PROTECTION)  # by the cluster's name
plan = _by_text(Table.PLAN)  # by its hash
plan_chunks = _by_text(Table.PLAN_CHUNK)  # by the plan's hash: the prefix of its chunks, in their order
findings = _by_text(Table.FINDINGS)  # by the cluster's name
ticket = _by_text(Table.TICKET)  # by its id
ticket_index = _by_text(Table.TICKET_INDEX)  # by the cluster's name
ticket_drafts = _by_text(Table.TICKET_DRAFTS)  # by the cluster's name: the prefix of its buckets
ticket_by_idempotency_key = _by_text(Table.TICKET_BY_IDEMPOTENCY_KEY)
execution = _by_text(Table.EXECUTION)  # by the ticket's id
execution_tasks = _by_text(Table.EXECUTION_TASK)  # the same: the prefix of its tasks, in the order of their numbers
machine = _by_text(Table.MACHINE)  # by the host
tenant = _by_text(Table.TENANT)  # by its name
idc_policy = _by_text(Table.IDC_POLICY)  # by its name
document = _by_text(Table.DOCUMENT)  # by its name
topics = _by_text(Table.TOPIC)  # by the cluster's name: the prefix of its topics, by name
exclusions = _by_text(Table.EXCLUSION)  # by the cluster's name: the prefix of its exclusions, by broker
cordons = _by_text(Table.CORDON)  # by the cluster's name: the prefix of its cordons, by broker
user_tasks = _by_text(Table.USER_TASK)  # by the cluster's name: the prefix of its tasks, by id
# A target of references (nothing is stored under it): all labels of a tenant.
tenant_labels = _by_text(Table.META)
free_machines = _by_text(Table.REFERENCE)  # another one: machines in no cluster, by their IDC


def applied_index() -> bytes:
    return Table.META.prefix + _text("applied_index")


def checksum() -> bytes:
    """The running checksum of what was applied."""
    return Table.META.prefix + _text("checksum")


def ticket_drafts_in(cluster_name: str, bucket: int) -> bytes:
    """Return the key of one bucket of a cluster's drafts, from 0 to 255."""
    return ticket_drafts(cluster_name) + bytes((bucket,))


def level() -> bytes:
    return Table.LEVEL.prefix


def collection() -> bytes:
    return Table.COLLECTION.prefix


def plan_of(key: bytes) -> str:
    """Return the hash in a key of `plan`."""
    return read_text(key, len(Table.PLAN.prefix))[0]


def plan_chunk(plan_hash: str, chunk: int) -> bytes:
    return plan_chunks(plan_hash) + _number(_U32, "chunk", chunk)


def tickets_made(cluster_name: str, kind: str) -> bytes:
    """The prefix of the positions of tickets, newest first; empty: of all clusters, of all kinds."""
    return _ordered(0, cluster_name, kind)


def tickets_in_state(cluster_name: str, state: int) -> bytes:
    """The same of those that have ended in a state."""
    return _ordered(1, cluster_name) + state.to_bytes(2, "big")


def tickets_ended() -> bytes:
    """The prefix of the positions of ended tickets, the last one first."""
    return _ordered(2)


def tickets_ended_by(cluster_name: str, agent: int) -> bytes:
    """The same of one of Guardian's own actors in a cluster."""
    return _ordered(3, cluster_name) + agent.to_bytes(2, "big")


def ticket_position(at_ms: int, ticket_id: str) -> bytes:
    """Encode what follows such a prefix: later times first, then ids. A time before the epoch counts as the epoch."""
    return _U64.pack(_MAX_U64 - max(0, at_ms)) + _text(ticket_id)


def is_ticket_position(position: bytes) -> bool:
    try:
        return ticket_position(time_of_position(position), id_of_position(position)) == position
    except (struct.error, ValueError):
        return False


def time_of_position(position: bytes) -> int:
    return _MAX_U64 - int(_U64.unpack_from(position)[0])


def id_of_position(position: bytes) -> str:
    return read_text(position, _U64.size)[0]


def _ordered(order: int, *names: str) -> bytes:
    return Table.TICKET_ORDER.prefix + bytes((order,)) + b"".join(map(_text, names))


def execution_task(ticket_id: str, number: int) -> bytes:
    return execution_tasks(ticket_id) + _number(_U32, "task number", number)


def session_totals() -> bytes:
    return Table.META.prefix + _text("session_totals")


# Sessions' keys are made for each command that has one: each is one call. Their numbers are uint64 by type.


def session(session_id: int) -> bytes:
    return _ONE_NUMBER.pack(Table.SESSION, session_id)


def group_clock() -> bytes:
    return Table.CLOCK.prefix


def session_by_use(used_at_ms: int, session_id: int) -> bytes:
    return _TWO_NUMBERS.pack(Table.SESSION_BY_USE, used_at_ms, session_id)


def decode_session_by_use(key: bytes) -> tuple[int, int]:
    """The inverse of `session_by_use`."""
    _, used_at_ms, session_id = _TWO_NUMBERS.unpack(key)
    return used_at_ms, session_id


def session_reply(session_id: int, sequence: int) -> bytes:
    return _TWO_NUMBERS.pack(Table.SESSION_REPLY, session_id, sequence)


def session_replies(session_id: int) -> bytes:
    """The prefix of a session's kept replies, in the order of their sequences."""
    return _ONE_NUMBER.pack(Table.SESSION_REPLY, session_id)


def audit(at_ms: int, index: int) -> bytes:
    """Newest first: times and indexes count down."""
    return (
        Table.AUDIT.prefix
        + _number(_U64, "time", _MAX_U64 - _within("time", at_ms))
        + _number(_U64, "index", _MAX_U64 - _within("index", index))
    )


def audit_before(at_ms: int) -> bytes:
    """The first key of those before a time."""
    return audit(at_ms, 0) + b"\x00"


def decode_audit(key: bytes) -> tuple[int, int]:
    """The time and index of an audit record's key."""
    return _MAX_U64 - _U64.unpack_from(key, 1)[0], _MAX_U64 - _U64.unpack_from(key, 1 + _U64.size)[0]


def topic(cluster_name: str, name: str) -> bytes:
    return topics(cluster_name) + _text(name)


def exclusion(cluster_name: str, broker_id: int) -> bytes:
    return exclusions(cluster_name) + _number(_U32, "broker id", broker_id)


def user_task(cluster_name: str, task_id: str) -> bytes:
    return user_tasks(cluster_name) + _text(task_id)


def user_task_answer(cluster_name: str, task_id: str) -> bytes:
    return Table.USER_TASK_ANSWER.prefix + _text(cluster_name) + _text(task_id)


def events() -> bytes:
    """The prefix of all events, oldest first."""
    return Table.EVENT.prefix + b"\x00"


def event(event_id: int) -> bytes:
    return events() + _number(_U64, "event id", event_id)


def event_sink(sink: str) -> bytes:
    return Table.EVENT.prefix + b"\x01" + _text(sink)


def ended_session(until_ms: int, cookie_hash: bytes) -> bytes:
    return _ONE_NUMBER.pack(Table.ENDED_SESSION, _within("time", until_ms)) + cookie_hash


def ended_sessions_until(at_ms: int) -> bytes:
    """Return the first key of those that end after a time."""
    return _ONE_NUMBER.pack(Table.ENDED_SESSION, _within("time", at_ms + 1))


def call(cluster_name: str, finding: str) -> bytes:
    return Table.CALL.prefix + _text(cluster_name) + _text(finding)


def cordon(cluster_name: str, broker_id: int) -> bytes:
    return cordons(cluster_name) + _number(_U32, "broker id", broker_id)


def references(target: bytes) -> bytes:
    """The prefix of the entries that name `target`, which is a key. No key is the beginning of another one."""
    return Table.REFERENCE.prefix + target


def reference(target: bytes, referrer: bytes) -> bytes:
    return references(target) + referrer


def tenant_label(name: str, label: str) -> bytes:
    """A target of references: a label as one tenant uses it."""
    return tenant_labels(name) + _text(label)


def partitions(cluster_id: str, topic_id: bytes) -> bytes:
    """Encode what the keys of a cluster's partitions have in common, or, with a topic id, those of one topic."""
    return _text(cluster_id) + topic_id


def topic_owner(topic_id: bytes) -> bytes:
    """Build the key under which the owner of a topic id is stored: the cluster that has it."""
    return Table.TOPIC_OWNER.prefix + _topic_id(topic_id)


def id_counter(kind: int) -> bytes:
    return Table.ID_COUNTER.prefix + _number(_U32, "kind", kind)


def highest_id(cluster_id: str, kind: int) -> bytes:
    return Table.HIGHEST_ID.prefix + _text(cluster_id) + _number(_U32, "kind", kind)


def read_text(key: bytes, start: int) -> tuple[str, int]:
    """The text component that begins at `start`, and where the next component begins."""
    end = key.index(_END, start)
    return key[start:end].replace(_ESCAPED_ZERO, b"\x00").decode(), end + len(_END)


def end_of(prefix: bytes) -> bytes | None:
    """The first key after all that begin with `prefix`; None when there is none."""
    stem = prefix.rstrip(b"\xff")
    return stem[:-1] + bytes((stem[-1] + 1,)) if stem else None


def _text(value: str) -> bytes:
    return value.encode().replace(b"\x00", _ESCAPED_ZERO) + _END


def _number(width: struct.Struct, name: str, value: int) -> bytes:
    try:
        return width.pack(value)
    except struct.error:
        raise InvalidInput(f"{name} is {value}: use 0 to {(1 << 8 * width.size) - 1}") from None


def _within(name: str, value: int) -> int:
    if not 0 <= value <= _MAX_U64:
        raise InvalidInput(f"{name} is {value}: use 0 to {_MAX_U64}")
    return value


def _topic_id(value: bytes) -> bytes:
    if len(value) != UUID_BYTES:
        raise InvalidInput(f"topic id has {len(value)} bytes: use the {UUID_BYTES} bytes of a uuid")
    return value


def partition(name: PartitionId) -> bytes:
    """Encode what the keys of a partition's tables have in common, after the table's byte."""
    cluster_id, topic_id, number = name
    return _text(cluster_id) + _topic_id(topic_id) + _number(_U32, "partition", number)

"""From the slices of a broker's batch to rows of the table. Pure.

Bytes come by client (Kafka's quota sensors know no topics) and are divided among the topics that the client wrote or
read in the slice, by its requests to each: exact for a client with one topic, a share otherwise, and the row says so.
What belongs to no topic that was seen keeps its client, with an empty topic, so that no byte is lost from the sums.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import unquote

import pyarrow as pa

from guardian.errors import InvalidInput
from protos.guardian.v1 import reporter_pb2

TOPIC = "TOPIC"
_DIRECTIONS = {"WRITE": "bytes_produced", "READ": "bytes_fetched"}
_LONGEST_MS = 3_600_000
_YEAR_2100_MS = 4_102_444_800_000  # ClickHouse's DateTime ends soon after
_MAX_BYTES = float(1 << 60)
_INT64_MAX = (1 << 63) - 1

SCHEMA = pa.schema(
    [
        ("cluster", pa.string()),
        ("broker", pa.int32()),
        ("life", pa.int64()),
        ("slice", pa.uint64()),
        ("from_time", pa.timestamp("ms", "UTC")),
        ("duration_ms", pa.uint32()),
        ("resource_type", pa.string()),
        ("resource", pa.string()),
        ("operation", pa.string()),
        ("principal", pa.string()),
        ("client_id", pa.string()),
        ("address", pa.string()),
        ("allowed", pa.uint64()),
        ("denied", pa.uint64()),
        ("bytes_produced", pa.uint64()),
        ("bytes_fetched", pa.uint64()),
        ("bytes_shared", pa.bool_()),
        ("dropped", pa.uint64()),
        ("lost", pa.uint64()),
    ]
)


class SliceName(NamedTuple):
    """What a slice is known by, everywhere and for ever."""

    cluster: str
    broker: int
    life_ms: int
    number: int


@dataclass(frozen=True, slots=True)
class SliceRows:
    """A slice as it is inserted: its marker and its rows."""

    name: SliceName
    from_ms: int
    rows: pa.RecordBatch


def slice_rows(name: SliceName, found: reporter_pb2.ActivitySlice, correction_ms: int = 0) -> SliceRows:
    """`correction_ms` is what the broker's clock lacks. Raises InvalidInput when the slice contradicts itself."""
    from_ms = found.from_ms + correction_ms
    _check(name, found, from_ms)
    strings = [*found.strings, ""]
    nothing = len(found.strings)
    shares = _shares(strings, found)
    more = shares.without_topic
    count = len(found.principals)

    def texts(positions: Sequence[int], of_more: Iterable[str]) -> pa.Array:
        taken = pa.array(strings, pa.string()).take(pa.array([*positions, nothing], pa.uint32()))
        return pa.concat_arrays([taken, pa.array(of_more, pa.string())]) if more else taken

    def numbers(values: Sequence[int], of_marker: int = 0) -> pa.Array:
        return pa.array([*values, of_marker, *([0] * len(more))], pa.uint64())

    def moved(column: str) -> pa.Array:
        of_rows = shares.bytes_of[column]
        return pa.array(
            [*(of_rows.get(row, 0) for row in range(count)), 0, *(each.moved.get(column, 0) for each in more)],
            pa.uint64(),
        )

    none = [0] * count
    total = count + 1 + len(more)
    columns: dict[str, pa.Array] = {
        "cluster": pa.repeat(pa.scalar(name.cluster, pa.string()), total),
        "broker": pa.repeat(pa.scalar(name.broker, pa.int32()), total),
        "life": pa.repeat(pa.scalar(name.life_ms, pa.int64()), total),
        "slice": pa.repeat(pa.scalar(name.number, pa.uint64()), total),
        "from_time": pa.repeat(pa.scalar(from_ms, pa.timestamp("ms", "UTC")), total),
        "duration_ms": pa.repeat(pa.scalar(found.to_ms - found.from_ms, pa.uint32()), total),
        "resource_type": texts(found.resource_types, (TOPIC for _ in more)),
        "resource": texts(found.resources, ("" for _ in more)),
        "operation": texts(found.operations, (each.operation for each in more)),
        "principal": texts(found.principals, (each.principal for each in more)),
        "client_id": texts(found.client_ids, (each.client_id for each in more)),
        "address": texts(found.addresses, ("" for _ in more)),
        "allowed": numbers(found.allowed),
        "denied": numbers(found.denied),
        "bytes_produced": moved("bytes_produced"),
        "bytes_fetched": moved("bytes_fetched"),
        "bytes_shared": pa.array([row in shares.shared for row in range(total)], pa.bool_()),
        "dropped": numbers(none, found.dropped),
        "lost": numbers(none, found.lost_slices),
    }
    return SliceRows(name, from_ms, pa.RecordBatch.from_pydict(columns, schema=SCHEMA))


def refused_slice(name: SliceName, at_ms: int) -> SliceRows:
    """The marker alone, of a slice that is of no use: it says that something was lost, and is not asked for again."""
    hollow = reporter_pb2.ActivitySlice(number=name.number, from_ms=at_ms, to_ms=at_ms, lost_slices=1)
    return slice_rows(name, hollow)


@dataclass(frozen=True, slots=True)
class _WithoutTopic:
    operation: str
    principal: str
    client_id: str
    moved: Mapping[str, int]


@dataclass(slots=True)
class _Shares:
    """By column and row, its bytes; the rows whose bytes are shares; and what belongs to no row."""

    bytes_of: dict[str, dict[int, int]] = field(
        default_factory=lambda: {column: defaultdict(int) for column in _DIRECTIONS.values()}
    )
    shared: set[int] = field(default_factory=set)
    without_topic: list[_WithoutTopic] = field(default_factory=list)


def _shares(strings: Sequence[str], found: reporter_pb2.ActivitySlice) -> _Shares:
    shares = _Shares()
    for operation, column in _DIRECTIONS.items():
        amounts = found.bytes_produced if column == "bytes_produced" else found.bytes_fetched
        clients = _Clients(strings, found, operation)
        for user, client, amount in zip(found.byte_users, found.byte_client_ids, amounts, strict=True):
            if amount > 0:
                _divide(shares, clients, operation, (strings[user], strings[client]), amount)
    return shares


def _divide(shares: _Shares, clients: _Clients, operation: str, client: tuple[str, str], amount: float) -> None:
    column = _DIRECTIONS[operation]
    rows = clients.rows_of(*client)
    if len(rows) == 1:
        shares.bytes_of[column][rows[0]] += round(amount)
        return
    requests = sum(clients.requests[row] for row in rows)
    if not requests:
        user, client_id = client
        principal = f"User:{unquote(user)}" if user else ""
        shares.without_topic.append(_WithoutTopic(operation, principal, client_id, {column: round(amount)}))
        return
    for row in rows:
        shares.bytes_of[column][row] += round(amount * clients.requests[row] / requests)
    if len({clients.topics[row] for row in rows}) > 1:
        shares.shared.update(rows)


class _Clients:
    """The rows of topics that were written (or read), by what a quota's tags may name: user and client, or one."""

    def __init__(self, strings: Sequence[str], found: reporter_pb2.ActivitySlice, operation: str) -> None:
        self.requests: dict[int, int] = {}
        self.topics: dict[int, int] = {}
        self._by_tags: dict[tuple[str, str], list[int]] = defaultdict(list)
        kinds = {
            (bool(strings[user]), bool(strings[client]))
            for user, client in zip(found.byte_users, found.byte_client_ids, strict=True)
        }
        if not kinds:
            return
        texts = strings.__getitem__
        columns = zip(
            map(texts, found.operations),
            map(texts, found.resource_types),
            map(texts, found.principals),
            map(texts, found.client_ids),
            found.resources,
            found.allowed,
            strict=True,
        )
        for row, (done, kind, principal, client, topic, allowed) in enumerate(columns):
            if done == operation and kind == TOPIC and allowed:
                self.requests[row] = allowed
                self.topics[row] = topic
                user = principal.partition(":")[2]
                for with_user, with_client in kinds:
                    self._by_tags[user if with_user else "", client if with_client else ""].append(row)

    def rows_of(self, user: str, client_id: str) -> Sequence[int]:
        """A quota's user is escaped as in a URL; an empty tag stands for all."""
        return self._by_tags.get((unquote(user) if "%" in user else user, client_id), ())


def _check(name: SliceName, found: reporter_pb2.ActivitySlice, from_ms: int) -> None:
    title = f"slice {name.number} of broker {name.broker} of cluster {name.cluster}"
    if not (0 <= found.to_ms - found.from_ms <= _LONGEST_MS and 0 < from_ms < _YEAR_2100_MS):
        raise InvalidInput(
            f"{title} lasts from {found.from_ms} to {found.to_ms}: use ms since the epoch, up to an hour"
        )
    for field_name, of_names, values in _columns(found):
        expected = len(of_names)
        if len(values) != expected:
            raise InvalidInput(f"{field_name} of {title} has {len(values)} entries: give {expected}")
    highest = len(found.strings)
    for field_name in (*_TEXTS, "byte_users", "byte_client_ids"):
        if max(getattr(found, field_name), default=-1) >= highest:
            raise InvalidInput(f"{field_name} of {title} points outside its {highest} strings")
    for field_name in ("bytes_produced", "bytes_fetched"):
        for value in getattr(found, field_name):
            if not (math.isfinite(value) and 0 <= value < _MAX_BYTES):
                raise InvalidInput(f"{field_name} of {title} has {value}: use bytes, from 0")
    for field_name in ("allowed", "denied"):
        if max(getattr(found, field_name), default=0) > _INT64_MAX:
            raise InvalidInput(f"{field_name} of {title} is beyond {_INT64_MAX}: use what was counted")


_TEXTS = ("principals", "client_ids", "addresses", "resource_types", "resources", "operations")


def _columns(found: reporter_pb2.ActivitySlice) -> Iterator[tuple[str, Sequence[Any], Sequence[Any]]]:
    """Field, the first field of its kind, and what it holds."""
    for name in (*_TEXTS, "allowed", "denied"):
        yield name, found.principals, getattr(found, name)
    for name in ("byte_client_ids", "bytes_produced", "bytes_fetched"):
        yield name, found.byte_users, getattr(found, name)

"""The questions that people ask of client activity, as statements and parameters. Pure.

A span is [from_ms, to_ms); a slice counts when it touches the span. Spans longer than `EXACT_MS` are answered from sums
by hour where that suffices, and then reach outwards to whole hours. Who last used what is answered from days, exactly:
each of them knows its last moments.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from guardian.activity.rules.database import Question
from guardian.activity.rules.rows import TOPIC
from guardian.errors import InvalidInput

HOUR_MS = 3_600_000
EXACT_MS = 6 * HOUR_MS
MAX_ROWS = 10_000
_LATEST_MS = 4_102_444_800_000  # the year 2100; ClickHouse's DateTime ends soon after

# Primary key first: whole hours, one more before the span, for a slice may be an hour long.
_HOURS = (
    "hour >= toStartOfHour(fromUnixTimestamp64Milli({from_ms:Int64}, 'UTC')) - INTERVAL 1 HOUR"
    " AND hour < fromUnixTimestamp64Milli({to_ms:Int64}, 'UTC')"
)
_EXACT = (
    f"{_HOURS} AND from_time < fromUnixTimestamp64Milli({{to_ms:Int64}}, 'UTC')"
    " AND to_time > fromUnixTimestamp64Milli({from_ms:Int64}, 'UTC')"
)
_BY_HOUR = (
    "hour >= fromUnixTimestamp64Milli({from_ms:Int64}, 'UTC') AND hour < fromUnixTimestamp64Milli({to_ms:Int64}, 'UTC')"
)
_BY_DAY = "day >= toDate(fromUnixTimestamp64Milli({from_ms:Int64}, 'UTC'))"
_LAST_USE = "maxIf(from_time, allowed > 0) AS last_time"
_USED = "HAVING last_time >= fromUnixTimestamp64Milli({from_ms:Int64}, 'UTC')"
_SUMS = (
    "sum(allowed) AS sum_allowed, sum(denied) AS sum_denied, sum(bytes_produced) AS sum_produced,"
    " sum(bytes_fetched) AS sum_fetched, max(bytes_shared) AS any_shared"
)
_FIRST_LAST = "min(from_time) AS first_time, max(from_time) AS last_time"
_BUSIEST = "ORDER BY sum_allowed + sum_denied DESC"


@dataclass(frozen=True, slots=True)
class Span:
    """Milliseconds since the epoch; `to_ms` is exclusive."""

    from_ms: int
    to_ms: int

    def __post_init__(self) -> None:
        if not 0 <= self.from_ms < self.to_ms <= _LATEST_MS:
            raise InvalidInput(
                f"the time asked for is {self.from_ms} to {self.to_ms}: give a beginning before its end, in ms since "
                "the epoch, up to the year 2100"
            )

    def whole_hours(self) -> Span:
        return Span(self.from_ms // HOUR_MS * HOUR_MS, -(-self.to_ms // HOUR_MS) * HOUR_MS)

    @property
    def is_long(self) -> bool:
        return self.to_ms - self.from_ms > EXACT_MS


def topic_users(cluster: str, topic: str, span: Span, limit: int) -> Question:
    """Ask who used a topic."""
    return Question(
        f"SELECT principal, client_id, address, operation, {_SUMS}, {_FIRST_LAST}, uniqExact(broker) AS brokers"
        f" FROM activity WHERE cluster = {{cluster:String}} AND {_EXACT}"
        f" AND resource_type = '{TOPIC}' AND resource = {{topic:String}}"
        f" GROUP BY principal, client_id, address, operation"
        f" {_BUSIEST}, principal, client_id, address, operation LIMIT {{limit:UInt32}}",
        {**_common(cluster, span, limit), "topic": topic},
    )


def broker_activity(cluster: str, broker: int, span: Span, limit: int) -> Question:
    """Ask what a broker did, and for whom; from the sums by hour when the span is long."""
    hours = _BY_HOUR if span.is_long else _EXACT
    return Question(
        f"SELECT principal, resource_type, resource, operation, {_SUMS}, {_FIRST_LAST}"
        f" FROM activity WHERE cluster = {{cluster:String}} AND {hours} AND resource_type != ''"
        f" AND broker = {{broker:Int32}} GROUP BY principal, resource_type, resource, operation"
        f" {_BUSIEST}, principal, resource_type, resource, operation LIMIT {{limit:UInt32}}",
        {**_common(cluster, answered(span), limit), "broker": broker},
    )


def principal_activity(cluster: str, principal: str, span: Span, limit: int) -> Question:
    """Ask what a principal did, and on how many brokers. Where the span is short enough to read rows, ask with which
    clients and from how many addresses too.
    """
    by = "resource_type, resource, operation" + ("" if span.is_long else ", client_id")
    hours, addresses = (_BY_HOUR, "") if span.is_long else (_EXACT, ", uniqExact(address) AS addresses")
    return Question(
        f"SELECT {by}, {_SUMS}, {_FIRST_LAST}, uniqExact(broker) AS brokers{addresses}"
        f" FROM activity WHERE cluster = {{cluster:String}} AND {hours} AND resource_type != ''"
        f" AND principal = {{principal:String}} GROUP BY {by} {_BUSIEST}, {by} LIMIT {{limit:UInt32}}",
        {**_common(cluster, answered(span), limit), "principal": principal},
    )


def coverage(cluster: str, span: Span) -> Question:
    """Ask what the answer of any question rests on: the slices that are there, and what they say is missing."""
    return Question(
        "SELECT count() AS slices, uniqExact(broker) AS brokers, sum(dropped) AS sum_dropped, sum(lost) AS sum_lost,"
        f" {_FIRST_LAST} FROM activity"
        f" WHERE cluster = {{cluster:String}} AND {_EXACT} AND resource_type = '' AND resource = ''",
        {"cluster": cluster, "from_ms": span.from_ms, "to_ms": span.to_ms},
    )


def first_slice(cluster: str) -> Question:
    """The hour of the cluster's first slice that is kept; no row: there is none."""
    return Question(
        "SELECT toDateTime64(hour, 3, 'UTC') AS first_time FROM activity"
        " WHERE cluster = {cluster:String} AND resource_type = '' ORDER BY cluster, hour LIMIT 1",
        {"cluster": cluster},
    )


def topic_last_uses(cluster: str, since_ms: int) -> Question:
    """Ask, for each topic that was used in the days since then, when it was last read and written with success."""
    return Question(
        "SELECT resource, maxIf(last_use, operation = 'READ') AS last_read,"
        " maxIf(last_use, operation = 'WRITE') AS last_write FROM"
        " (SELECT resource, operation, maxIf(from_time, allowed > 0) AS last_use FROM activity"
        f" WHERE cluster = {{cluster:String}} AND {_BY_DAY} AND resource_type = '{TOPIC}' AND resource != ''"
        " GROUP BY resource, operation) GROUP BY resource",
        {"cluster": cluster, "from_ms": since_ms},
    )


def topic_uses(cluster: str, topics: Sequence[str], span: Span) -> Question:
    """Return for each of these topics that was used in the span when its last slice with a use began (ms; 0: none)."""
    names = {f"topic{number}": topic for number, topic in enumerate(topics)}
    listed = ", ".join(f"{{{name}:String}}" for name in names)
    return Question(
        "SELECT resource, toUnixTimestamp64Milli(maxIf(from_time, operation = 'READ')) AS read_ms,"
        " toUnixTimestamp64Milli(maxIf(from_time, operation = 'WRITE')) AS written_ms FROM activity"
        f" WHERE cluster = {{cluster:String}} AND {_EXACT} AND resource_type = '{TOPIC}' AND resource IN ({listed})"
        " AND allowed > 0 GROUP BY resource",
        {"cluster": cluster, "from_ms": span.from_ms, "to_ms": span.to_ms, **names},
    )


def covered_by_broker(cluster: str, span: Span) -> Question:
    """Return by broker what its slices of the span cover: from when to when, the longest gap between two (all in ms),
    and what they lost."""
    before = "toUnixTimestamp64Milli(max(to_time) OVER (PARTITION BY broker ORDER BY from_time, to_time"
    return Question(
        "SELECT broker, min(begin_ms) AS from_ms, max(end_ms) AS to_ms,"
        " max(if(before_ms = 0, 0, begin_ms - before_ms)) AS gap_ms,"
        " sum(dropped) AS sum_dropped, sum(lost) AS sum_lost FROM"
        " (SELECT broker, dropped, lost, toUnixTimestamp64Milli(from_time) AS begin_ms,"
        f" toUnixTimestamp64Milli(to_time) AS end_ms, {before}"
        " ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)) AS before_ms FROM activity"
        f" WHERE cluster = {{cluster:String}} AND {_EXACT} AND resource_type = '' AND resource = '')"
        " GROUP BY broker",
        {"cluster": cluster, "from_ms": span.from_ms, "to_ms": span.to_ms},
    )


def topic_sums(cluster: str, span: Span) -> Question:
    """Bytes and requests by topic, for whole hours; the empty topic has the bytes that belong to none."""
    return Question(
        "SELECT resource, sum(bytes_produced) AS sum_produced, sum(bytes_fetched) AS sum_fetched,"
        " sumIf(sum_allowed, operation = 'WRITE') AS writes, sumIf(sum_allowed, operation = 'READ') AS reads,"
        " max(any_shared) AS is_shared FROM (SELECT resource, operation, sum(allowed) AS sum_allowed,"
        " sum(bytes_produced) AS bytes_produced, sum(bytes_fetched) AS bytes_fetched, max(bytes_shared) AS any_shared"
        f" FROM activity WHERE cluster = {{cluster:String}} AND {_BY_HOUR} AND resource_type = '{TOPIC}'"
        " GROUP BY resource, operation) GROUP BY resource",
        {"cluster": cluster, "from_ms": span.from_ms, "to_ms": span.to_ms},
    )


def uses(cluster: str, since_ms: int) -> Question:
    """Ask who was allowed what on which resource since then, and when last."""
    by = "principal, resource_type, resource, operation"
    return Question(
        f"SELECT {by}, {_LAST_USE} FROM activity WHERE cluster = {{cluster:String}} AND {_BY_DAY}"
        f" AND resource_type != '' AND principal != '' GROUP BY {by} {_USED}",
        {"cluster": cluster, "from_ms": max(1, since_ms)},
    )


def uses_from(cluster: str, addresses: Sequence[str], since_ms: int) -> Question:
    """The same by `address`, of these."""
    by = "address, principal, resource_type, resource, operation"
    names = {f"address{number}": address for number, address in enumerate(addresses)}
    listed = ", ".join(f"{{{name}:String}}" for name in names)
    return Question(
        f"SELECT {by}, {_LAST_USE} FROM activity WHERE cluster = {{cluster:String}} AND {_BY_DAY}"
        f" AND resource_type != '' AND address IN ({listed}) GROUP BY {by} {_USED}",
        {"cluster": cluster, "from_ms": max(1, since_ms), **names},
    )


def stored_slices(cluster: str, from_ms: int, to_ms: int) -> Question:
    """Ask by broker and life for the last slice that is stored, near the hours of this time. A slice that is read again
    may have got other times, when its broker's clock was judged anew.
    """
    return Question(
        "SELECT broker, life, max(slice) AS last_slice FROM activity WHERE cluster = {cluster:String}"
        " AND hour >= toStartOfHour(fromUnixTimestamp64Milli({from_ms:Int64}, 'UTC')) - INTERVAL 1 HOUR"
        " AND hour <= fromUnixTimestamp64Milli({to_ms:Int64}, 'UTC') + INTERVAL 1 HOUR"
        " AND resource_type = '' AND resource = '' GROUP BY broker, life",
        {"cluster": cluster, "from_ms": from_ms, "to_ms": to_ms},
    )


def positions(since_ms: int) -> Question:
    """Ask for each broker its newest life and the last slice of that."""
    return Question(
        "SELECT cluster, broker, max((life, slice)) AS newest, newest.1 AS life_ms, newest.2 AS number FROM activity"
        " WHERE resource_type = '' AND resource = '' AND hour >= fromUnixTimestamp64Milli({since_ms:Int64}, 'UTC')"
        " GROUP BY cluster, broker",
        {"since_ms": since_ms},
    )


def answered(span: Span) -> Span:
    """The time that an answer about a broker or a principal is of."""
    return span.whole_hours() if span.is_long else span


def _common(cluster: str, span: Span, limit: int) -> dict[str, str | int]:
    if not 1 <= limit <= MAX_ROWS:
        raise InvalidInput(f"limit is {limit}: use 1 to {MAX_ROWS}")
    return {"cluster": cluster, "from_ms": span.from_ms, "to_ms": span.to_ms, "limit": limit + 1}

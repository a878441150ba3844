"""The one table of client activity, the same in an embedded ClickHouse and on a server. Pure.

A row is what one client did with one resource in one slice of one broker. Each slice has one more row, its marker
(`resource_type` empty), which says that the slice is stored, what it lost, and for which span. A slice's rows are
inserted in one block of one partition, so that all of them are there or none.

Order      by cluster, hour and resource: "who used topic X between 3:00 and 3:10" reads a few granules, and any other
           question about a span reads the hours that it touches. Within it, what repeats every minute lies together.
Partition  by day; retention drops whole days.
principals a Bloom filter: a principal uses few of all topics, so that most granules are skipped.
by_hour    sums by hour without client ids and addresses, brokers first, for questions over days. A projection lives and
           dies with the part that it sums, so it never disagrees with the rows.
by_day     when somebody last did something, and from where: a fiftieth of by_hour, for questions over months.

Version 2 has `day` and by_day. A table of version 1 gets them; what was stored before is read from its rows then, until
it is older than what is kept.
"""

from __future__ import annotations

VERSION = 2
TABLE = "activity"

COLUMNS = {
    "cluster": "LowCardinality(String)",
    "broker": "Int32",
    "life": "Int64 CODEC(Delta, ZSTD(1))",
    "slice": "UInt64 CODEC(Delta, ZSTD(1))",
    "from_time": "DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1))",
    "duration_ms": "UInt32 CODEC(T64, ZSTD(1))",
    "resource_type": "LowCardinality(String)",
    "resource": "LowCardinality(String)",
    "operation": "LowCardinality(String)",
    "principal": "LowCardinality(String)",
    "client_id": "LowCardinality(String)",
    "address": "LowCardinality(String)",
    "allowed": "UInt64 CODEC(T64, ZSTD(1))",
    "denied": "UInt64 CODEC(T64, ZSTD(1))",
    "bytes_produced": "UInt64 CODEC(T64, ZSTD(1))",
    "bytes_fetched": "UInt64 CODEC(T64, ZSTD(1))",
    "bytes_shared": "Bool CODEC(ZSTD(1))",
    "dropped": "UInt64 CODEC(T64, ZSTD(1))",
    "lost": "UInt64 CODEC(T64, ZSTD(1))",
}
"""What is inserted. `life` is when the broker's life began (ms), `slice` counts up in it. `bytes_shared`: the bytes are
a share of what the client moved, by its requests to each of its topics. On a marker, `dropped` counts the events that
the broker had no room for, and `lost` the slices before this one that it no longer has."""

_DERIVED = (
    "hour DateTime('UTC') MATERIALIZED toStartOfHour(from_time) CODEC(Delta, ZSTD(1))",
    "day Date MATERIALIZED toDate(hour) CODEC(Delta, ZSTD(1))",
    "to_time DateTime64(3, 'UTC') ALIAS from_time + toIntervalMillisecond(duration_ms)",
)
_PRINCIPALS = "INDEX principals principal TYPE bloom_filter(0.01) GRANULARITY 1"
_BY_HOUR = """PROJECTION by_hour (
  SELECT cluster, broker, hour, principal, resource_type, resource, operation,
         sum(allowed), sum(denied), sum(bytes_produced), sum(bytes_fetched), max(bytes_shared),
         min(from_time), max(from_time), maxIf(from_time, allowed > 0)
  GROUP BY cluster, broker, hour, principal, resource_type, resource, operation)"""

_BY_DAY = """PROJECTION by_day (
  SELECT cluster, day, resource_type, resource, operation, principal, address, maxIf(from_time, allowed > 0)
  GROUP BY cluster, day, resource_type, resource, operation, principal, address)"""


def create_table(retention_days: int) -> str:
    """Does nothing where the table is."""
    columns = [f"{name} {kind}" for name, kind in COLUMNS.items()]
    body = ",\n  ".join((*columns, *_DERIVED, _PRINCIPALS, _BY_HOUR, _BY_DAY))
    return f"""CREATE TABLE IF NOT EXISTS {TABLE} (
  {body}
) ENGINE = MergeTree
PARTITION BY toDate(hour)
PRIMARY KEY (cluster, hour, resource_type, resource)
ORDER BY (cluster, hour, resource_type, resource, operation, principal, client_id, address, broker, from_time)
{_ttl(retention_days)}
SETTINGS ttl_only_drop_parts = 1, fsync_after_insert = 1
COMMENT '{comment()}'"""


def upgrade() -> tuple[str, ...]:
    """Makes a table of version 1 one of this version; doing so twice, or at once with another member, is harmless."""
    return (
        f"ALTER TABLE {TABLE} ADD COLUMN IF NOT EXISTS {_DERIVED[1]} AFTER hour",
        f"ALTER TABLE {TABLE} ADD {_BY_DAY.replace('PROJECTION', 'PROJECTION IF NOT EXISTS', 1)}",
        f"ALTER TABLE {TABLE} MODIFY COMMENT '{comment()}'",
    )


def set_retention(retention_days: int) -> str:
    return f"ALTER TABLE {TABLE} MODIFY {_ttl(retention_days)} SETTINGS materialize_ttl_after_modify = 0"


def comment() -> str:
    """Return what the table says of itself."""
    return f"guardian activity, schema {VERSION}"


def version_in(comment_found: str) -> int:
    """0: not a table of ours."""
    number = comment_found.removeprefix("guardian activity, schema ")
    return int(number) if number != comment_found and number.isdecimal() else 0


def _ttl(retention_days: int) -> str:
    return f"TTL hour + toIntervalDay({int(retention_days)})"

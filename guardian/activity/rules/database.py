"""What the activity store asks of a ClickHouse, embedded or not: the same statements, in and out in Arrow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import pyarrow as pa

from guardian.activity.rules import schema
from guardian.errors import GuardianError, InvalidInput, Unavailable

# ClickHouse's own numbers for a question that would take too long, or too much memory.
_TOO_MUCH = frozenset({159, 160, 241, 307, 396})
_UNKNOWN_DATABASE = 81

QUERY_S = 20
QUERY_BYTES = 500_000_000
QUERY_SETTINGS: Mapping[str, int] = {
    "max_execution_time": QUERY_S,
    "max_memory_usage": QUERY_BYTES,
    "max_bytes_before_external_group_by": QUERY_BYTES // 3,
    "max_bytes_before_external_sort": QUERY_BYTES // 3,
}


@dataclass(frozen=True, slots=True)
class Question:
    """A statement with placeholders such as {cluster:String}, and what stands for them: never written into it."""

    sql: str
    parameters: Mapping[str, str | int] = field(default_factory=dict)


class Database(Protocol):
    """Any thread may call. Raises Unavailable while it is away, and InvalidInput for a question that is too large."""

    def execute(self, statement: str) -> None:
        """Runs a statement that has no answer."""

    def query(self, question: Question) -> list[dict[str, Any]]:
        """The rows, by column; times come as aware datetimes in UTC."""

    def insert(self, rows: pa.Table) -> None:
        """Adds rows with the columns of schema.COLUMNS, in one block."""

    def close(self) -> None:
        """It is of no use afterwards."""


def prepare(database: Database, retention_days: int) -> None:
    """Makes the table, or brings the one that is there to this version. Raises Unavailable, and InvalidInput when it is
    newer than this Guardian, or not ours."""
    database.execute(schema.create_table(retention_days))
    found = database.query(
        Question("SELECT comment FROM system.tables WHERE database = currentDatabase() AND name = 'activity'")
    )
    text = str(found[0]["comment"]) if found else ""
    version = schema.version_in(text)
    if version == 1:
        for statement in schema.upgrade():
            database.execute(statement)
    elif version != schema.VERSION:
        raise InvalidInput(
            f"audit.url has a table {schema.TABLE} that says {text!r}, and this Guardian knows {schema.comment()!r}: "
            "run the Guardian that made it, or name another database"
        )
    database.execute(schema.set_retention(retention_days))


def failure(code: int, text: str, *, is_question: bool = False) -> GuardianError:
    """Return what an error of ClickHouse means to whoever asked, or brought rows."""
    if is_question and code in _TOO_MUCH:
        return InvalidInput(
            f"the question takes more than {QUERY_S} s or {QUERY_BYTES // 1_000_000} MB: ask for a shorter time"
        )
    return Unavailable(f"the activity store can't answer: {text.strip().splitlines()[0][:300] if text else code}")


def is_unknown_database(code: int) -> bool:
    return code == _UNKNOWN_DATABASE


def to_arrow_stream(rows: pa.Table) -> bytes:
    """One record batch, for it becomes one block."""
    sink = pa.BufferOutputStream()
    whole = rows.combine_chunks()
    with pa.ipc.new_stream(sink, whole.schema) as stream:
        stream.write_table(whole)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def from_arrow_stream(data: bytes) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = pa.ipc.open_stream(data).read_all().to_pylist() if data else []
    return rows

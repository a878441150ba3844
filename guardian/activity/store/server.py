"""A ClickHouse server by URL: a Database over its HTTP port. The only module that imports clickhouse_connect."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import clickhouse_connect
import pyarrow as pa
from clickhouse_connect.driver.client import Client
from clickhouse_connect.driver.exceptions import ClickHouseError

from guardian.activity.rules import schema
from guardian.activity.rules.address import ServerAddress
from guardian.activity.rules.database import (
    QUERY_S,
    QUERY_SETTINGS,
    Question,
    failure,
    from_arrow_stream,
    is_unknown_database,
    to_arrow_stream,
)
from guardian.errors import GuardianError, InvalidInput, Unavailable

_CONNECT_S = 5.0

_T = TypeVar("_T")


class ServerDatabase:
    """A Database. Connects at the first statement; the password is read then."""

    def __init__(self, address: ServerAddress, password_file: Path | None = None) -> None:
        self._address = address
        self._password_file = password_file
        self._client: Client | None = None
        self._lock = threading.Lock()

    def execute(self, statement: str) -> None:
        self._run(lambda client: client.command(statement))

    def query(self, question: Question) -> list[dict[str, Any]]:
        answer = self._run(
            lambda client: client.raw_query(
                question.sql,
                parameters=dict(question.parameters),
                settings=dict(QUERY_SETTINGS),
                fmt="ArrowStream",
            ),
            is_question=True,
        )
        return from_arrow_stream(answer)

    def insert(self, rows: pa.Table) -> None:
        data = to_arrow_stream(rows)
        self._run(lambda client: client.raw_insert(schema.TABLE, rows.column_names, data, fmt="ArrowStream"))

    def close(self) -> None:
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    def _run(self, work: Callable[[Client], _T], *, is_question: bool = False) -> _T:
        try:
            return work(self._connected())
        except (ClickHouseError, OSError) as error:
            raise self._failure(error, is_question) from error

    def _connected(self) -> Client:
        with self._lock:
            if self._client is None:
                try:
                    self._client = self._connect(self._address.database)
                except ClickHouseError as error:
                    if not is_unknown_database(_code_of(error)):
                        raise
                    maker = self._connect("default")
                    maker.command(f"CREATE DATABASE IF NOT EXISTS {self._address.database}")
                    maker.close()
                    self._client = self._connect(self._address.database)
            return self._client

    def _connect(self, database: str) -> Client:
        address = self._address
        return clickhouse_connect.get_client(
            host=address.host,
            port=address.port,
            username=address.user,
            password=self._password(),
            database=database,
            secure=address.tls,
            connect_timeout=_CONNECT_S,
            send_receive_timeout=QUERY_S + 10,
            autogenerate_session_id=False,  # a session serves one statement at a time
        )

    def _password(self) -> str:
        if self._password_file is None:
            return ""
        try:
            return self._password_file.read_text().strip()
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidInput(f"audit.password_file {self._password_file} can't be read: {error}") from None

    def _failure(self, error: Exception, is_question: bool) -> GuardianError:
        code = _code_of(error)
        if code:
            return failure(code, str(error), is_question=is_question)
        return Unavailable(
            f"the activity store at {self._address.host}:{self._address.port} can't be reached: {_sentence(error)}"
        )


def _code_of(error: Exception) -> int:
    return int(getattr(error, "code", None) or 0)


def _sentence(error: Exception) -> str:
    return str(error).strip().splitlines()[0][:300] if str(error).strip() else type(error).__name__

"""A ClickHouse in a folder of this host, without a server to run: a Database over the worker's socket.

Members that share the folder share its worker. One that dies is started again by whoever asks next; a statement that
was under way then fails, and its caller asks again.
"""

from __future__ import annotations

import fcntl
import re
import socket
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa

from guardian.activity.rules import schema
from guardian.activity.rules.database import (
    QUERY_S,
    QUERY_SETTINGS,
    Question,
    failure,
    from_arrow_stream,
    to_arrow_stream,
)
from guardian.activity.store import frames
from guardian.errors import InvalidInput, Unavailable

_START_S = 30.0
_ANSWER_S = QUERY_S + 40.0
_END_S = 10.0
_POLL_S = 0.02
_CODE = re.compile(r"Code: (\d+)\.")


class EmbeddedDatabase:
    """A Database. Starts the worker at the first statement; raises InvalidInput when the folder can't be used."""

    def __init__(self, folder: Path, memory_mb: int) -> None:
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise InvalidInput(f"audit.url is {str(folder)!r}, which can't be written: {error.strerror}") from None
        self._folder = folder.absolute()
        self._memory_mb = memory_mb
        self._client = uuid.uuid4().hex
        self._free: list[socket.socket] = []
        self._child: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self._starting = threading.Lock()

    def execute(self, statement: str) -> None:
        self._ask({"kind": frames.QUERY, "sql": statement, "parameters": {}})

    def query(self, question: Question) -> list[dict[str, Any]]:
        settings = ", ".join(f"{name} = {value}" for name, value in QUERY_SETTINGS.items())
        sql = f"{question.sql}\nSETTINGS {settings}"
        return from_arrow_stream(
            self._ask({"kind": frames.QUERY, "sql": sql, "parameters": _escaped(question.parameters)}, is_question=True)
        )

    def insert(self, rows: pa.Table) -> None:
        sql = f"INSERT INTO {schema.TABLE} ({', '.join(rows.column_names)})"
        self._ask({"kind": frames.INSERT, "sql": sql}, to_arrow_stream(rows))

    def close(self) -> None:
        """Returns when the worker has ended, if no other member needs it: whoever deletes the folder may then do so."""
        with self._lock:
            connections, self._free = self._free, []
            child, self._child = self._child, None
        if not connections:
            return
        try:
            frames.send(connections[0], {"kind": frames.LEAVE})
            frames.receive(connections[0])
        except (OSError, EOFError):
            if child is not None:
                with suppress(subprocess.TimeoutExpired):
                    child.wait(_END_S)
        for connection in connections:
            connection.close()

    def _ask(self, header: Mapping[str, Any], body: bytes = b"", *, is_question: bool = False) -> bytes:
        connection = self._connection()
        try:
            frames.send(connection, header, body)
            answer, result = frames.receive(connection)
        except (OSError, EOFError) as error:
            connection.close()
            self._forget_connections()
            raise Unavailable(f"the activity store in {self._folder} ended or hangs: ask again") from error
        with self._lock:
            self._free.append(connection)
        if "error" in answer:
            code = _CODE.search(answer["error"])
            raise failure(int(code[1]) if code else 0, answer["error"], is_question=is_question)
        return result

    def _connection(self) -> socket.socket:
        with self._lock:
            if self._free:
                return self._free.pop()
        with self._starting:
            deadline = time.monotonic() + _START_S
            while time.monotonic() < deadline:
                connection = self._connect()
                if connection is not None:
                    return connection
                self._start_unless_running()
                time.sleep(_POLL_S)
        raise Unavailable(f"the activity store in {self._folder} does not start: see the member's log")

    def _connect(self) -> socket.socket | None:
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(_ANSWER_S)
        try:
            with frames.address_in(self._folder) as address:
                connection.connect(address)
            frames.send(connection, {"kind": frames.HELLO, "client": self._client})
        except OSError:
            connection.close()
            return None
        return connection

    def _start_unless_running(self) -> None:
        """Another member may be about to start it as well: of several the folder's lock lets one go on."""
        if self._child is not None and self._child.poll() is None:
            return
        with (self._folder / frames.LOCK).open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return
        self._child = subprocess.Popen(
            [sys.executable, "-m", "guardian.activity.store.worker", str(self._folder), str(self._memory_mb)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            start_new_session=True,  # a Ctrl-C is for the members, which end it
        )

    def _forget_connections(self) -> None:
        with self._lock:
            connections, self._free = self._free, []
        for connection in connections:
            connection.close()


def _escaped(parameters: Mapping[str, str | int]) -> dict[str, str]:
    """Escape the parameters as the engine reads them: tab-separated text."""
    return {name: _escape(str(value)) for name, value in parameters.items()}


def _escape(text: str) -> str:
    for raw, escaped in (("\\", "\\\\"), ("\n", "\\n"), ("\t", "\\t"), ("\r", "\\r"), ("\0", "\\0")):
        text = text.replace(raw, escaped)
    return text

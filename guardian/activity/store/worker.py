"""The process with a folder's embedded ClickHouse: `python -m guardian.activity.store.worker FOLDER MEMORY_MB`.

One process may open a chdb folder, and several members of a host may share one. An engine of half a gigabyte of native
code must not take a member down with it: so it is a process of its own. Whichever member finds none starts it; it
serves them on a socket in the folder, a thread each, and ends when the last one has gone. It yields to members: it is
nicer, has a limit of memory, and is what the kernel takes first when there is none left.
"""

from __future__ import annotations

import fcntl
import os
import socket
import sys
import threading
from collections import Counter
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import chdb

from guardian.activity.store import frames
from guardian.giving_way import give_way

_FIRST_CLIENT_S = 30.0
_KILL_ME_FIRST = "500"
_THREADS = 2
_CACHE_BYTES = 64 << 20
_ENGINE = "engine"
_DATABASE = "guardian"


class Worker:
    """Serves one folder until nobody is connected."""

    def __init__(self, folder: Path, memory_mb: int) -> None:
        self._url = f"{folder / _ENGINE}?config-file={_write_settings(folder, memory_mb)}&max_threads={_THREADS}"
        # Open as long as this process lives: the engine stops with its last connection.
        self._engine = chdb.connect(self._url)
        self._engine.query(f"CREATE DATABASE IF NOT EXISTS {_DATABASE} ENGINE = Atomic")
        self._changed = threading.Condition()
        self._connections: Counter[str] = Counter()  # by client
        self._has_served = False
        self._writing = threading.Lock()
        self._ended = threading.Event()  # never set: the end of the process answers whoever waits

    def serve(self, listener: socket.socket) -> None:
        threading.Thread(target=self._accept, args=(listener,), daemon=True).start()
        with self._changed:
            self._changed.wait_for(lambda: self._has_served, _FIRST_CLIENT_S)
            self._changed.wait_for(lambda: not self._connections)

    def close(self) -> None:
        self._engine.close()

    def _accept(self, listener: socket.socket) -> None:
        while True:
            with suppress(OSError):
                connection, _ = listener.accept()
                threading.Thread(target=self._serve_one, args=(connection,), daemon=True).start()

    def _serve_one(self, connection: socket.socket) -> None:
        with connection, suppress(EOFError, OSError):
            client = str(frames.receive(connection)[0]["client"])
            self._joins(client)
            try:
                self._serve_client(connection, client)
            finally:
                self._leaves(client, connections=1)

    def _serve_client(self, connection: socket.socket, client: str) -> None:
        with closing(chdb.connect(self._url)) as engine:
            engine.query(f"USE {_DATABASE}")
            while True:
                header, body = frames.receive(connection)
                if header["kind"] == frames.LEAVE:
                    if self._leaves(client, connections=self._connections[client]):
                        self._ended.wait()
                    frames.send(connection, {})
                    return
                frames.send(connection, *self._answer(engine, header, body))

    def _answer(self, engine: Any, header: dict[str, Any], body: bytes) -> tuple[dict[str, Any], bytes]:
        try:
            if header["kind"] == frames.INSERT:
                self._insert(engine, header["sql"], body)
                return {}, b""
            return {}, engine.query(header["sql"], "ArrowStream", params=header["parameters"]).bytes()
        except (chdb.ChdbError, RuntimeError, OSError) as error:
            return {"error": str(error)}, b""

    def _insert(self, engine: Any, into: str, body: bytes) -> None:
        """Out of a file in memory: chdb's own stream of inserts says nothing when the disk is full."""
        with self._writing, os.fdopen(os.memfd_create("rows"), "wb") as rows:
            rows.write(body)
            rows.flush()
            engine.query(
                f"{into} SELECT * FROM file('/proc/self/fd/{rows.fileno()}', ArrowStream)"
                " SETTINGS max_insert_threads = 1, max_insert_block_size = 10000000"
            )

    def _joins(self, client: str) -> None:
        with self._changed:
            self._connections[client] += 1
            self._has_served = True
            self._changed.notify_all()

    def _leaves(self, client: str, connections: int) -> bool:
        """Let a client's connections go and return whether they were the last."""
        with self._changed:
            self._connections[client] -= connections
            if self._connections[client] <= 0:
                del self._connections[client]
            self._changed.notify_all()
            return not self._connections


def _write_settings(folder: Path, memory_mb: int) -> Path:
    settings = {
        "max_server_memory_usage": memory_mb << 20,
        "mark_cache_size": _CACHE_BYTES,
        "primary_index_cache_size": _CACHE_BYTES,
        "index_mark_cache_size": _CACHE_BYTES,
    }
    lines = "".join(f"<{name}>{value}</{name}>" for name, value in settings.items())
    file = folder / "engine.xml"
    file.write_text(f"<clickhouse>{lines}<logger><level>none</level></logger></clickhouse>\n")
    return file


def main(folder: Path, memory_mb: int) -> None:
    give_way()
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(_KILL_ME_FIRST)
    with (folder / frames.LOCK).open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return  # another was first
        (folder / frames.SOCKET).unlink(missing_ok=True)
        with closing(Worker(folder, memory_mb)) as worker, socket.socket(socket.AF_UNIX) as listener:
            with frames.address_in(folder) as address:
                listener.bind(address)
            listener.listen()
            worker.serve(listener)
            (folder / frames.SOCKET).unlink(missing_ok=True)
        # The engine is closed; at the interpreter's end it would close once more, and complain.
        os._exit(0)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))

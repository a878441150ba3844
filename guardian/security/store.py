"""What a member keeps for its security besides the roles: a file of the audit, and which sessions were ended.

What is added to the replicated audit is appended to a file of this member too, for whatever collects such files
(guardian.security.rules.audit_chain). An admin of Guardian can't take back what has left the host.

A member that was down, or is behind, appends what it missed when it is there again, by the index that its last lines
have, and how many have it. After a snapshot was installed it does likewise. What a crash left of a line is cut off and
written anew.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import structlog

from guardian.errors import InvalidInput
from guardian.model.actor import Actor
from guardian.replication.store.store import ReplicatedStore
from guardian.security.rules.audit_chain import START, hash_of, line_of
from metastore import keys
from metastore.records import Record
from metastore.state_machine import MetastoreStateMachine
from metastore.store import StoreError
from protos.guardian.v1 import federation_pb2, records_pb2

_log = structlog.get_logger(__name__)
_PAGE = 500
_TAIL_BYTES = 1 << 16
_AUDIT = keys.Table.AUDIT.prefix


class EndedOnMembers:
    """The console's sessions that were ended on any member. Any thread may ask."""

    def __init__(self, store: ReplicatedStore) -> None:
        self._store = store

    def end(self, cookie: str, until_ms: int, who: Actor) -> None:
        """Let no member take the cookie, which is good until then. Raises GuardianError where the group does not take
        it."""
        ended = records_pb2.EndConsoleSession(cookie_hash=_hash(cookie), until_ms=until_ms)
        self._store.propose(records_pb2.Command(end_console_session=ended), actor=who)

    def has(self, cookie: str, until_ms: int) -> bool:
        """Return whether this member knows that the session was ended."""
        return self._store.read_local().is_session_ended(_hash(cookie), until_ms)


def _hash(cookie: str) -> bytes:
    return hashlib.sha256(cookie.encode()).digest()


class AuditFile:
    """`start`, then `stop`. Appends on a thread of its own."""

    def __init__(self, path: Path, state_machine: MetastoreStateMachine) -> None:
        """Raises InvalidInput when the file can't be appended to, or ends with something else than an audit line."""
        self._path = path
        self._state_machine = state_machine
        self._changed = threading.Event()
        self._is_stopping = False
        end = _end_of(path)
        self._previous, self._index, self._of_index = end.hash, end.index, end.lines
        try:
            self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o640)
            if end.torn_at is not None:
                os.ftruncate(self._file, end.torn_at)
                _log.warning("the audit file ended in the middle of a line, which is written anew", file=str(path))
        except OSError as error:
            raise InvalidInput(f"security.audit_file {path} can't be appended to: {error.strerror}") from None
        self._thread = threading.Thread(target=self._run, name="audit-file", daemon=True)

    def start(self) -> None:
        self._changed.set()
        self._state_machine.add_listener(self._note)
        self._thread.start()

    def stop(self) -> None:
        """Appends what is there, and ends."""
        self._state_machine.remove_listener(self._note)
        self._is_stopping = True
        self._changed.set()
        if self._thread.is_alive():
            self._thread.join()
        os.close(self._file)

    def _note(self, _index: int, records: Sequence[Record] | None) -> None:
        if records is None or any(record[0].startswith(_AUDIT) for record in records):
            self._changed.set()

    def _run(self) -> None:
        while True:
            self._changed.wait()
            self._changed.clear()
            try:
                self._append_new()
            except (OSError, StoreError) as error:
                _log.error("the audit file is behind", file=str(self._path), why=str(error))
            if self._is_stopping:
                return

    def _append_new(self) -> None:
        for record in reversed(self._newer()):
            fields = ("at_ms", "index", "actor", "action", "subject", "detail", "error")
            line = line_of({name: getattr(record, name) for name in fields}, self._previous)
            _write(self._file, f"{line}\n".encode())
            self._of_index = self._of_index + 1 if record.index == self._index else 1
            self._previous, self._index = hash_of(line), record.index

    def _newer(self) -> list[federation_pb2.AuditRecord]:
        """Newest first, by their time: clocks may go back, so that pages are read until a whole one is old."""
        views = self._state_machine.read()
        found: list[federation_pb2.AuditRecord] = []
        after = b""
        while True:
            page, after = views.audit_page(0, 0, "", after, _PAGE)
            newer = [record for record in page if record.index >= self._index]
            found += newer
            if not after or not newer:
                break
        found.sort(key=lambda record: (record.index, record.at_ms), reverse=True)
        # One command may make several records: of the last index so many are in the file.
        known = min(self._of_index, sum(record.index == self._index for record in found))
        return found[: len(found) - known]


@dataclass(frozen=True, slots=True)
class _End:
    """Of the file: hash and index of its last line, how many lines have that index, and where half a line begins."""

    hash: str
    index: int
    lines: int
    torn_at: int | None = None


_EMPTY = _End(START, 0, 0)
_BEGIN = b'{"at_ms":'


def _write(file: int, line: bytes) -> None:
    """All of it, or nothing: the next line must not follow half of one."""
    size = os.fstat(file).st_size
    if os.write(file, line) != len(line):
        os.ftruncate(file, size)
        raise OSError("the disk is full")


def _end_of(path: Path) -> _End:
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _TAIL_BYTES))
            tail = file.read()
    except FileNotFoundError:
        return _EMPTY
    except OSError as error:
        raise InvalidInput(f"security.audit_file {path} can't be read: {error.strerror}") from None
    whole, _, torn = tail.rpartition(b"\n")
    if torn and not (torn.startswith(_BEGIN) or _BEGIN.startswith(torn)):
        raise InvalidInput(f"security.audit_file {path} ends with half a line that is none of Guardian's: move it away")
    torn_at = size - len(torn) if torn else None
    if not whole:
        return _End(_EMPTY.hash, _EMPTY.index, _EMPTY.lines, torn_at)
    lines = whole.decode(errors="replace").split("\n")
    try:
        index = _index_of(lines[-1])
        count = next((n for n, line in enumerate(reversed(lines[1:])) if _index_of(line) != index), len(lines) - 1)
        # The first of them may be half a line, if the file is longer than what was read of it.
        count += int(count == len(lines) - 1 and size <= _TAIL_BYTES and _index_of(lines[0]) == index)
    except (ValueError, KeyError, TypeError):
        raise InvalidInput(f"security.audit_file {path} ends with a line that is none of Guardian's") from None
    return _End(hash_of(lines[-1]), index, count, torn_at)


def _index_of(line: str) -> int:
    return int(json.loads(line)["index"])

"""Commands in, replies out; each command is one write batch that also holds its index.

    log entry ─▶ session: done before? ──yes──▶ the reply that was kept
                        │no
                        ▼
                  its table's handler ─▶ records + audit record + session and reply ─▶ one batch

Satisfies raft.protocol.StateMachine without importing it. Whatever bytes come, they become a reply and the index
advances; only a failing store raises (StoreError), and then the member must stop.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from google.protobuf.message import DecodeError

from guardian.errors import Conflict, GuardianError, NotFound, Overloaded, SessionExpired
from metastore import commands, keys, levels
from metastore.checksum import NOTHING, RunningChecksum
from metastore.records import Record
from metastore.store import ReadView, Store
from metastore.tables import (
    audit,
    claims,
    clock,
    clusters,
    collection,
    cordons,
    ended_sessions,
    events,
    federation,
    findings,
    ids,
    plans,
    protection,
    segment_retention,
    segments,
    sessions,
    ticket_retention,
    tickets,
    user_tasks,
)
from metastore.tables.proposal import Proposal
from metastore.views import Views
from protos.guardian.v1 import records_pb2

# A handler may answer in bytes: the serialised form of a CommandReply.
_Outcome = tuple[list[Record], records_pb2.CommandReply | bytes]
# The applied index, and the records just written; None: everything may have changed.
Listener = Callable[[int, Sequence[Record] | None], None]
_logger = logging.getLogger(__name__)

_CHECKSUM = keys.checksum()


_HANDLERS: dict[str, Callable[[Any, ReadView, Proposal], _Outcome]] = {
    "put_cluster": clusters.handle_put,
    "drop_cluster": clusters.handle_drop,
    "register_reporter": clusters.handle_register_reporter,
    "join_collection": collection.handle_join,
    "ack_collection": collection.handle_ack,
    "put_collection": collection.handle_put,
    "put_cordons": cordons.handle_put,
    "raise_level": levels.handle_raise,
    "put_events": events.handle_put,
    "put_protection": protection.handle_put,
    "change_federation": federation.handle_change,
    "allocate_ids": ids.handle,
    "put_plan_chunk": plans.handle,
    "add_ticket": tickets.handle_add,
    "advance_ticket": tickets.handle_advance,
    "amend_ticket": tickets.handle_amend,
    "open_session": sessions.handle_open,
    "expire_sessions": sessions.handle_expire,
    "end_console_session": ended_sessions.handle_end,
    "advance_clock": clock.handle_advance,
    "trim_audit": audit.handle_trim,
    "put_user_task": user_tasks.handle_put,
    "put_findings": findings.handle_put,
    "trim_tickets": ticket_retention.handle_trim,
    "record_refusals": audit.handle_refusals,
    "claim_partitions": claims.claim,
    "trim_segment_events": segment_retention.trim,
    "delete_partitions": segment_retention.delete,
    "sweep_partitions": segment_retention.sweep,
}

_ERROR_KINDS: dict[type[GuardianError], records_pb2.ErrorKind] = {
    NotFound: records_pb2.NOT_FOUND,
    Conflict: records_pb2.CONFLICT,
    SessionExpired: records_pb2.SESSION_EXPIRED,
    Overloaded: records_pb2.BUSY,
}


class MetastoreStateMachine:
    """One thread applies and installs; any thread reads, waits, syncs and saves.

    Raises StoreError, when made, for a store of a level that this version does not know.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        levels.require_known(store)
        self._changed = threading.Condition()
        self._listeners: tuple[Listener, ...] = ()  # replaced, never changed: another thread may be going through it
        self._is_closed = False
        self._checksum = _stored_checksum(store)

    @property
    def applied_index(self) -> int:
        """The index of the last command that is part of the stored state; 0 when none is."""
        return self._store.applied_index

    def apply(self, index: int, command: bytes) -> bytes:
        """Applies a log entry and returns a serialised CommandReply; b"" when it was applied before.

        Raises StoreError when the store fails.
        """
        if index <= self._store.applied_index:
            return b""
        records, reply = _decide(index, command, self._store)
        checksum = self._checksum.following(index, records)
        self._store.write([*records, (_CHECKSUM, checksum)], index)
        self._checksum.add(index, checksum)
        self._notify(index, records)
        return reply

    def checksum_at(self, index: int) -> bytes | None:
        """Return the running checksum of all commands up to `index`; None when that is too far back.

        On the applying thread."""
        return self._checksum.at(index)

    def add_listener(self, listener: Listener) -> None:
        """`listener` is called after each write, on the applying thread: it must be quick and must not raise."""
        with self._changed:
            self._listeners = (*self._listeners, listener)

    def remove_listener(self, listener: Listener) -> None:
        """A call under way on the applying thread may still end after this. An unknown one is ignored."""
        with self._changed:
            self._listeners = tuple(each for each in self._listeners if each != listener)

    def sync(self) -> int:
        """Makes what is applied durable and returns the index up to which it is. Raises StoreError."""
        return self._store.sync()

    def save(self, directory: Path) -> int:
        """Writes a copy of the state into `directory`, which must not exist yet, and returns its index; applying goes
        on meanwhile. Raises StoreError."""
        return self._store.save(directory)

    @property
    def damage(self) -> str:
        """Say what of the stored state was found damaged, for people; "" while nothing was. Nothing is read after
        that.
        """
        return self._store.damage

    def verify(self, directory: Path, pause: Callable[[float], None]) -> None:
        """Compares all that is on the disk with its checksums; applying goes on meanwhile. `directory` is for files of
        its own, and `pause` gets the share that is done. Raises StoreDamaged."""
        self._store.verify(directory, pause)

    def install(self, directory: Path) -> None:
        """Replaces the whole state by a saved copy, and takes the directory over.

        Raises StoreError, also for a copy of a level that this version does not know."""
        self._store.install(directory)
        levels.require_known(self._store)
        self._checksum = _stored_checksum(self._store)
        self._notify(self._store.applied_index, None)

    def reopen(self) -> None:
        """Opens the store anew where it had no room; the log's commands after `applied_index` are to be applied again.

        Raises StoreFull while there is none."""
        self._store.reopen()
        self._checksum = _stored_checksum(self._store)
        self._notify(self._store.applied_index, None)

    def read(self) -> Views:
        """The state as of now. Raises StoreError when the store is closed."""
        return Views(self._store.snapshot())

    def wait_for_change(self, after_index: int, timeout_s: float) -> int:
        """Waits until a command after `after_index` is applied, the time is up, or `close` is called.

        Returns the applied index, so that a watcher can go on from there:
        `views = machine.read()`, show, `machine.wait_for_change(views.applied_index, ...)`, again.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._is_closed or self.applied_index > after_index, timeout_s)
        return self.applied_index

    def close(self) -> None:
        """Closes the store and wakes all who wait."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        self._store.close()

    def _notify(self, index: int, records: Sequence[Record] | None) -> None:
        with self._changed:
            self._changed.notify_all()
        for listener in self._listeners:
            listener(index, records)


def _stored_checksum(store: Store) -> RunningChecksum:
    return RunningChecksum(store.applied_index, store.get(_CHECKSUM) or NOTHING)


def _decide(index: int, entry: bytes, view: ReadView) -> tuple[list[Record], bytes]:
    clock_ms = clock.stored_clock(view)
    append = commands.append_in(entry)
    if append is not None:
        proposal = Proposal(index, clock.bounded(append.proposed_at_ms, clock_ms))
        return _in_session(commands.APPEND, segments.append, append.checked, append.session, view, proposal)
    try:
        message = records_pb2.Command.FromString(entry)
    except DecodeError:
        return [], _refusal(records_pb2.INVALID, "the command is no serialised Command: propose one")
    kind = message.WhichOneof("command")
    if kind is None:
        return [], _refusal(
            records_pb2.INVALID, "the command is of no kind that this version of Guardian knows: upgrade it"
        )
    session = commands.SessionUse.of_message(message.session) if message.HasField("session") else commands.NO_SESSION
    at_ms = clock.bounded(message.proposed_at_ms, clock_ms)
    proposal = Proposal(index, at_ms, message.actor, message.agent, message.proof)
    return _in_session(kind, _HANDLERS[kind], getattr(message, kind), session, view, proposal)


def _in_session(
    kind: str,
    handler: Callable[[Any, ReadView, Proposal], _Outcome],
    command: Any,
    use: commands.SessionUse,
    view: ReadView,
    proposal: Proposal,
) -> tuple[list[Record], bytes]:
    """Carries a command out once, however often it comes in its session."""
    if use == commands.NO_SESSION:
        return _carry_out(kind, handler, command, view, proposal)
    try:
        session = sessions.check(view, use, kind)
        if isinstance(session, bytes):
            return [], session
        sessions.require_room(view, session, use.answered_below)
    except GuardianError as error:
        return [], _refusal(_error_kind(error), str(error))
    records, reply = _carry_out(kind, handler, command, view, proposal)
    records += sessions.record(view, session, use, kind, reply)
    return records, reply


def _carry_out(
    kind: str,
    handler: Callable[[Any, ReadView, Proposal], _Outcome],
    command: Any,
    view: ReadView,
    proposal: Proposal,
) -> tuple[list[Record], bytes]:
    error = ""
    try:
        records, answer = handler(command, view, proposal)
        records += events.follow(kind, records, view, proposal)
        reply = answer if isinstance(answer, bytes) else answer.SerializeToString(deterministic=True)
    except GuardianError as refused:
        error = str(refused)
        records, reply = [], _refusal(_error_kind(refused), error)
    except (ArithmeticError, LookupError, TypeError, ValueError) as bug:
        # A table's own mistake over this command: every member makes it alike, and a member that stopped over it would
        # stop again at each restart. A failing store raises StoreError, which is not caught.
        _logger.error("command of kind %s was refused because of a bug", kind, exc_info=True)
        error = f"Guardian can't carry out {kind} ({type(bug).__name__}): report this as a bug, with the member's log"
        records, reply = [], _refusal(records_pb2.INVALID, error)
    if records or error:
        audited = audit.record(kind, command, view, proposal, error)
        if audited is not None:
            records.append(audited)
    return records, reply


def _error_kind(error: GuardianError) -> records_pb2.ErrorKind:
    return next((kind for cls, kind in _ERROR_KINDS.items() if isinstance(error, cls)), records_pb2.INVALID)


def _refusal(kind: records_pb2.ErrorKind, error: str) -> bytes:
    return records_pb2.CommandReply(error_kind=kind, error=error).SerializeToString(deterministic=True)

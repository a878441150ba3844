"""Commands in, replies out; each command is one write batch that also holds its index.

Satisfies raft.protocol.StateMachine without importing it. Whatever bytes come, they become a reply and the index
advances; only a failing store raises (StoreError), and then the member must stop.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

from google.protobuf.message import DecodeError

from guardian.errors import Conflict, GuardianError, NotFound
from metastore.records import Record
from metastore.store import ReadView, Store
from metastore.tables import federation, plans, segments, tickets
from metastore.views import Views
from protos.guardian.v1 import records_pb2

_Outcome = tuple[list[Record], records_pb2.CommandReply]
_logger = logging.getLogger(__name__)


def _handle_barrier(_command: records_pb2.Barrier, _view: ReadView, _proposed_at_ms: int) -> _Outcome:
    return [], records_pb2.CommandReply()


_HANDLERS: dict[str, Callable[[Any, ReadView, int], _Outcome]] = {
    "barrier": _handle_barrier,
    "put_cluster": federation.handle_put,
    "drop_cluster": federation.handle_drop,
    "put_plan_chunk": plans.handle,
    "add_ticket": tickets.handle_add,
    "advance_ticket": tickets.handle_advance,
    "append_segment_events": segments.handle,
}


class MetastoreStateMachine:
    """One thread applies; any thread reads and waits."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._changed = threading.Condition()
        self._is_closed = False

    @property
    def applied_index(self) -> int:
        """The index of the last command that is part of the stored state; 0 when none is."""
        return self._store.applied_index

    def apply(self, index: int, command: bytes) -> bytes:
        """Applies a serialised Command and returns a serialised CommandReply; b"" when it was applied before.

        Raises StoreError when the store fails.
        """
        if index <= self._store.applied_index:
            return b""
        records, reply = _decide(command, self._store)
        self._store.write(records, index)
        with self._changed:
            self._changed.notify_all()
        return reply.SerializeToString(deterministic=True)

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


def _decide(command: bytes, view: ReadView) -> _Outcome:
    try:
        message = records_pb2.Command.FromString(command)
    except DecodeError:
        return _refused(records_pb2.INVALID, "the command is no serialised Command: propose one")
    kind = message.WhichOneof("command")
    if kind is None:
        return _refused(
            records_pb2.INVALID, "the command is of no kind that this version of Guardian knows: upgrade it"
        )
    try:
        return _HANDLERS[kind](getattr(message, kind), view, message.proposed_at_ms)
    except GuardianError as error:
        return _refused(_error_kind(error), str(error))
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        # A table's own mistake over this command: every member makes it alike, and a member that stopped over it would
        # stop again at each restart. A failing store raises StoreError, which is not caught.
        _logger.error("command of kind %s was refused because of a bug", kind, exc_info=True)
        return _refused(records_pb2.INVALID, f"Guardian can't carry out {kind} ({error!r}): report this as a bug")


def _error_kind(error: GuardianError) -> records_pb2.ErrorKind:
    if isinstance(error, NotFound):
        return records_pb2.NOT_FOUND
    if isinstance(error, Conflict):
        return records_pb2.CONFLICT
    return records_pb2.INVALID


def _refused(kind: records_pb2.ErrorKind, error: str) -> _Outcome:
    return [], records_pb2.CommandReply(error_kind=kind, error=error)

"""Sessions: what makes a retry exactly-once.

    the session's row     what it was used for last, and how much is kept for it
    by use                (time of use, session id), to find what was not used for long
    replies               one for each sequence that the client may still ask for again
    totals                one row over all sessions, and their clock

A session is of the identity that opened it, under an id that nobody can guess. A command is checked before its
handler, and its reply is written with its changes:

    of another identity                      refused: to that one the session is not open
    answered_below a window above the highest sequence carried out    refused: so many can't have been sent
    sequence below answered_below            refused: its answer was had, and is gone
    reply kept, same kind and content        that reply again, and nothing else happens
    reply kept, another kind or content      refused: it is not that command's answer
    sequence at or above answered_below + window    refused: not yet
    else                                     carried out, refusals too: what was answered once is answered always

So at most `window` replies are kept for a session. They have a cap in bytes besides; at the cap commands are refused
as BUSY and not recorded, until the client says what it has had.

A use is stamped with the sessions' own clock, which no member's can set. Only ExpireSessions, which the leader proposes
every few seconds, moves it on. It does so by as much as the group's clock (metastore.tables.clock) went on since the
one before, but never back and by at most MAX_STEP_MS. So a clock that jumps by a month, there or back, makes no session
look unused and keeps none for ever. Time without a leader hardly counts. And what was used between two of these
commands counts as used at once. The by-use row is not moved at each use (that would be two more records a command). It
says when the session was used at the earliest, and whoever looks for the least recently used moves it up first.
"""

from __future__ import annotations

import heapq
import struct
from typing import NamedTuple

from guardian.errors import Conflict, InvalidInput, Overloaded, SessionExpired
from metastore import keys
from metastore.commands import CONTENT_BYTES, KIND_NUMBERS, MAX_USER_BYTES, SessionUse
from metastore.records import Delete, Put, Record
from metastore.store import Lookup, ReadView
from metastore.tables.proposal import Decision, Proposal
from protos.guardian.v1 import records_pb2

MAX_WINDOW = 1024
MAX_SESSIONS = 100_000
MAX_OWNER_CHARS = 200
MAX_KEPT_BYTES = 8 << 20  # of a session; one reply may go beyond it
SMALL_KEPT_BYTES = 64 << 10  # what every session may have, and is not counted in the total
MAX_TOTAL_KEPT_BYTES = 1 << 30  # of all: beyond it nobody gets more than the small share
MAX_STEP_MS = 30_000  # of the sessions' clock; several times what is usually between two ExpireSessions
MAX_LOOKED_AT = 1000  # sessions in one ExpireSessions
MAX_REMOVED = 10_000  # records, or so, in one ExpireSessions
MAX_REMOVED_BYTES = 64 << 20
_OPENING_LOOKS_AT = 16
_RETRY_AFTER_MS = 1000

_ROW = struct.Struct(">QQQQQHH")
_ROW_BYTES = _ROW.size
_KEPT = struct.Struct(f">H{CONTENT_BYTES}s")  # before a reply: its command's kind, and the hash of what was asked
_KEPT_BYTES = _KEPT.size
_TOTALS = struct.Struct(">QQQQ")
_TOTALS_KEY = keys.session_totals()


class Session(NamedTuple):
    """Times are on the sessions' clock. `indexed_at_ms` is where its by-use row stands; `highest` the highest sequence
    that was carried out; `user` the identity that opened it."""

    id: int
    indexed_at_ms: int
    used_at_ms: int
    answered_below: int
    highest: int
    kept_bytes: int
    window: int
    user: bytes
    owner: bytes


class Totals(NamedTuple):
    """`clock_ms` is the sessions' clock and `proposed_at_ms` the proposer's when it was moved last (0: never);
    `kept_bytes` are those beyond each session's small share."""

    clock_ms: int = 0
    proposed_at_ms: int = 0
    sessions: int = 0
    kept_bytes: int = 0


def handle_open(command: records_pb2.OpenSession, view: ReadView, _proposal: Proposal) -> Decision:
    """Opens a session under the id that its proposer drew. At MAX_SESSIONS the least recently used one makes room."""
    if not 1 <= command.window <= MAX_WINDOW:
        raise InvalidInput(f"window is {command.window}: use 1 to {MAX_WINDOW}")
    if len(command.owner) > MAX_OWNER_CHARS:
        raise InvalidInput(f"owner has {len(command.owner)} characters: use up to {MAX_OWNER_CHARS}")
    if len(command.user) > MAX_USER_BYTES:
        raise InvalidInput(f"user has {len(command.user)} bytes: use up to {MAX_USER_BYTES}")
    if not command.session_id:
        raise InvalidInput("session_id is 0: draw a random one")
    if view.get(keys.session(command.session_id)) is not None:
        raise Conflict("session_id is another open session's: draw another one")
    before = stored_totals(view)
    removal = _Removal(view, before)
    if before.sessions >= MAX_SESSIONS:
        removal.run(0, MAX_SESSIONS - 1, _OPENING_LOOKS_AT)
        if removal.totals.sessions >= MAX_SESSIONS:
            raise Overloaded(f"{before.sessions} sessions are in use: close some, or retry later", _RETRY_AFTER_MS)
    now = before.clock_ms
    totals = removal.totals._replace(sessions=removal.totals.sessions + 1)
    session = Session(command.session_id, now, now, 1, 0, 0, command.window, command.user, command.owner.encode())
    records = [
        *removal.records,
        _put(session),
        Put(keys.session_by_use(now, session.id), b""),
        _put_totals(totals),
    ]
    return records, records_pb2.CommandReply(session_id=session.id)


def handle_expire(command: records_pb2.ExpireSessions, view: ReadView, proposal: Proposal) -> Decision:
    """Moves the sessions' clock on, then forgets what was not used for more than `idle_ms`, and the least recently used
    beyond `max_sessions`.

    `swept` is how many sessions went. The work of one command is bounded: the next one goes on.
    """
    if command.idle_ms < 0:
        raise InvalidInput(f"idle_ms is {command.idle_ms}: use 0 or more")
    before = stored_totals(view)
    totals = _ticked(before, max(0, proposal.at_ms))
    removal = _Removal(view, totals)
    removal.run(max(0, totals.clock_ms - command.idle_ms), command.max_sessions or MAX_SESSIONS, MAX_LOOKED_AT)
    records = removal.records
    if removal.totals != before:
        records = [*records, _put_totals(removal.totals)]
    return records, records_pb2.CommandReply(swept=removal.removed)


def check(view: Lookup, use: SessionUse, kind: str) -> Session | bytes:
    """The session that the command may be carried out in, or the reply to be repeated.

    Raises SessionExpired, InvalidInput, and Overloaded when too much is kept for the session.
    """
    session_id, sequence, answered_below, user, content = use
    value = view.get(keys.session(session_id))
    session = _session(session_id, value) if value is not None else None
    if session is None or session.user != user:
        raise SessionExpired(
            f"session {session_id} is not open any more: open a new one, and look up what became of commands "
            "without an answer"
        )
    if sequence < 1 or answered_below > sequence or len(content) != CONTENT_BYTES:
        raise InvalidInput(
            f"sequence is {sequence} with answered_below {answered_below} and {len(content)} bytes of content: count "
            f"from 1, send nothing below answered_below, and {CONTENT_BYTES} bytes"
        )
    most = max(session.highest, session.answered_below - 1) + session.window
    if answered_below > most:
        raise SessionExpired(
            f"answered_below of session {session_id} is {answered_below}, but sequences up to {session.highest} were "
            f"carried out, and at most {session.window} more can have been sent: open a new session"
        )
    below = max(session.answered_below, answered_below)
    if sequence < below:
        raise SessionExpired(
            f"sequence {sequence} of session {session_id} is below answered_below, {below}: its answer was had, and is "
            "not kept any longer"
        )
    if sequence <= session.highest:
        kept = view.get(keys.session_reply(session_id, sequence))
        if kept is not None:
            if _KEPT.unpack_from(kept) != (KIND_NUMBERS[kind], content):
                raise InvalidInput(
                    f"sequence {sequence} of session {session_id} was another command than this {kind}: "
                    "give each command a sequence of its own, and repeat it unchanged"
                )
            return kept[_KEPT_BYTES:]
    if sequence >= below + session.window:
        raise InvalidInput(
            f"sequence {sequence} of session {session_id} is beyond its window of {session.window} from {below} on: "
            "wait for earlier answers and raise answered_below"
        )
    return session


def require_room(view: Lookup, session: Session, answered_below: int) -> None:
    """Raises Overloaded when too much is kept already. What the command itself says was had is not counted."""
    if session.kept_bytes < SMALL_KEPT_BYTES:
        return
    kept = session.kept_bytes - sum(size for _, size in _answered(view, session, answered_below))
    is_crowded = kept >= SMALL_KEPT_BYTES and stored_totals(view).kept_bytes >= MAX_TOTAL_KEPT_BYTES
    if kept >= MAX_KEPT_BYTES or is_crowded:
        raise Overloaded(
            f"{kept} bytes of answers are kept for session {session.id}: take them and raise answered_below",
            _RETRY_AFTER_MS,
        )


def record(view: Lookup, session: Session, use: SessionUse, kind: str, reply: bytes) -> list[Record]:
    """The records that keep a reply, forget those that the client has had, and stamp the use."""
    sequence, below = use.sequence, use.answered_below
    totals = stored_totals(view)
    records: list[Record] = []
    value = _KEPT.pack(KIND_NUMBERS[kind], use.content) + reply
    kept = session.kept_bytes + len(value)
    if below > session.answered_below:
        for key, size in _answered(view, session, below):
            records.append((key, None))
            kept -= size
    counted = _counted(kept) - _counted(session.kept_bytes)
    if counted:
        records.append(_put_totals(totals._replace(kept_bytes=totals.kept_bytes + counted)))
    row = _ROW.pack(
        session.indexed_at_ms,
        totals.clock_ms,
        max(below, session.answered_below),
        max(session.highest, sequence),
        kept,
        session.window,
        len(session.user),
    )
    records.append((keys.session_reply(session.id, sequence), value))
    records.append((keys.session(session.id), row + session.user + session.owner))
    return records


def stored_session(view: Lookup, session_id: int) -> Session | None:
    """The session, or None when it is not open."""
    value = view.get(keys.session(session_id))
    return _session(session_id, value) if value is not None else None


def stored_totals(view: Lookup) -> Totals:
    value = view.get(_TOTALS_KEY)
    return Totals._make(_TOTALS.unpack(value)) if value is not None else Totals()


class _Removal:
    """Takes sessions away, the least recently used first. `records` and `totals` grow as it goes."""

    def __init__(self, view: ReadView, totals: Totals) -> None:
        self._view = view
        self._removed_bytes = 0
        self.records: list[Record] = []
        self.totals = totals
        self.removed = 0

    def run(self, unused_since_ms: int, max_sessions: int, looks: int) -> None:
        rows = self._view.scan(keys.Table.SESSION_BY_USE.prefix, limit=looks)
        queue = [keys.decode_session_by_use(key) for key, _ in rows]  # sorted, and so a heap
        # What was not read stands behind all that was. It is not passed over: each look takes one row, so a session
        # that was moved up behind all of them is not reached before the looks are used up.
        for _ in range(looks):
            if not queue:
                return
            used_at_ms, session_id = queue[0]
            if used_at_ms >= unused_since_ms and self.totals.sessions <= max_sessions:
                return
            session = stored_session(self._view, session_id)
            if session is None:
                raise LookupError(f"session {session_id} stands in the by-use table only")
            if session.used_at_ms > used_at_ms:
                heapq.heapreplace(queue, (session.used_at_ms, session_id))
                self._move_up(session)
            elif not self._remove(session):
                return
            else:
                heapq.heappop(queue)

    def _move_up(self, session: Session) -> None:
        self.records += [
            Delete(keys.session_by_use(session.indexed_at_ms, session.id)),
            Put(keys.session_by_use(session.used_at_ms, session.id), b""),
            _put(session._replace(indexed_at_ms=session.used_at_ms)),
        ]

    def _remove(self, session: Session) -> bool:
        """False when the command has done enough."""
        if len(self.records) >= MAX_REMOVED or self._removed_bytes >= MAX_REMOVED_BYTES:
            return False
        replies = self._view.scan(keys.session_replies(session.id), limit=session.window)
        self.records += [Delete(key) for key, _ in replies]
        # Where it stands when it was moved up by this very command, and where it stood before.
        self.records += [
            Delete(keys.session_by_use(session.used_at_ms, session.id)),
            Delete(keys.session(session.id)),
        ]
        self._removed_bytes += session.kept_bytes
        self.removed += 1
        self.totals = self.totals._replace(
            sessions=self.totals.sessions - 1, kept_bytes=self.totals.kept_bytes - _counted(session.kept_bytes)
        )
        return True


def _ticked(totals: Totals, proposed_at_ms: int) -> Totals:
    passed_ms = proposed_at_ms - totals.proposed_at_ms if totals.proposed_at_ms else 0
    step_ms = min(max(0, passed_ms), MAX_STEP_MS)
    return totals._replace(clock_ms=totals.clock_ms + step_ms, proposed_at_ms=proposed_at_ms)


def _answered(view: Lookup, session: Session, answered_below: int) -> list[tuple[bytes, int]]:
    """The keys and sizes of the kept replies below; none is at or above the window, so few need be looked at."""
    found = []
    for sequence in range(session.answered_below, min(answered_below, session.highest + 1)):
        key = keys.session_reply(session.id, sequence)
        reply = view.get(key)
        if reply is not None:
            found.append((key, len(reply)))
    return found


def _counted(kept_bytes: int) -> int:
    return max(0, kept_bytes - SMALL_KEPT_BYTES)


def _session(session_id: int, value: bytes) -> Session:
    *numbers, user_bytes = _ROW.unpack_from(value)
    owner_at = _ROW_BYTES + user_bytes
    return Session._make((session_id, *numbers, value[_ROW_BYTES:owner_at], value[owner_at:]))


def _put(session: Session) -> Put:
    row = _ROW.pack(*session[1:7], len(session.user))
    return Put(keys.session(session.id), row + session.user + session.owner)


def _put_totals(totals: Totals) -> Put:
    return Put(_TOTALS_KEY, _TOTALS.pack(*totals))

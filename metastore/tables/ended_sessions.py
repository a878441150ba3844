"""Sessions of the console that their owners ended, so that no member takes a copy of their cookie.

A row is a time, when the session would be over by itself, and the hash of its cookie. Only who has a good session can
end it, and the cookie itself is not stored. Rows go once their time is over by the group's clock. Of too many those go
that would be over first: they are good for the shortest time.
"""

from __future__ import annotations

from guardian.errors import InvalidInput
from metastore import keys
from metastore.records import Delete, Put, Record
from metastore.store import Lookup, ReadView
from metastore.tables.clock import stored_clock
from metastore.tables.proposal import Decision, Proposal
from protos.guardian.v1 import records_pb2

HASH_BYTES = 32
MAX_ENDED = 10_000
MAX_AHEAD_MS = 90 * 86_400_000  # a session lasts for security.session_hours
_MAX_TRIMMED = 100  # by one command: more than it adds, so that nothing piles up
_PREFIX = keys.Table.ENDED_SESSION.prefix


def handle_end(command: records_pb2.EndConsoleSession, view: ReadView, proposal: Proposal) -> Decision:
    """Remember that a session was ended, and forget those that would be over by now; `swept` is how many those are."""
    clock_ms = stored_clock(view) or proposal.at_ms
    if len(command.cookie_hash) != HASH_BYTES:
        raise InvalidInput(f"cookie_hash: wrong length (got {len(command.cookie_hash)} bytes); give {HASH_BYTES}")
    if not 0 < command.until_ms <= clock_ms + MAX_AHEAD_MS:
        raise InvalidInput(
            f"until_ms: not when a session would be over (got {command.until_ms}); give ms since the epoch, up to 90 "
            "days ahead"
        )
    rows = view.scan(_PREFIX, limit=MAX_ENDED + _MAX_TRIMMED)
    over = keys.ended_sessions_until(clock_ms)
    gone = [key for key, _ in rows if key < over][:_MAX_TRIMMED]
    key = keys.ended_session(command.until_ms, command.cookie_hash)
    kept = [each for each, _ in rows[len(gone) :] if each != key]
    gone += kept[: max(0, len(kept) + 1 - MAX_ENDED)]
    records: list[Record] = [Delete(each) for each in gone]
    if command.until_ms > clock_ms:
        records.append(Put(key, b""))
    return records, records_pb2.CommandReply(swept=len(gone))


def is_ended(view: Lookup, cookie_hash: bytes, until_ms: int) -> bool:
    """Return whether the session with this cookie, which would be over at `until_ms`, was ended."""
    return view.get(keys.ended_session(until_ms, cookie_hash)) is not None

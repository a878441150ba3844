"""The group's clock: by it things expire and are deleted, whatever a single member's clock says. Pure.

    members' clocks ─▶ their median (the lower one of an even number) ─▶ AdvanceClock ─▶ stored, by at most MAX_STEP_MS

It never goes back. After a pause, or when it was behind, several commands bring it up. What a proposer stamps on a
command is brought within a step of it, so a proposer whose clock is off can neither keep nor delete anything.
"""

from __future__ import annotations

from collections.abc import Sequence

from guardian.errors import InvalidInput
from metastore import keys
from metastore.records import Put, Record
from metastore.store import Lookup, ReadView
from metastore.tables.proposal import Decision, Proposal
from protos.guardian.v1 import records_pb2

MAX_STEP_MS = 30_000
MAX_CLOCKS = 64
_MAX_TIME_MS = 1 << 53
_BYTES = 8


def median(clocks_ms: Sequence[int]) -> int:
    """Return the median; of an even number, the lower of the two in the middle."""
    return sorted(clocks_ms)[(len(clocks_ms) - 1) // 2]


def advanced(clock_ms: int, clocks_ms: Sequence[int]) -> int:
    """Return what the group's clock is after one command. One that was never set (0) takes the median as it is."""
    wanted = median(clocks_ms)
    if not clock_ms:
        return wanted
    return max(clock_ms, min(wanted, clock_ms + MAX_STEP_MS))


def bounded(proposed_at_ms: int, clock_ms: int, back_ms: int = 0) -> int:
    """Return a proposer's stamp, from `back_ms` before the group's clock to a step after it; as it is while there is no
    group's clock."""
    if not clock_ms:
        return proposed_at_ms
    return max(clock_ms - back_ms, min(proposed_at_ms, clock_ms + MAX_STEP_MS))


def stored_clock(view: Lookup) -> int:
    """Return the group's clock, in ms since the epoch; 0: it was never set."""
    value = view.get(keys.group_clock())
    return int.from_bytes(value, "big") if value is not None else 0


def handle_advance(command: records_pb2.AdvanceClock, view: ReadView, _proposal: Proposal) -> Decision:
    """Moves the clock towards the median of the members' clocks."""
    clocks = command.clocks_ms
    if not 1 <= len(clocks) <= MAX_CLOCKS or not all(0 < each <= _MAX_TIME_MS for each in clocks):
        raise InvalidInput(f"clocks_ms has {len(clocks)} entries: send 1 to {MAX_CLOCKS}, in ms since the epoch")
    before = stored_clock(view)
    after = advanced(before, clocks)
    records: list[Record] = [Put(keys.group_clock(), after.to_bytes(_BYTES, "big"))] if after != before else []
    return records, records_pb2.CommandReply()

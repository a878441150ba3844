"""What a log entry holds: a serialised Command, or, for the many small appends, a form that is not parsed to be routed.

    00 01 | proposed_at_ms, session id (0: none), sequence, answered_below: 8 bytes each, big-endian | CheckedAppend

No protobuf message begins with 00 (there is no field 0). The rest is a serialised CheckedAppend, as metastore.appends
makes it of a request: nobody has to build a message for each event only to put it into another one.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from guardian.errors import InvalidInput

APPEND_MARK = b"\x00\x01"
_HEADER = struct.Struct(">2sQQQQ")
NO_SESSION = (0, 0, 0)


class Append(NamedTuple):
    """`session` is (id, sequence, answered_below); id 0: none."""

    proposed_at_ms: int
    session: tuple[int, int, int]
    checked: bytes


def append_command(checked: bytes, proposed_at_ms: int, session: tuple[int, int, int] = NO_SESSION) -> bytes:
    """The log's form of a serialised CheckedAppend. Raises InvalidInput when a number is out of range."""
    try:
        return _HEADER.pack(APPEND_MARK, proposed_at_ms, *session) + checked
    except struct.error:
        raise InvalidInput(
            f"session is {session} at {proposed_at_ms} ms: use numbers of 0 to {(1 << 64) - 1}"
        ) from None


def append_in(command: bytes) -> Append | None:
    """The inverse; None when the command is none of these, or is cut off."""
    if not command.startswith(APPEND_MARK) or len(command) < _HEADER.size:
        return None
    _, proposed_at_ms, session_id, sequence, answered_below = _HEADER.unpack_from(command)
    return Append(proposed_at_ms, (session_id, sequence, answered_below), command[_HEADER.size :])

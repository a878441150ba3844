"""What a log entry holds: a serialised Command, or, for the many small appends, a form that is not parsed to be routed.

    00 01 | proposed_at_ms, session id (0: none), sequence, answered_below: 8 bytes each, big-endian
          | content: 16 bytes | length of user: 2 bytes | user | CheckedAppend

No protobuf message begins with 00 (there is no field 0). The rest is a serialised CheckedAppend, as metastore.appends
makes it of a request: nobody has to build a message for each event only to put it into another one.
"""

from __future__ import annotations

import hashlib
import struct
from typing import NamedTuple

from guardian.errors import InvalidInput
from protos.guardian.v1 import records_pb2

APPEND_MARK = b"\x00\x01"
CONTENT_BYTES = 16
MAX_USER_BYTES = 1024
APPEND = "append_segment_events"
_APPEND_NUMBER = 8  # reserved in Command
# What a reply is kept under, besides its sequence: the number of the command's field.
KIND_NUMBERS = {
    APPEND: _APPEND_NUMBER,
    **{field.name: field.number for field in records_pb2.Command.DESCRIPTOR.oneofs_by_name["command"].fields},
}
_HEADER = struct.Struct(f">2sQQQQ{CONTENT_BYTES}sH")
_HEADER_BYTES = _HEADER.size


class SessionUse(NamedTuple):
    """A command's place in its session; `user` is the proven identity that sends it, `content` the `content_of` the
    client's request. The member that proposes sets both."""

    id: int
    sequence: int
    answered_below: int
    user: bytes = b""
    content: bytes = b""

    @classmethod
    def of_message(cls, message: records_pb2.SessionUse) -> SessionUse:
        return cls(message.id, message.sequence, message.answered_below, message.user, message.content)

    def to_message(self) -> records_pb2.SessionUse:
        return records_pb2.SessionUse(
            id=self.id,
            sequence=self.sequence,
            answered_below=self.answered_below,
            user=self.user,
            content=self.content,
        )


NO_SESSION = SessionUse(0, 0, 0)


class Append(NamedTuple):
    """`session` is NO_SESSION where it is in none."""

    proposed_at_ms: int
    session: SessionUse
    checked: bytes


def content_of(request: bytes) -> bytes:
    """Hash a client's serialised request: what comes again under the same sequence must be the same."""
    return hashlib.blake2b(request, digest_size=CONTENT_BYTES).digest()


def append_command(checked: bytes, proposed_at_ms: int, session: SessionUse = NO_SESSION) -> bytes:
    """The log's form of a serialised CheckedAppend. Raises InvalidInput when a number is out of range."""
    session_id, sequence, answered_below, user, content = session
    if len(user) > MAX_USER_BYTES or len(content) not in (0, CONTENT_BYTES):
        raise InvalidInput(
            f"session has a user of {len(user)} bytes and a content of {len(content)}: "
            f"use up to {MAX_USER_BYTES}, and {CONTENT_BYTES}"
        )
    try:
        header = _HEADER.pack(APPEND_MARK, proposed_at_ms, session_id, sequence, answered_below, content, len(user))
    except struct.error:
        raise InvalidInput(
            f"session is {session[:3]} at {proposed_at_ms} ms: use numbers of 0 to {(1 << 64) - 1}"
        ) from None
    return header + user + checked


def append_in(command: bytes) -> Append | None:
    """The inverse; None when the command is none of these, or is cut off."""
    if not command.startswith(APPEND_MARK) or len(command) < _HEADER_BYTES:
        return None
    _, proposed_at_ms, session_id, sequence, answered_below, content, user_bytes = _HEADER.unpack_from(command)
    begin = _HEADER_BYTES + user_bytes
    if len(command) < begin:
        return None
    if not session_id and not sequence and not answered_below:
        return Append(proposed_at_ms, NO_SESSION, command[begin:])
    session = SessionUse(session_id, sequence, answered_below, command[_HEADER_BYTES:begin], content)
    return Append(proposed_at_ms, session, command[begin:])

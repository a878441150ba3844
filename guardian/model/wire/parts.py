"""A message that is larger than gRPC takes, in parts that are merged in order."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TypeVar

from google.protobuf.message import Message

MAX_PART_BYTES = 3 << 20  # of one message: with all else it is below the 4 MiB that a gRPC client takes by default
_FRAME_BYTES = 8  # at most, before each row in its message
_Whole = TypeVar("_Whole", bound=Message)


def parts_of(whole: _Whole, rows: Collection[str]) -> Iterator[_Whole]:
    """Yield the message in parts, one at least; merged in order they are the whole.

    `rows` are the names of its repeated fields of which there may be very many; all else is in the first part.
    """
    part, left = type(whole)(), MAX_PART_BYTES
    part.CopyFrom(whole)
    for name in rows:
        part.ClearField(name)
    left -= part.ByteSize()
    is_empty = False
    for name in rows:
        for row in getattr(whole, name):
            size = row.ByteSize() + _FRAME_BYTES
            if size > left and not is_empty:
                yield part
                part, left, is_empty = type(whole)(), MAX_PART_BYTES, True
            getattr(part, name).append(row)
            left, is_empty = left - size, False
    yield part

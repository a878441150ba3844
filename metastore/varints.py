"""Protobuf's varints from a table, for replies that are put together from stored bytes without reading them.

Source: protobuf's encoding guide: seven bits a byte, lowest first, the high bit set in all but the last.
"""

from __future__ import annotations

_BITS = 14
_LIMIT = 1 << _BITS
_MASK = _LIMIT - 1
_SHORT = [bytes((n,)) if n < 0x80 else bytes((n & 0x7F | 0x80, n >> 7)) for n in range(_LIMIT)]
_CONTINUED = [bytes((n & 0x7F | 0x80, n >> 7 | 0x80)) for n in range(_LIMIT)]


def varint(number: int) -> bytes:
    """The encoding of a number that is not negative."""
    return _SHORT[number] if number < _LIMIT else _CONTINUED[number & _MASK] + varint(number >> _BITS)

"""The two changes that there are. A command's records are written together or not at all, in their order.

A record is a pair, so that a batch of a thousand costs as little as it can: plain tuples do as well as these names.
"""

from __future__ import annotations

from typing import NamedTuple

Record = tuple[bytes, bytes | None]
"""Key and new value; None: the key goes."""


class Put(NamedTuple):
    key: bytes
    value: bytes


class Delete(NamedTuple):
    """Deleting what is not there changes nothing."""

    key: bytes
    value: None = None

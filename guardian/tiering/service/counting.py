"""What one member's tiering service has done since it started, and what is open: for its metrics.

Written on the event loop, read by whoever asks; each number by itself is right.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol

from protos.guardian.v1 import tiering_pb2

GRANTED = "GRANTED"


class Following(Protocol):
    """A stream that follows partitions; `waiting`: how many of them have something that was not sent yet."""

    @property
    def followed(self) -> int: ...

    @property
    def waiting(self) -> int: ...


@dataclass(slots=True)
class TieringCounters:
    """`refused_appends` counts partitions' parts by AppendErrorKind, `claims` partitions by their result's name."""

    refused_appends: Counter[int] = field(default_factory=Counter)
    claims: Counter[str] = field(default_factory=Counter)
    append_streams: int = 0
    followers: set[Following] = field(default_factory=set)

    def count_claims(self, claims: Iterable[tiering_pb2.Claim]) -> None:
        self.claims.update(name_of(claim.error_kind) if claim.error else GRANTED for claim in claims)


def name_of(kind: int) -> str:
    """An AppendErrorKind's name."""
    known = tiering_pb2.AppendErrorKind.DESCRIPTOR.values_by_number.get(kind)
    return known.name if known is not None else str(kind)

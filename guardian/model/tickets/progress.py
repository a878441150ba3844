"""How far a ticket is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Progress:
    """Say how far it is, and how long the rest takes: `least_ms` to `most_ms`, likely `eta_ms`; None: nothing tells it.

    `bytes_per_s` is that of the whole time that it ran, 0 where nothing tells it.
    """

    total_bytes: int = 0
    copied_bytes: int = 0
    bytes_per_s: float = 0.0
    eta_ms: int | None = None
    least_ms: int | None = None
    most_ms: int | None = None

    @property
    def left_bytes(self) -> int:
        return self.total_bytes - self.copied_bytes

"""How far a ticket is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Progress:
    """`bytes_per_s` is that of the whole time that it ran, 0 where nothing tells it; `eta_ms` None likewise."""

    total_bytes: int = 0
    copied_bytes: int = 0
    bytes_per_s: float = 0.0
    eta_ms: int | None = None

    @property
    def left_bytes(self) -> int:
        return self.total_bytes - self.copied_bytes

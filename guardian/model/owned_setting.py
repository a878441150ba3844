"""A setting that Guardian set somewhere, what it replaced there, and whether it is somebody else's by now."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class OwnedSetting:
    """Record what Guardian may have set as one key of a resource. A value None is a key that is not set.

    `values` are all that may have been sent, oldest first, and the last is the present one; of a list they are
    Guardian's own entries. `replaced` stood there before, and is what is restored. `leaving` are those of `values` that
    were no longer required one step ago. `is_foreign`: somebody else has set another value since.
    """

    resource_type: str
    resource_name: str
    key: str
    values: tuple[str | None, ...]
    replaced: str | None = None
    leaving: tuple[str | None, ...] = ()
    is_foreign: bool = False

    @property
    def value(self) -> str | None:
        """Return the present value."""
        return self.values[-1] if self.values else None

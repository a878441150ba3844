"""The two changes that there are. A command's records are written together or not at all."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Put:
    key: bytes
    value: bytes


@dataclass(frozen=True, slots=True)
class Delete:
    """Deleting what is not there changes nothing."""

    key: bytes


Record = Put | Delete

"""Files that a broken disk, or somebody, has changed behind a member's back."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

_BYTES = 8


def flip(path: Path) -> None:
    """Inverts some bytes in the middle of a file, in place; a second time they are as they were."""
    middle = max(0, path.stat().st_size // 2 - _BYTES // 2)
    with path.open("r+b", buffering=0) as file:
        found = os.pread(file.fileno(), _BYTES, middle)
        os.pwrite(file.fileno(), bytes(byte ^ 0xFF for byte in found), middle)
        os.fsync(file.fileno())


def flip_all(paths: Iterable[Path]) -> int:
    """Does so to each, and returns how many there were."""
    found = list(paths)
    for path in found:
        flip(path)
    return len(found)


def tables(data: Path) -> list[Path]:
    """The store's SST files of a member's data folder, the oldest first."""
    return sorted((data / "store").glob("gen-*/*.sst"))

"""What the voters have confirmed, as far as this member was told: the highest committed index by incarnation.

A leader tells it about once a second, so the file lags by that. A voter that comes back with a shorter log has lost
what it had promised to keep: somebody gave it an older copy of its folder.
"""

from __future__ import annotations

import json
import logging
import zlib
from collections.abc import Mapping, Set
from pathlib import Path

from raft.errors import REJOIN, DamagedData
from raft.storage.files import write_durably
from raft.storage.room import is_passing

CONFIRMED = "confirmed.json"
_logger = logging.getLogger(__name__)


class ConfirmedIndexes:
    """Used by one thread."""

    def __init__(self, directory: Path) -> None:
        """Raises DamagedData when the file is damaged."""
        self._path = directory / CONFIRMED
        self._indexes = _read(self._path)
        self._is_saved = True
        self._is_put_off = False  # for want of room

    def get(self, incarnation: str) -> int:
        """Return the highest index that the incarnation is known to have confirmed; 0: none."""
        return self._indexes.get(incarnation, 0)

    def raise_to(self, indexes: Mapping[str, int]) -> None:
        """Remember the indexes. A lower one than is known changes nothing."""
        for incarnation, index in indexes.items():
            if index > self.get(incarnation):
                self._indexes[incarnation] = index
                self._is_saved = False

    def save(self, incarnations: Set[str]) -> None:
        """Write what was not saved yet, and forget all but these incarnations. Without room for it it is not
        written: an older file lets less be found out, and no more. Raises OSError."""
        if self._is_saved:
            return
        self._indexes = {key: index for key, index in self._indexes.items() if key in incarnations}
        stored = {"confirmed": self._indexes, "crc32": _checksum(self._indexes)}
        try:
            write_durably(self._path, json.dumps(stored).encode())
        except OSError as error:
            if not is_passing(error):
                raise
            if not self._is_put_off:
                _logger.warning("%s is not written until there is room: %s", self._path, error)
            self._is_put_off = True
        else:
            self._is_saved, self._is_put_off = True, False


def _read(path: Path) -> dict[str, int]:
    try:
        stored = json.loads(path.read_bytes())
        indexes = {str(incarnation): int(index) for incarnation, index in stored["confirmed"].items()}
        if stored["crc32"] != _checksum(indexes):
            raise ValueError("its checksum is wrong")
    except FileNotFoundError:
        return {}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DamagedData(f"{path} is damaged ({error}): {REJOIN}") from error
    return indexes


def _checksum(indexes: Mapping[str, int]) -> int:
    return zlib.crc32(json.dumps(sorted(indexes.items())).encode())

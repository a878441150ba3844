"""A group whose members all began with this version uses all of it from the start: nobody has to finish an upgrade.

A member that begins with an empty data folder, and does not join a group that runs, writes down the feature level that
its version knows. Once it leads, the group is raised to that. A group that was founded by an older version, or restored
from a snapshot, has no such note: there a person says when its upgrade is finished (`guardian raft finish-upgrade`).
"""

from __future__ import annotations

from pathlib import Path

from guardian.errors import InvalidInput
from guardian.replication.store.store import ReplicatedStore
from metastore import levels
from raft.storage.files import write_durably

NOTE = "founded-at-level"
_BELONGS_TO_A_GROUP = ("store", "raft")


def founded_level(data: Path, *, join: bool) -> int:
    """The level at which this member's group was founded; 0: not known. Called before anything is put into `data`.

    Raises InvalidInput when the folder can't be written or its note is damaged.
    """
    note = data / NOTE
    try:
        if note.exists():
            return int(note.read_text())
        if join or any((data / each).exists() for each in _BELONGS_TO_A_GROUP):
            return 0
        # Half of it, after a power cut, would keep the member from starting.
        write_durably(note, f"{levels.LEVEL}\n".encode())
    except (OSError, ValueError) as error:
        raise InvalidInput(f"{note} can't be used ({error}): it is one number, and may be deleted") from None
    return levels.LEVEL


class Founder:
    """The leader's tick: raises a new group to the level of its founders, once."""

    def __init__(self, store: ReplicatedStore, founded: int) -> None:
        self._store = store
        self._founded = min(founded, levels.LEVEL)

    def tick(self) -> list[str]:
        """Returns what was done."""
        if self._store.level() >= self._founded:
            return []
        self._store.raise_level(self._founded)
        return [f"the group is new: it begins at feature level {self._founded}"]

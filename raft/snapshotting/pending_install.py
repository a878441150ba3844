"""A note of an install under way, so that a crash between its steps is repaired at start.

    write(marker) ─▶ StateMachine.install ─▶ Journal.reset ─▶ remove(marker)

Found at start: the state is either the old one (below the marker's index: the install did not happen, and the leader
will offer a snapshot again) or the new one. Then the log has to be reset as it would have been; doing it twice is the
same.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from raft.configuration import Configuration
from raft.errors import REJOIN, DamagedData
from raft.storage.files import remove_durably, write_durably

_NAME = "installing.json"


@dataclass(frozen=True, slots=True)
class PendingInstall:
    """The snapshot's index, and the log's term and configuration there."""

    index: int
    term: int
    configuration: Configuration

    def is_done_by(self, applied_index: int) -> bool:
        """Return whether the state machine that is found holds the snapshot already: then the log must be reset."""
        return applied_index >= self.index


def write(directory: Path, pending: PendingInstall) -> None:
    """Durable on return. Raises OSError."""
    content = json.dumps([pending.index, pending.term, pending.configuration.to_bytes().decode()])
    checksum = hashlib.sha256(content.encode()).hexdigest()
    write_durably(directory / _NAME, json.dumps({"install": content, "sha256": checksum}).encode())


def read(directory: Path) -> PendingInstall | None:
    """None when no install is under way. Raises DamagedData when the note is damaged."""
    path = directory / _NAME
    try:
        stored = json.loads(path.read_bytes())
        content = str(stored["install"])
        if hashlib.sha256(content.encode()).hexdigest() != stored["sha256"]:
            raise ValueError("its checksum is wrong")
        index, term, configuration = json.loads(content)
        return PendingInstall(int(index), int(term), Configuration.from_bytes(configuration.encode()))
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DamagedData(f"{path} is damaged ({error}): {REJOIN}") from error


def remove(directory: Path) -> None:
    """Durable on return; one that is not there changes nothing. Raises OSError."""
    remove_durably(directory / _NAME)

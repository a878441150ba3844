"""Whose a data folder is: the member's name, and an incarnation that no other folder has.

An emptied folder gets another incarnation, and a folder that was swapped or copied bears another name. So a member that
forgot its log and its votes is told from the one that gave them (compare etcd's member id and data-dir checks).
"""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from raft.errors import REJOIN, CannotStart, DamagedData
from raft.storage.files import write_durably

IDENTITY = "identity.json"


@dataclass(frozen=True, slots=True)
class FolderIdentity:
    name: str
    incarnation: str


def create_identity(directory: Path, name: str) -> FolderIdentity:
    """Writes a new identity, durable on return. Raises OSError."""
    identity = FolderIdentity(name, uuid4().hex)
    stored = {"name": name, "incarnation": identity.incarnation, "crc32": _checksum(identity)}
    write_durably(directory / IDENTITY, json.dumps(stored).encode())
    return identity


def open_identity(directory: Path, name: str, *, is_new: bool) -> FolderIdentity:
    """Return the identity of the folder of member `name`; a folder whose log is new (`is_new`) gets one.

    Raises CannotStart when the folder is another member's, or its identity is damaged or missing; OSError.
    """
    path = directory / IDENTITY
    try:
        stored = json.loads(path.read_bytes())
        identity = FolderIdentity(str(stored["name"]), str(stored["incarnation"]))
        if stored["crc32"] != _checksum(identity) or not identity.incarnation:
            raise ValueError("its checksum is wrong")
    except FileNotFoundError:
        if is_new:
            return create_identity(directory, name)
        raise DamagedData(f"{path} is missing beside a log: {REJOIN}") from None
    except (ValueError, KeyError, TypeError) as error:
        raise DamagedData(f"{path} is damaged ({error}): {REJOIN}") from error
    if identity.name != name:
        raise CannotStart(
            f"data folder {directory.parent}: it is member {identity.name!r}'s (the configured name is {name!r}); "
            "start each member with its own folder"
        )
    return identity


def _checksum(identity: FolderIdentity) -> int:
    return zlib.crc32(json.dumps([identity.name, identity.incarnation]).encode())

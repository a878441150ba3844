"""A snapshot: the state as of one index, as files with a manifest that says what each of them must be.

    <directory>/manifest.json     index, term and configuration there; name, size and SHA-256 of each file
    <directory>/state/...         what StateMachine.save wrote, opaque

The manifest has one valid spelling and holds a checksum of itself, so a flipped byte anywhere is found. Its own hash is
the snapshot's id: whoever offers the same manifest offers the same bytes.

How a snapshot travels: snapshot_source (leader), snapshot_sink (follower), snapshot_archive (people).
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from raft.configuration import Configuration
from raft.errors import DamagedSnapshot

MANIFEST = "manifest.json"
STATE = "state"
CHUNK_BYTES = 512 << 10  # what travels at once; part of the protocol
MAX_MANIFEST_BYTES = 4 << 20
_HASH_BYTES = 4 << 20  # in one go: each piece may wait for the interpreter's lock, 5 ms beside a busy thread
_MAX_NAME_CHARS = 200
_FORMAT = 1
_NUMBER_LIMIT = 1 << 62  # of the log: they are stored in 64 bits
_NAME_PART = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9._-]+")
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class SnapshotFile:
    """`name` is relative to the state's directory, with "/" between its parts."""

    name: str
    size: int
    sha256: str

    def __post_init__(self) -> None:
        if len(self.name) > _MAX_NAME_CHARS or not all(_NAME_PART.fullmatch(part) for part in self.name.split("/")):
            raise DamagedSnapshot(f"snapshot's file name {self.name!r} is not a plain relative path: take a new one")
        if self.size < 0 or not _SHA256.fullmatch(self.sha256):
            raise DamagedSnapshot(
                f"snapshot's file {self.name} has size {self.size} and SHA-256 {self.sha256!r}: take a new snapshot"
            )

    @property
    def chunks(self) -> range:
        """The offsets at which its chunks start."""
        return range(0, self.size, CHUNK_BYTES)

    def chunk_bytes(self, offset: int) -> int:
        """The size of the chunk that starts there."""
        return min(CHUNK_BYTES, self.size - offset)


@dataclass(frozen=True, slots=True)
class Manifest:
    """`term` and `configuration` are those of the log at `index`. Files are sorted by name."""

    index: int
    term: int
    configuration: Configuration
    files: tuple[SnapshotFile, ...]

    def __post_init__(self) -> None:
        names = [file.name for file in self.files]
        if self.index < 1 or self.term < 0:
            raise DamagedSnapshot(
                f"snapshot is of index {self.index} and term {self.term}: an empty state has no snapshot, write first"
            )
        if max(self.index, self.term) > _NUMBER_LIMIT:
            raise DamagedSnapshot(
                f"snapshot is of index {self.index} and term {self.term}, which no log reaches: take a new snapshot"
            )
        if names != sorted(set(names)) or _directories(names) & set(names):
            raise DamagedSnapshot("snapshot's manifest names a file twice: take a new snapshot")

    @property
    def total_bytes(self) -> int:
        return sum(file.size for file in self.files)

    @property
    def snapshot_id(self) -> str:
        return hashlib.sha256(self.to_bytes()).hexdigest()[:32]

    def file(self, name: str) -> SnapshotFile | None:
        return next((file for file in self.files if file.name == name), None)

    def to_bytes(self) -> bytes:
        content = {
            "format": _FORMAT,
            "index": self.index,
            "term": self.term,
            "configuration": json.loads(self.configuration.to_bytes()),
            "files": [{"name": file.name, "size": file.size, "sha256": file.sha256} for file in self.files],
        }
        return _spelled({**content, "sha256": hashlib.sha256(_spelled(content)).hexdigest()})

    @classmethod
    def from_bytes(cls, data: bytes) -> Manifest:
        """Raises DamagedSnapshot when it is none, or any byte of it was changed."""
        if len(data) > MAX_MANIFEST_BYTES:
            raise DamagedSnapshot(f"snapshot's manifest has {len(data)} bytes, over {MAX_MANIFEST_BYTES}")
        try:
            stored = json.loads(data)
            manifest = cls(
                index=_whole(stored["index"]),
                term=_whole(stored["term"]),
                configuration=Configuration.from_bytes(json.dumps(stored["configuration"]).encode()),
                files=tuple(
                    SnapshotFile(str(file["name"]), _whole(file["size"]), str(file["sha256"]))
                    for file in stored["files"]
                ),
            )
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise DamagedSnapshot(f"snapshot's manifest can't be read ({error!r}): take a new snapshot") from error
        if manifest.to_bytes() != data:
            raise DamagedSnapshot("snapshot's manifest does not match its checksum: take a new snapshot")
        return manifest


def write(
    directory: Path,
    index: int,
    term: int,
    configuration: Configuration,
    pause: Callable[[], None] = lambda: None,
) -> Manifest:
    """Adds the manifest to a directory whose `state` StateMachine.save has written. Not made durable.

    `pause` is called between pieces of the work, so that it can be slowed down, or ended by raising. Raises OSError.
    """
    state = directory / STATE
    files = tuple(
        SnapshotFile(name, (state / name).stat().st_size, hash_file(state / name, pause)) for name in _names(state)
    )
    manifest = Manifest(index, term, configuration, files)
    (directory / MANIFEST).write_bytes(manifest.to_bytes())
    return manifest


def verify(directory: Path) -> Manifest:
    """Raises DamagedSnapshot unless every file, and nothing else, is what the manifest says; OSError."""
    try:
        manifest = Manifest.from_bytes((directory / MANIFEST).read_bytes())
        names = _names(directory / STATE)
    except FileNotFoundError as error:
        raise DamagedSnapshot(f"snapshot {directory} lacks {error.filename}: take a new snapshot") from error
    expected = [file.name for file in manifest.files]
    surplus = [path.name for path in directory.iterdir() if path.name not in {MANIFEST, STATE}]
    if names != expected or surplus:
        odd = sorted({*names} ^ {*expected}) + surplus
        raise DamagedSnapshot(f"snapshot {directory} has not the files of its manifest ({odd[0]}): take a new snapshot")
    for file in manifest.files:
        verify_file(directory / STATE / file.name, file)
    return manifest


def verify_file(path: Path, file: SnapshotFile) -> None:
    """Raises DamagedSnapshot unless the file has its size and hash; OSError."""
    size = path.stat().st_size
    if size != file.size:
        raise DamagedSnapshot(f"snapshot's file {path} has {size} bytes and not {file.size}: take a new snapshot")
    if hash_file(path) != file.sha256:
        raise DamagedSnapshot(f"snapshot's file {path} does not match its SHA-256: take a new snapshot")


def hash_file(path: Path, pause: Callable[[], None] = lambda: None) -> str:
    digest = hashlib.sha256()
    with path.open("rb", buffering=0) as file:
        while data := file.read(_HASH_BYTES):
            digest.update(data)
            pause()
    return digest.hexdigest()


def _names(state: Path) -> list[str]:
    """Every file below, sorted. Raises DamagedSnapshot over anything that is neither file nor directory."""
    found: list[str] = []
    pending = [PurePosixPath()]
    while pending:
        folder = pending.pop()
        with os.scandir(state / folder) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    pending.append(folder / entry.name)
                elif entry.is_file(follow_symlinks=False):
                    found.append(str(folder / entry.name))
                else:
                    raise DamagedSnapshot(f"snapshot's {entry.path} is no regular file: take a new snapshot")
    return sorted(found)


def _directories(names: list[str]) -> set[str]:
    return {str(parent) for name in names for parent in PurePosixPath(name).parents}


def _spelled(content: dict[str, Any]) -> bytes:
    return json.dumps(content, sort_keys=True, separators=(",", ":")).encode()


def _whole(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError(f"{value!r} is no whole number")
    return value

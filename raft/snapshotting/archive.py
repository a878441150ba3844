"""A snapshot as one file for people to keep: a tar archive, the manifest first, then the files in its order.

An archive has one valid spelling, fixed by its manifest: every header and every byte of padding is compared with what
`packed` makes. So nothing in it chooses a place or a kind of file (no links, no "../"). One flipped byte, a file too
many and a cut-off end are all found. Repacked by another tool, it is refused: keep it as it was written.
"""

from __future__ import annotations

import hashlib
import shutil
import tarfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Protocol

from raft.errors import DamagedSnapshot
from raft.snapshotting.snapshots import CHUNK_BYTES, MANIFEST, MAX_MANIFEST_BYTES, STATE, Manifest
from raft.storage.files import sync_directory, sync_tree

_BLOCK = tarfile.BLOCKSIZE
_END = b"\0" * (2 * _BLOCK)
_RETRY = "take a new one, or copy it again"


class Source(Protocol):
    """A stream of bytes, from its beginning."""

    def read(self, size: int, /) -> bytes: ...


class _Output(Protocol):
    def write(self, data: bytes, /) -> object: ...


def packed(directory: Path) -> Iterator[bytes]:
    """The archive, in pieces of at most 512 KiB, each made when it is asked for. Raises DamagedSnapshot when a file is
    not what the manifest says (the pieces until then are refused by `unpack`), OSError."""
    stored = (directory / MANIFEST).read_bytes()
    manifest = Manifest.from_bytes(stored)
    yield _header(MANIFEST, len(stored))
    for start in range(0, len(stored), CHUNK_BYTES):
        yield stored[start : start + CHUNK_BYTES]
    yield _padding(len(stored))
    for file in manifest.files:
        yield _header(f"{STATE}/{file.name}", file.size)
        digest, size = hashlib.sha256(), 0
        with (directory / STATE / file.name).open("rb", buffering=0) as content:
            while data := content.read(CHUNK_BYTES):
                digest.update(data)
                size += len(data)
                yield data
        if (size, digest.hexdigest()) != (file.size, file.sha256):
            raise DamagedSnapshot(f"snapshot's file {file.name} is not what its manifest says: {_RETRY}")
        yield _padding(file.size)
    yield _END


def unpack(source: Source, directory: Path) -> Manifest:
    """Writes the snapshot into `directory`, which must not exist yet, verified and durable on return.

    Raises DamagedSnapshot, and leaves nothing behind then; FileExistsError and other OSErrors.
    """
    directory.mkdir(parents=True)
    try:
        (directory / STATE).mkdir()

        def output(name: str) -> AbstractContextManager[_Output]:
            path = directory / STATE / name
            path.parent.mkdir(parents=True, exist_ok=True)
            return path.open("xb")

        manifest = _read(source, output)
        (directory / MANIFEST).write_bytes(manifest.to_bytes())
        sync_tree(directory)
        sync_directory(directory.parent)
    except BaseException:
        shutil.rmtree(directory, ignore_errors=True)
        raise
    return manifest


def verify_archive(path: Path) -> Manifest:
    """Raises DamagedSnapshot unless every byte is as `pack` wrote it; OSError."""
    with path.open("rb") as source:
        return _read(source, lambda _: nullcontext(_Nowhere()))


class _Nowhere:
    def write(self, data: bytes, /) -> object:
        return len(data)


def _read(source: Source, output: Callable[[str], AbstractContextManager[_Output]]) -> Manifest:
    manifest = _read_manifest(source)
    for file in manifest.files:
        _expect(source, _header(f"{STATE}/{file.name}", file.size), f"the header of {file.name}")
        digest = hashlib.sha256()
        with output(file.name) as target:
            for offset in file.chunks:
                data = _exactly(source, file.chunk_bytes(offset), file.name)
                digest.update(data)
                target.write(data)
        if digest.hexdigest() != file.sha256:
            raise DamagedSnapshot(f"snapshot archive's file {file.name} does not match its SHA-256: {_RETRY}")
        _expect(source, _padding(file.size), f"what follows {file.name}")
    _expect(source, _END, "the end")
    if source.read(1):
        raise DamagedSnapshot(f"snapshot archive goes on after its end: {_RETRY}")
    return manifest


def _read_manifest(source: Source) -> Manifest:
    head = _exactly(source, _BLOCK, MANIFEST)
    try:
        size = tarfile.TarInfo.frombuf(head, "ascii", "strict").size
    except (tarfile.HeaderError, UnicodeDecodeError) as error:
        raise DamagedSnapshot(
            f"snapshot archive is no tar archive of `guardian raft snapshot save`: {error}"
        ) from error
    if not 0 <= size <= MAX_MANIFEST_BYTES or head != _header(MANIFEST, size):
        raise DamagedSnapshot(f"snapshot archive does not begin with {MANIFEST}: {_RETRY}")
    manifest = Manifest.from_bytes(_exactly(source, size, MANIFEST))
    _expect(source, _padding(size), f"what follows {MANIFEST}")
    return manifest


def _header(name: str, size: int) -> bytes:
    member = tarfile.TarInfo(name)
    member.size = size
    member.mode = 0o600
    return member.tobuf(tarfile.GNU_FORMAT)


def _padding(size: int) -> bytes:
    return b"\0" * (-size % _BLOCK)


def _expect(source: Source, expected: bytes, what: str) -> None:
    if _exactly(source, len(expected), what) != expected:
        raise DamagedSnapshot(f"snapshot archive is damaged in {what}: {_RETRY}")


def _exactly(source: Source, size: int, what: str) -> bytes:
    pieces: list[bytes] = []
    while size and (data := source.read(size)):
        pieces.append(data)
        size -= len(data)
    if size:
        raise DamagedSnapshot(f"snapshot archive is cut off in {what}: {_RETRY}")
    return b"".join(pieces)

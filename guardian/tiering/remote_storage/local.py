"""Kafka's LocalTieredStorage: directories in place of an object store, as Kafka's own tests and laptops use it.

    DIR/kafka-tiered-storage/orders-0-LWgrMmVrT0a__7a4SasuPA/00000000000000000011-bCqX9U--S-6U8XUM9II25Q.log

DIR is the brokers' setting `dir`; the folder below it may be given as well.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from guardian.errors import InvalidInput
from guardian.tiering.model import FileKind, SegmentName, StoredFile, uuid_bytes

PARTS = frozenset(
    {FileKind.LOG, FileKind.OFFSET_INDEX, FileKind.TIME_INDEX, FileKind.PRODUCER_SNAPSHOT, FileKind.LEADER_EPOCHS}
)
_ROOT = "kafka-tiered-storage"
_PARTITION = re.compile(r"([a-zA-Z0-9._-]+)-(\d{1,10})-([a-zA-Z0-9_-]{22})")
_FILE = re.compile(r"\d+-([a-zA-Z0-9_-]{22})\.([a-z_]+)")
_KINDS = {kind.value: kind for kind in (*PARTS, FileKind.TRANSACTION_INDEX)}


def files(root: Path) -> Iterator[StoredFile]:
    """Every file below the root. What vanishes meanwhile is left out. Raises InvalidInput."""
    below = root / _ROOT
    try:
        yield from _files(below if below.is_dir() else root)
    except OSError as error:
        raise InvalidInput(f"{error.filename or root} can't be listed: {error.strerror}") from None


def delete(root: Path, stored: Iterable[StoredFile]) -> Iterator[StoredFile]:
    """Deletes files of a listing and gives those that were still there. Raises InvalidInput."""
    for file in stored:
        path = Path(file.path)
        if ".." in path.parts or not path.is_relative_to(root):
            raise InvalidInput(f"{file.path} is to be deleted: use files below {root}")
        try:
            path.unlink()
        except FileNotFoundError:
            continue
        except OSError as error:
            raise InvalidInput(f"{file.path} can't be deleted: {error.strerror}") from None
        yield file


def _files(directory: Path) -> Iterator[StoredFile]:
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from _files_of_folder(directory / entry.name)
                continue
            try:
                status = entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue
            topic, segment, kind = _meaning(directory.name, entry.name)
            yield StoredFile(entry.path, status.st_size, status.st_mtime_ns // 1_000_000, segment, kind, topic)


def _files_of_folder(folder: Path) -> Iterator[StoredFile]:
    try:
        yield from _files(folder)
    except FileNotFoundError:
        return


def _meaning(directory: str, name: str) -> tuple[str, SegmentName | None, FileKind | None]:
    partition, file = _PARTITION.fullmatch(directory), _FILE.fullmatch(name)
    kind = _KINDS.get(file[2]) if file else None
    if partition is None or file is None or kind is None:
        return "", None, None
    try:
        return partition[1], SegmentName(uuid_bytes(partition[3]), int(partition[2]), uuid_bytes(file[1])), kind
    except InvalidInput:
        return "", None, None

"""Files that are durable when a call returns: content first, then the name, then the directory that holds the name."""

from __future__ import annotations

import os
from pathlib import Path


def write_durably(path: Path, content: bytes) -> None:
    """Replaces the file's content, all or nothing. Raises OSError."""
    fresh = path.with_name(path.name + ".tmp")
    with fresh.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)
    sync_directory(path.parent)


def remove_durably(path: Path) -> None:
    """Removes a file; one that is not there changes nothing. Raises OSError."""
    path.unlink(missing_ok=True)
    sync_directory(path.parent)


def sync_file(path: Path) -> None:
    _sync(path, os.O_RDONLY)


def sync_directory(directory: Path) -> None:
    """Makes the names in the directory durable."""
    _sync(directory, os.O_RDONLY | os.O_DIRECTORY)


def sync_tree(directory: Path) -> None:
    """Makes every file and directory below durable, and the directory itself."""
    for path, _, names in os.walk(directory, topdown=False):
        for name in names:
            sync_file(Path(path, name))
        sync_directory(Path(path))


def _sync(path: Path, flags: int) -> None:
    handle = os.open(path, flags | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)

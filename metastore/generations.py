"""Which directory holds the store's data: one generation at a time, replaced as a whole.

    <path>/LOCK     held as long as the store is open
    <path>/CURRENT  the name of the generation that counts
    <path>/gen-N    its files; any other generation is what a crash left of an install, and is removed at start

CURRENT is replaced by one rename, and only once the new generation is complete and synced: a crash in the middle leaves
the old generation or the new one, whole. While the first generation is being made, CURRENT says so, and what is there
then is made anew. A missing CURRENT beside data is nothing that a crash leaves, so it is refused.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
from pathlib import Path

from metastore.store import StoreDamaged, StoreError

_CURRENT = "CURRENT"
_LOCK = "LOCK"
_UNFINISHED = "CURRENT.tmp"
_NAME = re.compile(r"gen-([1-9][0-9]{0,17})")
_MANIFEST = re.compile(rb"(MANIFEST-[0-9]+)\n")
_SAID = re.compile(r"(gen-[1-9][0-9]{0,17})( new)?\n")
_REPAIR = "replace the member by one with an empty data folder; never copy a folder (docs/runbook.md)"


class Generations:
    """Of one store, by one thread at a time. Raises StoreError over what is damaged, OSError when the disk fails."""

    def __init__(self, path: Path) -> None:
        """Locks `path`, which is made if it is not there, and removes what crashes left in it."""
        path.mkdir(parents=True, exist_ok=True)
        self._path = path
        self._lock = _locked(path / _LOCK)
        try:
            said = self._read()
            self.is_new = said is None or said[1]  # nothing was ever stored: `start` it
            self.current = path / (said[0] if said else "gen-1")
            self._repair()
        except BaseException:
            self.unlock()
            raise

    def verify(self) -> None:
        """Raises StoreDamaged unless both files named CURRENT, this one's and RocksDB's, name what is in use and
        there."""
        found = self._read()
        if found is None or self._path / found[0] != self.current:
            raise StoreDamaged(f"metastore {self._path / _CURRENT} does not name {self.current.name}: {_REPAIR}")
        named = self.current / _CURRENT
        if not any(_names_manifest(named) for _ in range(2)):  # it may be replaced between a look and the next
            raise StoreDamaged(f"metastore {named} does not name a manifest that is there: {_REPAIR}")

    def begin(self) -> None:
        """Before the first generation's files are made."""
        _sync_directory(self._path.parent)
        self._write(self.current.name + " new")

    def began(self) -> None:
        """They are there, and durable."""
        _sync_directory(self._path)
        self._write(self.current.name)
        self.is_new = False

    def take_over(self, directory: Path) -> Path:
        """Moves a directory, on the same file system, to where the next generation's is; it does not count yet."""
        following = self._path / f"gen-{_number(self.current.name) + 1}"
        shutil.rmtree(following, ignore_errors=True)
        _sync_tree(directory)
        directory.rename(following)
        _sync_directory(directory.parent)
        _sync_directory(self._path)
        return following

    def switch(self, following: Path) -> None:
        """Make the generation `following` count from now on; what was `current` is to be removed once it is closed."""
        self._write(following.name)
        self.current = following

    def remove(self, generation: Path) -> None:
        """One that does not count."""
        if generation != self.current:
            shutil.rmtree(generation, ignore_errors=True)

    def unlock(self) -> None:
        """A second call does nothing."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def _read(self) -> tuple[str, bool] | None:
        """The generation that counts and whether it is still being made; None when there is no store yet."""
        try:
            content = (self._path / _CURRENT).read_text()
        except FileNotFoundError:
            surplus = sorted(entry.name for entry in self._path.iterdir() if entry.name not in {_LOCK, _UNFINISHED})
            if not surplus:
                return None
            raise StoreDamaged(
                f"metastore {self._path} has {surplus[0]} but no CURRENT, which says what counts: {_REPAIR}"
            ) from None
        except UnicodeDecodeError:
            content = ""
        said = _SAID.fullmatch(content)
        if said is None:
            raise StoreDamaged(f"metastore {self._path / _CURRENT} does not name a generation: {_REPAIR}")
        name, is_new = said[1], said[2] is not None
        if not is_new and not (self._path / name).is_dir():
            raise StoreDamaged(f"metastore {self._path / name} is missing, which CURRENT names: {_REPAIR}")
        return name, is_new

    def _repair(self) -> None:
        (self._path / _UNFINISHED).unlink(missing_ok=True)
        for entry in self._path.iterdir():
            if _NAME.fullmatch(entry.name) and (self.is_new or entry != self.current):
                shutil.rmtree(entry)

    def _write(self, content: str) -> None:
        fresh = self._path / _UNFINISHED
        with fresh.open("w") as file:
            file.write(content + "\n")
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(self._path / _CURRENT)
        _sync_directory(self._path)


def _names_manifest(current: Path) -> bool:
    named = _MANIFEST.fullmatch(current.read_bytes())
    return named is not None and (current.parent / named[1].decode()).exists()


def _number(name: str) -> int:
    found = _NAME.fullmatch(name)
    return int(found[1]) if found else 0


def _locked(path: Path) -> int:
    lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(lock)
        raise StoreError(
            f"metastore {path.parent} can't be opened: another process holds its lock, end that one first"
        ) from error
    return lock


def _sync_tree(directory: Path) -> None:
    for path, _, names in os.walk(directory, topdown=False):
        for name in names:
            _sync(Path(path, name))
        _sync(Path(path))


def _sync_directory(directory: Path) -> None:
    _sync(directory)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)

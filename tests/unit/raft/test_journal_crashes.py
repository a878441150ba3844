"""A power cut between any two file operations leaves the journal as it was before the operation, or as it is after.

The disk here forgets all that was not synced, or only the names, or only the contents, and tears writes in half.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import raft.storage.journal
from raft.configuration import Configuration
from raft.entries import NO_OP, configuration_entry
from raft.storage.journal import Entry, Journal

FIRST = Configuration.of_voters("g", {"a": "host:1"})
SECOND = FIRST.with_learner("b", "host:2")
Image = tuple[tuple[str, bytes], ...]
"""The files of a directory, as they might be found after a crash."""


class Disk:
    """Watches the file operations in one directory and takes images before and after each."""

    def __init__(self, directory: Path) -> None:
        self.images: set[Image] = set()
        self._directory = directory
        self._open = os.open
        self._held: dict[int, int] = {}  # inode to descriptor: so that no inode is used twice
        self._synced: dict[int, bytes] = {}
        self._names: dict[str, int] = {}
        self._look()
        self._synced = {inode: self._content(inode) for inode in self._names.values()}
        self._synced_names = dict(self._names)
        self.take()

    def take(self) -> None:
        self._look()
        changed = dict(self._names.items() ^ self._synced_names.items())
        for names in (self._names, self._synced_names, *map(self._without_change, changed)):
            for content in (self._content, lambda inode: self._synced.get(inode, b"")):
                self.images.add(tuple(sorted((name, content(inode)) for name, inode in names.items())))

    def _without_change(self, name: str) -> dict[str, int]:
        """The names when all changes since they were synced have reached the disk but for one."""
        names = {other: inode for other, inode in self._names.items() if other != name}
        return names | {name: self._synced_names[name]} if name in self._synced_names else names

    def synced(self, descriptor: int) -> None:
        inode = os.fstat(descriptor).st_ino
        if inode == self._directory.stat().st_ino:
            self._look()
            self._synced_names = dict(self._names)
        elif inode in self._held:
            self._synced[inode] = self._content(inode)

    def close(self) -> None:
        for descriptor in self._held.values():
            os.close(descriptor)

    def _look(self) -> None:
        self._names = {}
        for path in self._directory.iterdir():
            inode = path.stat().st_ino
            self._names[path.name] = inode
            if inode not in self._held:
                self._held[inode] = self._open(path, os.O_RDONLY)

    def _content(self, inode: int) -> bytes:
        return os.pread(self._held[inode], 1 << 20, 0)


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path, Callable[[], object]], set[Image]]:
    def watch(directory: Path, act: Callable[[], object]) -> set[Image]:
        disk = Disk(directory)

        def around(call: Callable[..., Any], is_sync: bool) -> Callable[..., Any]:
            def wrapped(*arguments: Any, **keywords: Any) -> Any:
                disk.take()
                result = call(*arguments, **keywords)
                if is_sync:
                    disk.synced(arguments[0])
                disk.take()
                return result

            return wrapped

        write = os.pwrite

        def torn(file: int, data: memoryview, offset: int) -> int:
            disk.take()
            for part in (len(data) // 3, 2 * len(data) // 3):
                write(file, data[:part], offset)
                disk.take()
            written = write(file, data, offset)
            disk.take()
            return written

        with monkeypatch.context() as patch:
            for name in ("replace", "unlink", "ftruncate", "open"):
                patch.setattr(os, name, around(getattr(os, name), is_sync=False))
            for name in ("fsync", "fdatasync"):
                patch.setattr(os, name, around(getattr(os, name), is_sync=True))
            patch.setattr(os, "pwrite", torn)
            act()
        disk.take()
        disk.close()
        return disk.images

    return watch


Watch = Callable[[Path, Callable[[], object]], set[Image]]
State = tuple[tuple[Entry, ...], Configuration | None, int]


def state(journal: Journal) -> State:
    return tuple(journal[:]), journal.configuration, journal.configuration_index


def states_after_crashes(images: set[Image], tmp_path: Path, watch: Watch) -> set[State]:
    """What the journal holds when it is opened on each image, for some of them again after a crash meanwhile."""
    found = set()
    for number, image in enumerate(sorted(images)):
        directory = tmp_path / f"image-{number}"
        write_image(directory, image)
        opened: list[Journal] = []

        def reopen(directory: Path = directory, opened: list[Journal] = opened) -> None:
            opened.append(Journal(directory))

        again = set()
        if number % 5 == 0:
            again = watch(directory, reopen)
        else:
            reopen()
        expected = state(opened[0])
        opened[0].append(b"\x00\x00after", opened[0].last_index + 1, 9)
        opened[0].close()
        reopened = Journal(directory)
        assert reopened[:-1] == list(expected[0])
        reopened.close()
        for second, image_of_start in enumerate(again):
            write_image(tmp_path / f"image-{number}-{second}", image_of_start)
            journal = Journal(tmp_path / f"image-{number}-{second}")
            assert state(journal) == expected
            journal.close()
        found.add(expected)
    return found


def write_image(directory: Path, image: Image) -> None:
    directory.mkdir()
    for name, content in image:
        (directory / name).write_bytes(content)


@pytest.fixture(params=[1, 300, 16 << 20], ids=["a segment an entry", "some in a segment", "one segment"])
def journal(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Journal]:
    monkeypatch.setattr(raft.storage.journal, "SEGMENT_BYTES", request.param)
    journal = Journal(tmp_path / "journal", FIRST)
    journal.set_vote(1, "a")
    for index in range(2, 9):
        entry = configuration_entry(SECOND) if index == 5 else b"\x00\x00%d" % index
        journal.append(entry, index, 1)
        journal.sync()
    yield journal
    journal.close()


def test_appending_leaves_the_old_log_or_a_part_of_what_was_added(
    journal: Journal, tmp_path: Path, watched: Watch
) -> None:
    before = journal[:]
    for index in (9, 10, 11):
        journal.append(b"\x00\x00" + os.urandom(100), index, 2)
    images = watched(tmp_path / "journal", journal.sync)
    found = states_after_crashes(images, tmp_path, watched)
    for entries, configuration, _ in found:
        assert list(entries) == journal[: len(entries)]
        assert len(entries) >= len(before)
        assert configuration == SECOND
    assert state(journal) in found


@pytest.mark.slow
@pytest.mark.parametrize("position", [1, 3, 4, 5, 7])
@pytest.mark.parametrize("appended", [0, 1, 9])
def test_replacing_a_suffix_leaves_the_old_one_or_the_new_one(
    journal: Journal, tmp_path: Path, watched: Watch, position: int, appended: int
) -> None:
    before = state(journal)
    journal.truncate(position)
    for _ in range(appended):
        journal.append(b"\x00\x00" + os.urandom(100), journal.last_index + 1, 2)
    images = watched(tmp_path / "journal", journal.sync)
    assert states_after_crashes(images, tmp_path, watched) == {before, state(journal)}


def test_replacing_a_suffix_twice_leaves_one_of_them(journal: Journal, tmp_path: Path, watched: Watch) -> None:
    journal.truncate(6)
    journal.append(b"\x00\x00second", 7, 2)
    journal.sync()
    journal.append(b"\x00\x00second", 8, 2)
    journal.sync()
    before = state(journal)
    journal.truncate(3)
    journal.append(b"\x00\x00third", 4, 3)
    images = watched(tmp_path / "journal", journal.sync)
    assert states_after_crashes(images, tmp_path, watched) == {before, state(journal)}


def test_trimming_leaves_a_log_without_holes(journal: Journal, tmp_path: Path, watched: Watch) -> None:
    before = state(journal)
    images = watched(tmp_path / "journal", lambda: journal.trim(6))
    for entries, configuration, configuration_index in states_after_crashes(images, tmp_path, watched):
        assert list(entries) == list(before[0])[-len(entries) :]
        assert len(entries) >= 3
        assert (configuration, configuration_index) == (SECOND, 5)


@pytest.mark.slow
@pytest.mark.parametrize("index", [1, 5, 8, 100])
def test_a_reset_leaves_the_old_log_or_the_new_anchor(
    journal: Journal, tmp_path: Path, watched: Watch, index: int
) -> None:
    before = state(journal)
    journal.append(b"\x00\x00not synced", 9, 1)
    images = watched(tmp_path / "journal", lambda: journal.reset(index, 4, FIRST))
    assert state(journal) == (((NO_OP, index, 4),), FIRST, index)
    assert states_after_crashes(images, tmp_path, watched) == {before, state(journal)}


def test_a_vote_is_the_old_one_or_the_new_one(journal: Journal, tmp_path: Path, watched: Watch) -> None:
    images = watched(tmp_path / "journal", lambda: journal.set_vote(4, "b"))
    votes = set()
    for number, image in enumerate(images):
        write_image(tmp_path / str(number), image)
        reopened = Journal(tmp_path / str(number))
        votes.add((reopened.term, reopened.voted_for))
        reopened.close()
    assert votes == {(1, "a"), (4, "b")}


def test_a_crash_while_the_journal_is_created_leaves_none_or_a_whole_one(tmp_path: Path, watched: Watch) -> None:
    directory = tmp_path / "new"
    directory.mkdir()
    images = watched(directory, lambda: Journal(directory, FIRST))
    for number, image in enumerate(images):
        write_image(tmp_path / str(number), image)
        journal = Journal(tmp_path / str(number), FIRST)
        assert state(journal) == (((NO_OP, 1, 0),), FIRST, 0)
        journal.close()

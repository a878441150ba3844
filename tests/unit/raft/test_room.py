"""What lacks room is written later: here the descriptors of the process are really used up."""

from __future__ import annotations

import errno
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from raft.configuration import Configuration
from raft.storage.journal import Journal
from raft.storage.room import Room, is_passing

GROUP = Configuration.of_voters("g", {"g1": "g1:1"})


@contextmanager
def no_descriptors_left() -> Iterator[list[int]]:
    """All that this process may have are open; those that are yielded may be closed."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    used = max(int(name) for name in os.listdir("/proc/self/fd"))  # noqa: PTH208
    taken: list[int] = []
    resource.setrlimit(resource.RLIMIT_NOFILE, (used + 8, before[1]))
    try:
        with suppress(OSError):
            while True:
                taken.append(os.open(os.devnull, os.O_RDONLY))
        yield taken
    finally:
        for descriptor in taken:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_a_vote_and_a_new_segment_are_written_though_the_process_has_no_descriptor_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("raft.storage.journal.SEGMENT_BYTES", 1)  # each batch begins a segment
    journal = Journal(tmp_path, GROUP)
    with no_descriptors_left():
        journal.set_vote(3, "g1")
        for index in (2, 3):
            journal.append(b"entry", index, 3)
            journal.sync()
    journal.close()
    again = Journal(tmp_path, GROUP)
    assert (again.term, again.voted_for, again.last_index) == (3, "g1", 3)
    again.close()


def test_a_write_waits_for_a_descriptor_and_goes_on_by_itself(tmp_path: Path) -> None:
    journal = Journal(tmp_path, GROUP)
    waited: list[int | None] = []
    journal.room.close()
    with no_descriptors_left() as taken:

        def wait(error: OSError) -> None:
            waited.append(error.errno)
            os.close(taken.pop())

        journal.room.wait = wait
        journal.set_vote(3, "g1")
        journal.append(b"entry", 2, 3)
        journal.sync()
    journal.close()
    assert waited
    assert set(waited) == {errno.EMFILE}
    again = Journal(tmp_path, GROUP)
    assert (again.term, again.voted_for, again.last_index) == (3, "g1", 2)
    again.close()


def test_a_member_that_ends_waits_for_no_room() -> None:
    room = Room()

    def gives_up(error: OSError) -> None:
        raise error

    def write() -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    room.wait = gives_up
    with pytest.raises(OSError, match="No space"):
        room.ensure(write)
    room.close()


def test_a_broken_disk_is_not_waited_for() -> None:
    room, attempts = Room(), []

    def write() -> None:
        attempts.append(1)
        raise OSError(errno.EIO, "Input/output error")

    room.wait = lambda _: None
    with pytest.raises(OSError, match="Input/output"):
        room.ensure(write)
    assert len(attempts) == 1
    room.close()


def test_an_fsync_that_finds_no_space_is_final(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = Journal(tmp_path, GROUP)
    journal.room.wait = lambda _: pytest.fail("it must not be tried again")

    def fails(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    journal.append(b"entry", 2, 1)
    monkeypatch.setattr(os, "fdatasync", fails)
    with pytest.raises(OSError, match="No space"):
        journal.sync()
    monkeypatch.undo()
    with pytest.raises(OSError, match="No space"):
        journal.sync()
    journal.close()


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE])
def test_what_may_come_back_is_told_by_its_number(number: int) -> None:
    assert is_passing(OSError(number, "x"))
    assert not is_passing(OSError(errno.EIO, "x"))
    assert not is_passing(ValueError("No space left on device"))

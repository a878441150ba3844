"""The note of an install under way."""

from __future__ import annotations

from pathlib import Path

import pytest

from raft.configuration import Configuration
from raft.errors import CannotStart
from raft.snapshotting import pending_install
from raft.snapshotting.pending_install import PendingInstall

PENDING = PendingInstall(9, 2, Configuration.of_voters("g", {"a": "a:1"}).with_learner("b", "b:1"))


def test_a_note_is_found_until_it_is_removed(tmp_path: Path) -> None:
    assert pending_install.read(tmp_path) is None
    pending_install.write(tmp_path, PENDING)
    assert pending_install.read(tmp_path) == PENDING
    pending_install.remove(tmp_path)
    pending_install.remove(tmp_path)
    assert pending_install.read(tmp_path) is None


def test_a_damaged_note_is_refused(tmp_path: Path) -> None:
    pending_install.write(tmp_path, PENDING)
    path = tmp_path / "installing.json"
    stored = path.read_bytes()
    for changed in (
        b"",
        b"[]",
        b"null",
        stored[:-1],
        stored.replace(b"[9, 2", b"[8, 2"),
        stored.replace(b"a:1", b"a:2"),
    ):
        path.write_bytes(changed)
        with pytest.raises(CannotStart, match="damaged"):
            pending_install.read(tmp_path)


def test_a_write_that_a_crash_cut_short_is_no_note(tmp_path: Path) -> None:
    (tmp_path / "installing.json.tmp").write_bytes(b"{")
    assert pending_install.read(tmp_path) is None
    pending_install.write(tmp_path, PENDING)
    assert pending_install.read(tmp_path) == PENDING


def test_the_state_tells_whether_the_install_happened() -> None:
    assert not PENDING.is_done_by(8)
    assert PENDING.is_done_by(9)

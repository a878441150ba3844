"""A snapshot out of a stopped member's folder: its state, and what only its log has."""

from __future__ import annotations

from pathlib import Path

import pytest

from metastore.rocksdb import RocksDbStore
from raft.configuration import Configuration
from raft.entries import command_entry, configuration_entry
from raft.errors import CannotStart
from raft.restoring import restore_snapshot
from raft.salvaging import salvage
from raft.storage.journal import Journal

GROUP = Configuration.of_voters("old", {"a": "a:1", "b": "b:1", "c": "c:1"})
LATER = Configuration.of_voters("old", {"a": "a:2", "b": "b:1", "c": "c:1"})


class Appended(RocksDbStore):
    """A command is the key that it puts."""

    def apply(self, index: int, command: bytes) -> bytes:
        self.write([(command, b"put")], index)
        return b""

    def checksum_at(self, index: int) -> bytes | None:
        raise AssertionError(f"nothing is compared, not index {index}")


def folder(data: Path, applied: int, last: int, trimmed_below: int = 0) -> Path:
    """Entry N puts key N, but for the first one, and entry 4, which brings a configuration. The state has those up to
    `applied`."""
    journal = Journal(data / "raft", GROUP)
    journal.set_vote(3, "a")
    for index in range(2, last + 1):
        kinds = {4: configuration_entry(LATER)}
        journal.append(kinds.get(index, command_entry(b"%d" % index)), index, 3)
        if index == trimmed_below:
            journal.sync()
            journal.reset(index, 3, LATER)
    journal.sync()
    journal.close()
    store = Appended(data / "store")
    for index in range(2, applied + 1):
        if index != 4:
            store.apply(index, b"%d" % index)
    store.sync()
    store.close()
    return data


def files(data: Path) -> dict[str, bytes]:
    return {str(path.relative_to(data)): path.read_bytes() for path in sorted(data.rglob("*")) if path.is_file()}


def keys(archive: Path, data: Path) -> tuple[int, list[bytes]]:
    restore_snapshot(archive, data, name="z", address="z:1", group_id="new", open_state_machine=Appended)
    store = Appended(data / "store")
    try:
        return store.applied_index, [key for key, _ in store.scan(b"") if key.isdigit()]
    finally:
        store.close()


def test_what_only_the_log_has_comes_along_and_the_folder_stays_as_it_is(tmp_path: Path) -> None:
    data = folder(tmp_path / "data", applied=3, last=7)
    before = files(data)
    manifest, found = salvage(data, tmp_path / "last.tar", Appended)
    assert (manifest.index, manifest.term, manifest.configuration, found) == (7, 3, LATER, 3)
    assert files(data) == before
    assert keys(tmp_path / "last.tar", tmp_path / "new") == (7, [b"2", b"3", b"5", b"6", b"7"])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data", "last.tar", "new"]


def test_a_state_that_has_all_of_the_log_is_saved_as_it_is(tmp_path: Path) -> None:
    data = folder(tmp_path / "data", applied=6, last=6)
    assert salvage(data, tmp_path / "last.tar", Appended)[1] == 0
    assert keys(tmp_path / "last.tar", tmp_path / "new") == (6, [b"2", b"3", b"5", b"6"])


def test_a_hole_between_state_and_log_is_refused(tmp_path: Path) -> None:
    data = folder(tmp_path / "data", applied=3, last=8, trimmed_below=6)
    with pytest.raises(CannotStart, match="applied index 3 but the raft log begins at 6"):
        salvage(data, tmp_path / "last.tar", Appended)
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


@pytest.mark.parametrize("part", ["store", "raft"])
def test_a_folder_of_something_else_is_refused(tmp_path: Path, part: str) -> None:
    (tmp_path / "data" / part).mkdir(parents=True)
    with pytest.raises(CannotStart, match="name the folder of a stopped member"):
        salvage(tmp_path / "data", tmp_path / "last.tar", Appended)


def test_an_archive_is_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / "last.tar").write_bytes(b"an older one")
    with pytest.raises(FileExistsError):
        salvage(folder(tmp_path / "data", applied=2, last=2), tmp_path / "last.tar", Appended)
    assert (tmp_path / "last.tar").read_bytes() == b"an older one"

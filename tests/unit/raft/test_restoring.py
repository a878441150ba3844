"""A data directory from an archive: one member, a new group, the state as it was."""

from __future__ import annotations

from pathlib import Path

import pytest

from metastore.rocksdb import RocksDbStore
from metastore.store import StoreError
from raft.configuration import Configuration
from raft.errors import CannotStart, DamagedSnapshot
from raft.restoring import restore_snapshot, verify_archive
from raft.snapshotting import snapshots
from raft.snapshotting.archive import packed
from raft.snapshotting.snapshots import Manifest
from raft.storage.identity import open_identity
from raft.storage.journal import Journal

OLD_GROUP = Configuration.of_voters("old", {"a": "a:1", "b": "b:1", "c": "c:1"})


class StateMachine(RocksDbStore):
    def apply(self, index: int, command: bytes) -> bytes:
        raise AssertionError(f"a restore applies nothing, not {command!r} at {index}")

    def checksum_at(self, index: int) -> bytes | None:
        raise AssertionError(f"a restore compares nothing, not index {index}")


def archived(directory: Path, index: int = 70) -> Path:
    """An archive that says it is of that index; its state is of index 70."""
    store = RocksDbStore(directory / "source")
    store.write([(b"a", b"1")], 70)
    (directory / "snapshot").mkdir()
    store.save(directory / "snapshot" / "state")
    store.close()
    snapshots.write(directory / "snapshot", index, 6, OLD_GROUP)
    with (directory / "archive").open("wb") as archive:
        archive.writelines(packed(directory / "snapshot"))
    return directory / "archive"


def restored(archive: Path, data: Path, group_id: str = "new") -> Manifest:
    return restore_snapshot(
        archive,
        data,
        name="z",
        address="z:1",
        group_id=group_id,
        open_state_machine=StateMachine,
    )


def test_a_restored_member_has_the_state_and_is_alone_in_a_new_group(tmp_path: Path) -> None:
    archive = archived(tmp_path)
    manifest = restored(archive, tmp_path / "new" / "data")
    assert (manifest.index, manifest.configuration) == (70, OLD_GROUP)
    store = RocksDbStore(tmp_path / "new" / "data" / "store")
    assert (store.applied_index, store.get(b"a")) == (70, b"1")
    store.close()
    journal = Journal(tmp_path / "new" / "data" / "raft")
    assert (journal.first_index, journal.last_index, journal.last_term, journal.voted_for) == (70, 70, 6, None)
    assert journal.term >= 6
    assert not journal.is_pristine
    identity = open_identity(tmp_path / "new" / "data" / "raft", "z", is_new=False)
    assert journal.configuration == Configuration.of_voters("new", {"z": "z:1"}).founded({"z": identity.incarnation})
    journal.close()
    assert sorted(path.name for path in (tmp_path / "new" / "data").iterdir()) == ["raft", "store"]


def test_a_directory_that_holds_anything_is_refused_and_kept(tmp_path: Path) -> None:
    archive = archived(tmp_path)
    (tmp_path / "data" / "raft").mkdir(parents=True)
    with pytest.raises(CannotStart, match=r"data is not empty \(it has raft\)"):
        restored(archive, tmp_path / "data")
    assert [path.name for path in (tmp_path / "data").iterdir()] == ["raft"]


def test_the_old_groups_id_is_refused(tmp_path: Path) -> None:
    archive = archived(tmp_path)
    with pytest.raises(CannotStart, match="group id old is that of the snapshot's group"):
        restored(archive, tmp_path / "data", group_id="old")
    assert list((tmp_path / "data").iterdir()) == []


def test_a_damaged_archive_restores_nothing(tmp_path: Path) -> None:
    archive = archived(tmp_path)
    assert verify_archive(archive).index == 70
    content = bytearray(archive.read_bytes())
    content[len(content) // 2] ^= 4
    archive.write_bytes(content)
    with pytest.raises(DamagedSnapshot):
        verify_archive(archive)
    with pytest.raises(DamagedSnapshot):
        restored(archive, tmp_path / "data")
    assert list((tmp_path / "data").iterdir()) == []


def test_an_archive_that_says_another_index_than_its_state_restores_nothing(tmp_path: Path) -> None:
    archive = archived(tmp_path, index=71)
    with pytest.raises(DamagedSnapshot, match="says index 71, and its state is of 70"):
        restored(archive, tmp_path / "data")
    assert list((tmp_path / "data").iterdir()) == []


def test_a_state_that_can_not_be_installed_restores_nothing(tmp_path: Path) -> None:
    (tmp_path / "snapshot" / "state").mkdir(parents=True)
    (tmp_path / "snapshot" / "state" / "odd").write_bytes(b"no store")
    snapshots.write(tmp_path / "snapshot", 70, 6, OLD_GROUP)
    with (tmp_path / "archive").open("wb") as archive:
        archive.writelines(packed(tmp_path / "snapshot"))
    with pytest.raises(StoreError):
        restored(tmp_path / "archive", tmp_path / "data")
    assert list((tmp_path / "data").iterdir()) == []

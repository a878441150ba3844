"""The archive for people: it comes back as it was, and any other byte is refused."""

from __future__ import annotations

import io
import os
import tarfile
from pathlib import Path

import pytest

from raft.configuration import Configuration
from raft.errors import DamagedSnapshot
from raft.snapshotting import snapshots
from raft.snapshotting.archive import packed, unpack, verify_archive
from raft.snapshotting.snapshots import CHUNK_BYTES

CONFIGURATION = Configuration.of_voters("g", {"a": "a:1"})


@pytest.fixture
def snapshot(tmp_path: Path) -> Path:
    directory = tmp_path / "snapshot"
    (directory / "state" / "sub").mkdir(parents=True)
    (directory / "state" / "a").write_bytes(b"content")
    (directory / "state" / "b").write_bytes(b"")
    (directory / "state" / "sub" / ("long" * 30)).write_bytes(os.urandom(512))
    snapshots.write(directory, 5, 2, CONFIGURATION)
    return directory


def archive_of(directory: Path) -> bytes:
    pieces = list(packed(directory))
    assert max(map(len, pieces)) <= CHUNK_BYTES
    return b"".join(pieces)


def test_an_archive_comes_back_as_it_was(snapshot: Path, tmp_path: Path) -> None:
    manifest = unpack(io.BytesIO(archive_of(snapshot)), tmp_path / "again")
    assert manifest == snapshots.verify(snapshot) == snapshots.verify(tmp_path / "again")
    (tmp_path / "archive").write_bytes(archive_of(snapshot))
    assert verify_archive(tmp_path / "archive") == manifest


def test_an_archive_is_a_tar_archive(snapshot: Path) -> None:
    with tarfile.open(fileobj=io.BytesIO(archive_of(snapshot))) as archive:
        assert archive.getnames() == ["manifest.json", "state/a", "state/b", "state/sub/" + "long" * 30]


def test_large_files_travel_in_pieces(snapshot: Path, tmp_path: Path) -> None:
    (snapshot / "state" / "large").write_bytes(os.urandom(2 * CHUNK_BYTES + 5))
    (snapshot / "manifest.json").unlink()
    snapshots.write(snapshot, 5, 2, CONFIGURATION)
    assert unpack(io.BytesIO(archive_of(snapshot)), tmp_path / "again") == snapshots.verify(tmp_path / "again")


@pytest.mark.slow
def test_one_flipped_bit_anywhere_is_refused_and_nothing_is_left(snapshot: Path, tmp_path: Path) -> None:
    archive = archive_of(snapshot)
    for position in range(0, len(archive), 3):  # no part of it is shorter
        changed = bytearray(archive)
        changed[position] ^= 1 << position % 8
        (tmp_path / "archive").write_bytes(changed)
        with pytest.raises(DamagedSnapshot):
            verify_archive(tmp_path / "archive")
    with pytest.raises(DamagedSnapshot):
        unpack(io.BytesIO(bytes(changed)), tmp_path / "again")
    assert not (tmp_path / "again").exists()


def test_an_archive_that_is_cut_off_or_goes_on_is_refused(snapshot: Path, tmp_path: Path) -> None:
    archive = archive_of(snapshot)
    for other in [archive[:size] for size in range(0, len(archive), 100)] + [archive[:-1], archive + b"\0"]:
        with pytest.raises(DamagedSnapshot):
            unpack(io.BytesIO(other), tmp_path / "again")
        assert not (tmp_path / "again").exists()


def test_another_file_or_a_link_in_the_archive_is_refused(snapshot: Path, tmp_path: Path) -> None:
    stored = (snapshot / "manifest.json").read_bytes()
    for kind, name in ((tarfile.REGTYPE, "../evil"), (tarfile.SYMTYPE, "state/a"), (tarfile.REGTYPE, "state/z")):
        archive = io.BytesIO()
        with tarfile.open(fileobj=archive, mode="w", format=tarfile.GNU_FORMAT) as tar:
            head = tarfile.TarInfo("manifest.json")
            head.size, head.mode = len(stored), 0o600
            tar.addfile(head, io.BytesIO(stored))
            odd = tarfile.TarInfo(name)
            odd.type, odd.linkname = kind, "/etc/passwd"
            tar.addfile(odd)
        archive.seek(0)
        with pytest.raises(DamagedSnapshot, match="header of a"):
            unpack(archive, tmp_path / "again")


def test_a_file_that_changed_since_is_not_packed(snapshot: Path) -> None:
    (snapshot / "state" / "a").write_bytes(b"c0ntent")
    with pytest.raises(DamagedSnapshot, match="file a is not what its manifest says"):
        archive_of(snapshot)


def test_a_directory_that_is_there_stays_as_it_is(snapshot: Path, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "mine").touch()
    with pytest.raises(FileExistsError):
        unpack(io.BytesIO(archive_of(snapshot)), tmp_path / "there")
    assert (tmp_path / "there" / "mine").exists()

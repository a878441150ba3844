"""A snapshot's manifest and files: what is whole passes, and nothing else does."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from raft.configuration import Configuration
from raft.errors import DamagedSnapshot
from raft.snapshotting import snapshots
from raft.snapshotting.snapshots import CHUNK_BYTES, Manifest, SnapshotFile

CONFIGURATION = Configuration.of_voters("g", {"a": "a:1", "b": "b:1"}).with_learner("c", "c:1")
SHA = "0" * 64


def written(directory: Path) -> Manifest:
    state = directory / "state"
    (state / "sub").mkdir(parents=True)
    (state / "CURRENT").write_bytes(b"MANIFEST-1\n")
    (state / "sub" / "000001.sst").write_bytes(os.urandom(2 * CHUNK_BYTES + 17))
    (state / "empty.log").write_bytes(b"")
    return snapshots.write(directory, 7, 3, CONFIGURATION)


def test_what_was_written_verifies(tmp_path: Path) -> None:
    manifest = written(tmp_path)
    assert snapshots.verify(tmp_path) == manifest
    assert [file.name for file in manifest.files] == ["CURRENT", "empty.log", "sub/000001.sst"]
    assert (manifest.index, manifest.term, manifest.configuration) == (7, 3, CONFIGURATION)
    assert manifest.total_bytes == 2 * CHUNK_BYTES + 17 + 11


def test_a_manifest_survives_its_bytes(tmp_path: Path) -> None:
    manifest = written(tmp_path)
    assert Manifest.from_bytes(manifest.to_bytes()) == manifest
    assert Manifest.from_bytes(manifest.to_bytes()).snapshot_id == manifest.snapshot_id


def test_one_flipped_bit_anywhere_in_the_manifest_is_found(tmp_path: Path) -> None:
    stored = written(tmp_path).to_bytes()
    for position in range(len(stored)):
        for bit in (1, 32):
            changed = bytearray(stored)
            changed[position] ^= bit
            with pytest.raises(DamagedSnapshot):
                Manifest.from_bytes(bytes(changed))


def test_a_manifest_that_is_cut_off_or_spelled_otherwise_is_refused(tmp_path: Path) -> None:
    stored = written(tmp_path).to_bytes()
    for other in (b"", stored[:-1], stored + b" ", json.dumps(json.loads(stored)).encode(), b"[]", b"[" * 100_000):
        with pytest.raises(DamagedSnapshot):
            Manifest.from_bytes(other)


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize(
    "damage",
    [
        lambda d: flip(d / "state" / "sub" / "000001.sst"),
        lambda d: flip(d / "state" / "CURRENT"),
        lambda d: os.truncate(d / "state" / "sub" / "000001.sst", CHUNK_BYTES),
        lambda d: os.truncate(d / "state" / "CURRENT", 0),
        lambda d: (d / "state" / "empty.log").unlink(),
        lambda d: (d / "state" / "empty.log").write_bytes(b"x"),
        lambda d: (d / "state" / "surplus").write_bytes(b""),
        lambda d: (d / "surplus").write_bytes(b""),
        lambda d: (d / "manifest.json").unlink(),
        lambda d: (d / "state").rename(d / "elsewhere"),
        lambda d: ((d / "state" / "CURRENT").unlink(), (d / "state" / "CURRENT").symlink_to("empty.log")),
    ],
)
def test_damage_is_found(tmp_path: Path, damage: Callable[[Path], object]) -> None:
    written(tmp_path)
    damage(tmp_path)
    with pytest.raises(DamagedSnapshot):
        snapshots.verify(tmp_path)


@pytest.mark.parametrize(
    "name",
    ["../x", "/etc/passwd", "a/../b", "a//b", "", ".", "..", "a/", "a\\b", "a\x00b", "ä", "a b", "a/./b", "x" * 201],
)
def test_a_name_that_could_lead_elsewhere_is_refused(name: str) -> None:
    with pytest.raises(DamagedSnapshot, match="plain relative path"):
        SnapshotFile(name, 0, SHA)


def test_two_files_in_one_place_are_refused() -> None:
    for names in (["a", "a"], ["b", "a"], ["a", "a/b"]):
        with pytest.raises(DamagedSnapshot, match="twice"):
            Manifest(1, 1, CONFIGURATION, tuple(SnapshotFile(name, 0, SHA) for name in names))


def test_an_empty_state_has_no_snapshot() -> None:
    with pytest.raises(DamagedSnapshot, match="empty state"):
        Manifest(0, 0, CONFIGURATION, ())


def test_writing_can_be_ended_in_the_middle(tmp_path: Path) -> None:
    class Ended(Exception):
        pass

    def end() -> None:
        raise Ended

    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "a").write_bytes(b"a")
    with pytest.raises(Ended):
        snapshots.write(tmp_path, 1, 1, CONFIGURATION, end)
    assert not (tmp_path / "manifest.json").exists()

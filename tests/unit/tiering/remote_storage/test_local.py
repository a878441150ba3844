"""Directories as Kafka's LocalTieredStorage writes them, and what else may lie there."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from guardian.errors import InvalidInput
from guardian.tiering.model import FileKind, SegmentName, StoredFile, uuid_bytes
from guardian.tiering.remote_storage import local
from guardian.tiering.remote_storage.stores import open_store

TOPIC_ID, SEGMENT_ID = "LWgrMmVrT0a__7a4SasuPA", "bCqX9U--S-6U8XUM9II25Q"
SUFFIXES = ("log", "index", "timeindex", "txnindex", "snapshot", "leader_epoch_checkpoint")
NAME = SegmentName(uuid_bytes(TOPIC_ID), 3, uuid_bytes(SEGMENT_ID))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """What a broker's `dir` is; one segment below it."""
    partition = tmp_path / "kafka-tiered-storage" / f"my.topic-1-3-{TOPIC_ID}"
    partition.mkdir(parents=True)
    for suffix in SUFFIXES:
        (partition / f"00000000000000000011-{SEGMENT_ID}.{suffix}").write_bytes(b"x" * len(suffix))
    return tmp_path


def test_each_file_is_a_part_of_its_segment(root: Path) -> None:
    found = list(local.files(root))
    assert {(file.segment, file.topic) for file in found} == {(NAME, "my.topic-1")}
    assert {file.kind: file.size_bytes for file in found} == {FileKind(suffix): len(suffix) for suffix in SUFFIXES}
    log = next(file for file in found if file.kind is FileKind.LOG)
    assert log.path.endswith(f"/00000000000000000011-{SEGMENT_ID}.log")
    assert log.modified_ms == Path(log.path).stat().st_mtime_ns // 1_000_000
    assert {file.kind for file in found} >= local.PARTS


def test_the_folder_below_may_be_given_as_well(root: Path) -> None:
    assert sorted(local.files(root / "kafka-tiered-storage"), key=str) == sorted(local.files(root), key=str)


@pytest.mark.parametrize(
    "path",
    [
        "kafka-tiered-storage/notes.txt",
        f"kafka-tiered-storage/my.topic-1-3-{TOPIC_ID}/notes.txt",
        f"kafka-tiered-storage/my.topic-1-3-{TOPIC_ID}/00000000000000000011-{SEGMENT_ID}.parquet",
        f"kafka-tiered-storage/my.topic-1-3-{TOPIC_ID}/00000000000000000011-short.log",
        f"kafka-tiered-storage/my.topic-1-3-{'!' * 22}/00000000000000000011-{SEGMENT_ID}.log",
        f"kafka-tiered-storage/my.topic-1-3-{TOPIC_ID[:-1]}B/00000000000000000011-{SEGMENT_ID}.log",
        f"kafka-tiered-storage/a/my.topic-1-3-{TOPIC_ID}/deep/file.log",
    ],
)
def test_what_is_no_file_of_the_layout_is_listed_without_a_segment(root: Path, path: str) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text("12345")
    [stray] = [file for file in local.files(root) if file.segment is None]
    assert (stray.path, stray.size_bytes, stray.kind) == (str(root / path), 5, None)


def test_links_are_not_followed(root: Path) -> None:
    (root / "kafka-tiered-storage" / "loop").symlink_to(root)
    (root / "kafka-tiered-storage" / "dead").symlink_to("nowhere")
    assert sum(file.segment is None for file in local.files(root)) == 2


def test_folders_that_are_left_empty_are_nothing(tmp_path: Path) -> None:
    (tmp_path / "kafka-tiered-storage" / f"t-0-{TOPIC_ID}").mkdir(parents=True)
    assert list(local.files(tmp_path)) == []


def test_a_folder_that_vanishes_while_the_store_is_listed_is_left_out(root: Path) -> None:
    """Kafka deletes a partition's folder with its topic."""
    other = root / "kafka-tiered-storage" / f"other-0-{TOPIC_ID}"
    other.mkdir()
    (other / "a").write_text("")
    found = []
    for file in local.files(root):
        found.append(file.path)
        if len(found) == 1:
            doomed = (
                other if Path(file.path).parent != other else root / "kafka-tiered-storage" / f"my.topic-1-3-{TOPIC_ID}"
            )
            shutil.rmtree(doomed)
    assert len({Path(path).parent for path in found}) == 1


def test_a_folder_that_can_not_be_listed_is_an_error_and_not_an_empty_store(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"/nowhere can't be listed: No such file or directory"):
        list(open_store("file:///nowhere").files())
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidInput, match="file can't be listed: Not a directory"):
        list(open_store(f"file://{tmp_path}/file").files())


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_folder_that_may_not_be_read_is_an_error(root: Path) -> None:
    (root / "kafka-tiered-storage").chmod(0)
    try:
        with pytest.raises(InvalidInput, match="Permission denied"):
            list(local.files(root))
    finally:
        (root / "kafka-tiered-storage").chmod(0o700)


@pytest.mark.parametrize("url", ["", "/tmp", "file://host/tmp", "file:", "s3://bucket/dir", "hdfs"])
def test_a_url_of_no_known_store_is_refused(url: str) -> None:
    with pytest.raises(InvalidInput, match=r"--remote is .*: use hdfs://host:port/dir"):
        open_store(url)


def test_a_path_may_have_blanks(tmp_path: Path) -> None:
    (tmp_path / "a b").mkdir()
    (tmp_path / "a b" / "x").write_text("")
    assert [file.size_bytes for file in open_store(f"file://{tmp_path}/a%20b").files()] == [0]


def test_files_of_a_listing_are_deleted_and_those_that_were_there_are_told(root: Path) -> None:
    store = open_store(f"file://{root}")
    listed = sorted(store.files(), key=lambda file: file.path)
    Path(listed[0].path).unlink()
    assert list(store.delete(listed[:3])) == listed[1:3]
    assert sorted(store.files(), key=lambda file: file.path) == listed[3:]


@pytest.mark.parametrize("path", ["/elsewhere/a.log", "{root}/../a.log", "{root}x/a.log", "a.log"])
def test_what_lies_outside_the_root_is_not_deleted(root: Path, path: str) -> None:
    outside = StoredFile(path.format(root=root), 1, 0)
    with pytest.raises(InvalidInput, match=r"is to be deleted: use files below"):
        list(open_store(f"file://{root}").delete([outside]))


def test_a_file_that_can_not_be_deleted_is_named_and_those_before_it_are_told(root: Path) -> None:
    folder = root / "kafka-tiered-storage" / f"my.topic-1-3-{TOPIC_ID}"
    first = next(iter(local.files(root)))
    deleted = open_store(f"file://{root}").delete([first, StoredFile(str(folder), 0, 0)])
    assert next(deleted) == first
    with pytest.raises(InvalidInput, match=f"{folder} can't be deleted: "):
        next(deleted)

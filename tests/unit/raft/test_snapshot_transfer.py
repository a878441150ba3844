"""A snapshot's way from a leader to a follower: SnapshotSource and SnapshotSink, and the Transfer that decides."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raft.configuration import Configuration
from raft.errors import DamagedSnapshot
from raft.snapshotting import snapshots
from raft.snapshotting.sink import Completed, Pull, SnapshotSink, Transfer
from raft.snapshotting.snapshots import CHUNK_BYTES, Manifest, SnapshotFile
from raft.snapshotting.source import MAX_PENDING_PULLS, SnapshotSource
from tests.patience import PATIENCE_S, until

pytestmark = pytest.mark.slow

CONFIGURATION = Configuration.of_voters("g", {"a": "a:1", "b": "b:1"})
TERM = 4
BIG = 3 * CHUNK_BYTES + 1


@dataclass
class State:
    """A state machine of two files."""

    applied_index: int = 10
    saved: int = 0
    fails: bool = False
    may_save: threading.Event = field(default_factory=threading.Event)

    def save(self, directory: Path) -> int:
        self.may_save.wait(30)
        self.saved += 1
        if self.fails:
            raise ValueError("the disk is on fire")
        directory.mkdir()
        (directory / "big").write_bytes(os.urandom(BIG))
        (directory / "index").write_bytes(b"%d" % self.applied_index)
        (directory / "none").write_bytes(b"")
        return self.applied_index


def described(_index: int) -> tuple[int, Configuration]:
    return TERM, CONFIGURATION


class Leader:
    def __init__(self, directory: Path, state: State, **options: float) -> None:
        self.state = state
        self.now = 0.0
        self.source = SnapshotSource(directory, state, described, wake=lambda: None, **options)

    def until(self, condition: Callable[[], object]) -> None:
        until(condition, every_s=0.001, meanwhile=lambda: self.source.poll(self.now))

    def snapshot(self, min_index: int = 1) -> Manifest:
        self.until(lambda: self.source.request(min_index, self.now))
        manifest = self.source.request(min_index, self.now)
        assert manifest
        return manifest

    def chunk(self, manifest: Manifest, pull: Pull) -> bytes:
        got: list[bytes] = []
        assert self.source.pull(
            manifest.snapshot_id, pull.file, pull.offset, lambda *chunk: got.append(chunk[2]), self.now
        )
        self.until(lambda: got)
        return got[0]


@pytest.fixture
def leader(tmp_path: Path) -> Iterator[Leader]:
    state = State()
    state.may_save.set()
    leader = Leader(tmp_path / "snapshots", state)
    yield leader
    leader.source.close()
    assert not (tmp_path / "snapshots").exists()


@pytest.fixture
def sink(tmp_path: Path) -> Iterator[SnapshotSink]:
    sink = SnapshotSink(tmp_path / "incoming", wake=lambda: None)
    yield sink
    sink.close()


def receive(leader: Leader, manifest: Manifest, sink: SnapshotSink, pulls: tuple[Pull, ...]) -> Completed:
    deadline = time.monotonic() + PATIENCE_S
    waiting = list(pulls)
    while time.monotonic() < deadline:
        for pull in waiting:
            assert sink.chunk(manifest.snapshot_id, pull.file, pull.offset, leader.chunk(manifest, pull))
        progress = sink.poll()
        assert not progress.failure
        if progress.completed:
            return progress.completed
        waiting = list(progress.pulls)
    raise AssertionError("nothing is complete")


def test_a_snapshot_arrives_whole(leader: Leader, sink: SnapshotSink) -> None:
    manifest = leader.snapshot()
    assert (manifest.index, manifest.term, manifest.configuration) == (10, TERM, CONFIGURATION)
    completed = receive(leader, manifest, sink, sink.offer(manifest.snapshot_id, manifest.to_bytes()))
    assert completed.manifest == manifest == snapshots.verify(completed.directory)
    assert (completed.directory / "state" / "index").read_bytes() == b"10"
    assert sink.snapshot_id == ""


def test_what_install_leaves_is_cleared(leader: Leader, sink: SnapshotSink, tmp_path: Path) -> None:
    manifest = leader.snapshot()
    completed = receive(leader, manifest, sink, sink.offer(manifest.snapshot_id, manifest.to_bytes()))
    (completed.directory / "state").rename(tmp_path / "installed")
    sink.clear()
    leader.until(lambda: not completed.directory.exists())


def test_a_snapshot_serves_all_followers_while_it_is_good(leader: Leader) -> None:
    first = leader.snapshot()
    leader.state.applied_index = 50
    assert leader.snapshot(min_index=10) == first
    assert leader.source.held_index == 10
    second = leader.snapshot(min_index=11)
    assert (second.index, leader.state.saved, leader.source.held_index) == (50, 2, 50)
    assert not leader.source.pull(first.snapshot_id, "big", 0, lambda *_: None, 0.0)


def test_the_log_is_held_from_the_request_on(leader: Leader) -> None:
    leader.state.may_save.clear()
    assert leader.source.held_index is None
    assert leader.source.request(1, 0.0) is None
    leader.state.applied_index = 20  # goes on while the snapshot is being made
    assert leader.source.held_index == 10
    leader.state.may_save.set()
    assert leader.snapshot().index == leader.source.held_index == 20
    assert leader.state.saved == 1


def test_a_snapshot_that_nobody_uses_is_dropped(leader: Leader, tmp_path: Path) -> None:
    manifest = leader.snapshot()
    leader.now = 59.0
    leader.chunk(manifest, Pull("big", 0))
    leader.now = 118.0
    leader.source.poll(leader.now)
    assert leader.source.held_index == 10
    leader.now = 120.0
    leader.source.poll(leader.now)
    assert leader.source.held_index is None
    leader.until(lambda: not any((tmp_path / "snapshots").iterdir()))


def test_a_failure_to_make_one_is_retried_after_a_pause(leader: Leader) -> None:
    leader.state.fails = True
    assert leader.source.request(1, 0.0) is None
    leader.until(lambda: leader.source.held_index is None)
    assert leader.source.request(1, 4.0) is None
    assert leader.source.held_index is None
    leader.state.fails = False
    leader.now = 6.0
    assert leader.snapshot().index == 10
    assert leader.state.saved == 2


def test_an_index_that_the_log_does_not_know_makes_no_snapshot(tmp_path: Path) -> None:
    def describe(index: int) -> tuple[int, Configuration]:
        raise LookupError(index)

    state = State()
    state.may_save.set()
    source = SnapshotSource(tmp_path / "s", state, describe, wake=lambda: None)
    assert source.request(1, 0.0) is None
    deadline = time.monotonic() + PATIENCE_S
    while source.held_index is not None and time.monotonic() < deadline:
        source.poll(0.0)
    assert source.held_index is None
    source.close()


@pytest.mark.parametrize(
    ("file", "offset"),
    [("big", 1), ("big", BIG), ("big", -CHUNK_BYTES), ("none", 0), ("other", 0), ("../index", 0), ("/etc/passwd", 0)],
)
def test_a_pull_for_what_is_not_there_is_refused(leader: Leader, file: str, offset: int) -> None:
    manifest = leader.snapshot()
    assert not leader.source.pull(manifest.snapshot_id, file, offset, lambda *_: None, 0.0)
    assert not leader.source.pull("0" * 32, "big", 0, lambda *_: None, 0.0)


def test_too_many_pulls_at_once_are_refused(leader: Leader) -> None:
    manifest = leader.snapshot()
    taken = [leader.source.pull(manifest.snapshot_id, "big", 0, lambda *_: None, 0.0) for _ in range(200)]
    assert taken.count(True) == MAX_PENDING_PULLS


def test_a_snapshot_that_can_not_be_read_is_dropped(leader: Leader, tmp_path: Path) -> None:
    manifest = leader.snapshot()
    os.truncate(next((tmp_path / "snapshots").glob("*/state/big")), 5)
    assert leader.source.pull(manifest.snapshot_id, "big", 0, lambda *_: pytest.fail("delivered"), 0.0)
    leader.until(lambda: leader.source.held_index is None)


def test_leftovers_are_removed_at_start(tmp_path: Path) -> None:
    (tmp_path / "s" / "1" / "state").mkdir(parents=True)
    source = SnapshotSource(tmp_path / "s", State(), described, wake=lambda: None)
    sink = SnapshotSink(tmp_path / "s" / "1", wake=lambda: None)
    assert not (tmp_path / "s" / "1" / "state").exists()
    sink.close()
    source.close()


def test_the_owner_is_woken(tmp_path: Path) -> None:
    woken = threading.Event()
    state = State()
    state.may_save.set()
    source = SnapshotSource(tmp_path / "s", state, described, wake=woken.set)
    source.request(1, 0.0)
    assert woken.wait(30)
    source.close()


def test_a_chunk_that_was_not_asked_for_is_refused(leader: Leader, sink: SnapshotSink, tmp_path: Path) -> None:
    manifest = leader.snapshot()
    before = {str(path) for path in tmp_path.rglob("*")}
    assert not sink.chunk(manifest.snapshot_id, "big", 0, b"x" * CHUNK_BYTES)
    sink.offer(manifest.snapshot_id, manifest.to_bytes())
    for file, offset, size in [
        ("big", 0, CHUNK_BYTES - 1),
        ("big", 0, CHUNK_BYTES + 1),
        ("big", 1, CHUNK_BYTES),
        ("big", 4 * CHUNK_BYTES, CHUNK_BYTES),
        ("other", 0, 2),
        ("none", 0, 0),
        ("../../evil", 0, 2),
        ("/tmp/evil", 0, 2),
    ]:
        assert not sink.chunk(manifest.snapshot_id, file, offset, b"x" * size)
    assert not sink.chunk("0" * 32, "big", 0, b"x" * CHUNK_BYTES)
    assert sink.chunk(manifest.snapshot_id, "big", 0, b"x" * CHUNK_BYTES)
    assert not sink.chunk(manifest.snapshot_id, "big", 0, b"x" * CHUNK_BYTES)  # it came before
    leader.until(lambda: sink.poll().pulls)
    new = {str(path) for path in tmp_path.rglob("*")} - before
    assert all(path.startswith(str(tmp_path / "incoming")) for path in new)


def test_a_flipped_bit_under_way_is_found(leader: Leader, sink: SnapshotSink, tmp_path: Path) -> None:
    manifest = leader.snapshot()
    waiting = list(sink.offer(manifest.snapshot_id, manifest.to_bytes()))
    failure = ""
    deadline = time.monotonic() + PATIENCE_S
    while not failure and time.monotonic() < deadline:
        for pull in waiting:
            data = bytearray(leader.chunk(manifest, pull))
            data[-1] ^= pull == Pull("big", 3 * CHUNK_BYTES)
            sink.chunk(manifest.snapshot_id, pull.file, pull.offset, bytes(data))
        progress = sink.poll()
        assert progress.completed is None
        failure, waiting = progress.failure, list(progress.pulls)
    assert "does not match its SHA-256" in failure
    assert sink.snapshot_id == ""
    leader.until(lambda: not any((tmp_path / "incoming").iterdir()))
    completed = receive(leader, manifest, sink, sink.offer(manifest.snapshot_id, manifest.to_bytes()))
    assert completed.manifest == manifest


@pytest.mark.parametrize(
    "damage", [lambda m: m[:-1], lambda m: m.replace(b'"index":10', b'"index":11'), lambda m: m + b" "]
)
def test_a_bad_offer_changes_nothing(leader: Leader, sink: SnapshotSink, damage: Callable[[bytes], bytes]) -> None:
    manifest = leader.snapshot()
    pulls = sink.offer(manifest.snapshot_id, manifest.to_bytes())
    with pytest.raises(DamagedSnapshot):
        sink.offer("0" * 32, damage(manifest.to_bytes()))
    with pytest.raises(DamagedSnapshot, match="not that of its manifest"):
        sink.offer("0" * 32, manifest.to_bytes())
    assert sink.asked() == pulls


def test_an_offer_that_does_not_fit_on_the_disk_is_refused(leader: Leader, tmp_path: Path) -> None:
    manifest = leader.snapshot()
    sink = SnapshotSink(tmp_path / "incoming", wake=lambda: None, reserve_bytes=1 << 60)
    with pytest.raises(DamagedSnapshot, match="does not fit"):
        sink.offer(manifest.snapshot_id, manifest.to_bytes())
    sink.close()


def test_the_same_offer_from_another_leader_goes_on(leader: Leader, sink: SnapshotSink) -> None:
    manifest = leader.snapshot()
    pulls = sink.offer(manifest.snapshot_id, manifest.to_bytes())
    first, rest = pulls[0], pulls[1:]
    assert sink.chunk(manifest.snapshot_id, first.file, first.offset, leader.chunk(manifest, first))
    again = sink.offer(manifest.snapshot_id, manifest.to_bytes())
    assert set(again) == set(rest) == set(sink.asked())
    receive(leader, manifest, sink, again)


def test_another_offer_replaces_what_was_being_pulled(leader: Leader, sink: SnapshotSink, tmp_path: Path) -> None:
    old = leader.snapshot()
    pull = sink.offer(old.snapshot_id, old.to_bytes())[0]
    sink.chunk(old.snapshot_id, pull.file, pull.offset, leader.chunk(old, pull))
    leader.state.applied_index = 99
    new = leader.snapshot(min_index=11)
    completed = receive(leader, new, sink, sink.offer(new.snapshot_id, new.to_bytes()))
    assert completed.manifest.index == 99
    assert list((tmp_path / "incoming").iterdir()) == [completed.directory]


def test_a_snapshot_of_empty_files_needs_no_chunk(sink: SnapshotSink) -> None:
    empty = snapshots.hash_file(Path(os.devnull))
    manifest = Manifest(1, 1, CONFIGURATION, (SnapshotFile("a", 0, empty), SnapshotFile("b/c", 0, empty)))
    assert sink.offer(manifest.snapshot_id, manifest.to_bytes()) == ()
    deadline = time.monotonic() + PATIENCE_S
    while not (completed := sink.poll().completed) and time.monotonic() < deadline:
        time.sleep(0.001)
    assert completed
    assert snapshots.verify(completed.directory) == manifest


sizes = st.lists(st.sampled_from([0, 1, CHUNK_BYTES, CHUNK_BYTES + 1, 5 * CHUNK_BYTES]), max_size=5)


@given(sizes, st.integers(1, 6), st.randoms(use_true_random=False))
def test_every_chunk_is_pulled_once_whatever_the_order(sizes: list[int], window: int, chance: st.DrawFn) -> None:
    files = tuple(SnapshotFile(f"f{number}", size, "0" * 64) for number, size in enumerate(sizes))
    manifest = Manifest(1, 1, CONFIGURATION, files)
    transfer = Transfer(manifest, window)
    pulled: list[Pull] = []
    asked: list[Pull] = []
    whole: list[str] = []
    while fresh := [*asked, *transfer.next_pulls()]:
        asked = fresh
        assert len(asked) <= window
        pull = asked.pop(chance.randrange(len(asked)))  # type: ignore[attr-defined]
        pulled.append(pull)
        file = manifest.file(pull.file)
        assert file
        assert not transfer.take(pull, file.chunk_bytes(pull.offset) + 1)
        assert transfer.take(pull, file.chunk_bytes(pull.offset))
        assert not transfer.take(pull, file.chunk_bytes(pull.offset))
        assert not transfer.is_whole
        done = transfer.written(pull)
        whole += [done.name] if done else []
    assert transfer.is_whole
    assert sorted(pulled, key=str) == sorted(
        (Pull(file.name, offset) for file in files for offset in file.chunks), key=str
    )
    assert sorted(whole) == [file.name for file in files if file.size]

"""Who founds a group with this version has all of it at once; who joins or upgrades one does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from guardian.errors import InvalidInput
from guardian.replication.store.founding import NOTE, Founder, founded_level
from guardian.replication.store.store import ReplicatedStore
from metastore import levels
from metastore.memory import MemoryStore
from metastore.state_machine import MetastoreStateMachine
from raft.inmem import InMemoryReplica

LEVEL = 3


@pytest.fixture(autouse=True)
def version(monkeypatch: pytest.MonkeyPatch) -> None:
    """A later one than the first release."""
    monkeypatch.setattr(levels, "LEVEL", LEVEL)


@pytest.fixture
def store() -> ReplicatedStore:
    machine = MetastoreStateMachine(MemoryStore())
    return ReplicatedStore(InMemoryReplica("g1", machine), machine, lambda: 1)


def test_a_new_group_is_raised_once(store: ReplicatedStore, tmp_path: Path) -> None:
    founder = Founder(store, founded_level(tmp_path, join=False))
    assert founder.tick() == [f"the group is new: it begins at feature level {LEVEL}"]
    assert store.level() == LEVEL
    assert founder.tick() == []


def test_the_note_outlives_a_restart(tmp_path: Path) -> None:
    founded_level(tmp_path, join=False)
    (tmp_path / "raft").mkdir()
    assert founded_level(tmp_path, join=False) == LEVEL


@pytest.mark.parametrize("folder", ["store", "raft"])
def test_data_of_an_older_version_is_not_a_new_group(store: ReplicatedStore, tmp_path: Path, folder: str) -> None:
    (tmp_path / folder).mkdir()
    assert founded_level(tmp_path, join=False) == 0
    assert Founder(store, 0).tick() == []
    assert store.level() == 0


def test_who_joins_founds_nothing(tmp_path: Path) -> None:
    assert founded_level(tmp_path, join=True) == 0
    assert not (tmp_path / NOTE).exists()


def test_a_group_of_a_later_version_is_not_raised_beyond_what_this_one_knows(store: ReplicatedStore) -> None:
    Founder(store, LEVEL + 5).tick()
    assert store.level() == LEVEL


def test_a_damaged_note_is_named(tmp_path: Path) -> None:
    (tmp_path / NOTE).write_text("one")
    with pytest.raises(InvalidInput, match=f"{NOTE} can't be used"):
        founded_level(tmp_path, join=False)

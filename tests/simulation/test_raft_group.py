"""Seeded histories of a Raft group: whatever happens, what was acknowledged is kept and what is read is not old."""

from __future__ import annotations

import functools
import os
from pathlib import Path

import pytest

from raft.node import maintenance
from raft.rules.trimming import trim_limit
from tests.simulation.raft_world import Chaos, InlineExecutor, World

pytestmark = pytest.mark.integration  # too long for `make check`

SEEDS = range(int(os.environ.get("RAFT_SEEDS_FROM", "0")), int(os.environ.get("RAFT_SEEDS_TO", "6")))


@pytest.fixture(autouse=True)
def _small_and_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short logs, so that snapshots are needed; no waiting for disks; no threads."""
    monkeypatch.setattr("raft.node.background.ThreadPoolExecutor", InlineExecutor)
    monkeypatch.setattr("raft.storage.journal.SEGMENT_BYTES", 1 << 10)
    monkeypatch.setattr(maintenance, "trim_limit", functools.partial(trim_limit, kept_entries=30))
    monkeypatch.setattr("os.fsync", lambda _: None)
    monkeypatch.setattr("os.fdatasync", lambda _: None)


@pytest.mark.parametrize("seed", SEEDS)
def test_three_members_in_trouble(tmp_path: Path, seed: int) -> None:
    world = World(tmp_path, seed)
    Chaos(world).run(40)
    world.settle()


@pytest.mark.parametrize("seed", SEEDS)
def test_members_come_and_go_in_trouble(tmp_path: Path, seed: int) -> None:
    world = World(tmp_path, seed)
    Chaos(world, changes_members=True).run(40)
    world.settle()

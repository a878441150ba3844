"""A member short of disk stops writing in time, does not waver, and goes on by itself."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from raft.storage.disk_space import DiskGuard, DiskProbe, can_commit


@pytest.mark.parametrize(
    ("free", "was_short", "is_short"),
    [
        (1001, False, False),
        (1000, False, False),
        (999, False, True),
        (999, True, True),
        (1000, True, True),
        (1250, True, True),
        (1251, True, False),
        (1251, False, False),
        (0, False, True),
    ],
)
def test_the_guard_has_two_thresholds(free: int, was_short: bool, is_short: bool) -> None:
    assert DiskGuard(1000, was_short).after(free).is_short is is_short


def test_a_reserve_of_nothing_turns_the_guard_off() -> None:
    assert not DiskGuard(0).after(0).is_short


@pytest.mark.parametrize(
    ("voters", "short", "can"),
    [
        ("abc", "", True),
        ("abc", "b", True),
        ("abc", "bc", False),
        ("abc", "a", False),  # the leader itself
        ("abcd", "b", True),
        ("abcd", "bc", False),
        ("a", "", True),
        ("abc", "bx", True),  # x is a learner
        ("bcd", "b", True),  # a leader that is being removed
    ],
)
def test_a_leader_writes_while_it_and_a_majority_have_space(voters: str, short: str, can: bool) -> None:
    assert can_commit("a", frozenset(voters), frozenset(short)) is can


def test_the_probe_looks_at_most_twice_a_second(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    free = [500]
    monkeypatch.setattr(os, "statvfs", lambda _path: SimpleNamespace(f_bavail=free[0], f_frsize=2))
    probe = DiskProbe(tmp_path, 1000)
    assert (probe.free_bytes, probe.reserve_bytes, probe.has_space(10.0)) == (1000, 1000, True)
    free[0] = 499
    assert probe.has_space(10.4)
    assert not probe.has_space(10.5)
    free[0] = 626
    assert not probe.has_space(10.9)
    assert probe.has_space(11.0)
    assert probe.free_bytes == 1252


def test_the_probe_asks_the_real_file_system(tmp_path: Path) -> None:
    probe = DiskProbe(tmp_path, 1)
    assert probe.has_space(0.0)
    assert probe.free_bytes > 0
    assert not DiskProbe(tmp_path, 1 << 60).has_space(0.0)

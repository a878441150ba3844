"""Seeded histories of a Raft group: whatever happens, what was acknowledged is kept and what is read is not old."""

from __future__ import annotations

import functools
import itertools
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from raft.node import maintenance
from raft.node.changing import Handover
from raft.protocol import AddLearner, Change, Promote, Remove
from raft.rules.membership import is_in_force
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


def in_force(world: World, goal: Change) -> None:
    """Asks for a change again and again, as an operator does, until the leader has it in force and committed."""

    def is_done() -> bool:
        leader = world.leader()
        if leader is None or leader.member is None:
            return False
        journal, configuration = leader.member.journal, leader.member.journal.configuration
        if configuration is not None and is_in_force(goal, configuration):
            return journal.configuration_index <= leader.member.core.commit_index
        if not leader.member.changing._jobs:
            world.change(leader.name, goal)
        return False

    world.run_until(is_done)


def replace_all(world: World, fresh: str, old: str) -> None:
    for name, gone in zip(fresh, old, strict=True):
        leader = world.leader()
        assert leader is not None
        world.add_host(name, [leader.name])
        in_force(world, AddLearner(name, f"{name}:1"))
        in_force(world, Promote(name))
        in_force(world, Remove(gone))


def write_until_acknowledged(world: World) -> None:
    """On the present leader, again whenever it was refused."""
    before = sum(write.acknowledged_at is not None for write in world.writes.values())
    ticks = itertools.count()

    def is_acknowledged() -> bool:
        leader = world.leader()
        if leader is not None and next(ticks) % 100 == 0:
            world.write(leader.name)
        return sum(write.acknowledged_at is not None for write in world.writes.values()) > before

    world.run_until(is_acknowledged)


def led(world: World, name: str) -> None:
    """Hands leadership over to this member."""

    def is_led() -> bool:
        leader = world.leader()
        if leader is not None and leader.name != name and leader.member and not leader.member.changing._jobs:
            world.change(leader.name, Handover(name))
        return leader is not None and leader.name == name

    world.run_until(is_led)


def applied_all(world: World, name: str) -> Callable[[], bool]:
    def is_there() -> bool:
        leader = world.leader()
        return leader is not None and world.hosts[name].machine.history == leader.machine.history

    return is_there


def test_a_member_that_missed_an_addition_is_introduced_to_the_leader(tmp_path: Path) -> None:
    """c was away while d came and took over; its log and its file know a and b only, and b tells it of d.

    Without c's vote nobody can lead again: b lacks an entry of d's, and a is gone."""
    world = World(tmp_path, 1)
    write_until_acknowledged(world)
    led(world, "a")
    world.crash("c")
    world.add_host("d", "a")
    in_force(world, AddLearner("d", "d:1"))
    in_force(world, Promote("d"))
    led(world, "d")
    world.crash("a")
    world.cut.add(frozenset("bd"))
    world.disconnect("b", "d")
    world.write("d")
    world.run_until(lambda: world.leader() is None)
    world.cut.clear()
    world.start("c")
    write_until_acknowledged(world)
    world.run_until(applied_all(world, "c"))
    assert not world.hosts["d"].member.door.admits("stranger")  # type: ignore[union-attr]


@pytest.mark.parametrize("names", ["d", "e", "f"])
def test_a_member_that_was_away_for_all_of_it_hears_who_its_file_names(tmp_path: Path, names: str) -> None:
    """c comes back when d, e and f have replaced a and b, who are gone: its log knows nobody of them. One in its file
    will do, whoever leads."""
    world = World(tmp_path, 2)
    write_until_acknowledged(world)
    world.crash("c")
    replace_all(world, "de", "ab")
    leader = world.leader()
    assert leader is not None
    world.add_host("f", [leader.name])
    in_force(world, AddLearner("f", "f:1"))
    in_force(world, Promote("f"))
    led(world, "d")
    write_until_acknowledged(world)
    for gone in "ab":
        world.crash(gone)
    world.start("c")
    world.run(10)
    assert world.hosts["c"].machine.history == [], "it knows none of them, and hears nobody"
    world.crash("c")
    world.hosts["c"].peers = frozenset(names)
    world.start("c")
    world.run_until(applied_all(world, "c"))
    write_until_acknowledged(world)
    world.run_until(applied_all(world, "c"))


def test_a_removed_member_that_still_runs_changes_nothing(tmp_path: Path) -> None:
    """a was removed without being told, and the others' files name it: they know who leads, and do not listen."""
    world = World(tmp_path, 3, voters="abcd")
    write_until_acknowledged(world)
    led(world, "b")
    world.crash("a")
    in_force(world, Remove("a"))
    world.run(11)  # it is not told any more either
    write_until_acknowledged(world)
    leader = world.leader()
    assert leader is not None
    assert leader.member is not None
    term = leader.member.core.term
    world.start("a")
    world.run(20)
    assert world.leader() is leader
    assert (leader.member.core.term, leader.member.core.is_leader) == (term, True)
    assert world.hosts["a"].machine.history != leader.machine.history
    assert leader.member.seat.counters["refused_strangers"] > 0

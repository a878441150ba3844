"""The group's clock on a member: what is stored and what has passed since, by no wall clock; and who moves it on."""

from __future__ import annotations

from dataclasses import replace

import pytest

from guardian.replication.store.group_clock import ClockKeeper, GroupClock, is_due, voters_clocks
from guardian.replication.store.store import ReplicatedStore
from metastore.memory import MemoryStore
from metastore.state_machine import MetastoreStateMachine
from metastore.tables.clock import MAX_STEP_MS
from protos.guardian.v1 import records_pb2
from raft.configuration import Role
from raft.inmem import InMemoryReplica
from raft.protocol import MemberStatus

NOW_MS = 1_800_000_000_000
DAY_MS = 86_400_000


class World:
    """A store of one; wall clocks and the monotonic clock are set by hand."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.wall_ms = NOW_MS
        self.monotonic_s = 50.0
        self.others_ms: list[int | None] = []
        self.machine = MetastoreStateMachine(MemoryStore())
        self.clock = GroupClock(self.machine, lambda: self.wall_ms, lambda: self.monotonic_s)
        self.replica = InMemoryReplica("g1", self.machine)
        self.store = ReplicatedStore(self.replica, self.machine, self.clock.now_ms)
        self.keeper = ClockKeeper(self.store)
        status = self.replica.status()
        monkeypatch.setattr(self.replica, "status", lambda: replace(status, members=self.members()))

    def members(self) -> tuple[MemberStatus, ...]:
        clocks = [self.wall_ms, *self.others_ms]
        return tuple(
            MemberStatus(f"g{number}", "h:1", Role.VOTER, clock_ms is not None, clock_ms=clock_ms)
            for number, clock_ms in enumerate(clocks, 1)
        )

    @property
    def stored_ms(self) -> int:
        return self.machine.read().clock_ms


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    return World(monkeypatch)


def test_before_the_first_command_it_is_the_members_own(world: World) -> None:
    assert world.clock.now_ms() == NOW_MS
    assert not world.clock.is_set
    world.keeper.tick()
    assert world.stored_ms == NOW_MS
    assert world.clock.is_set


def test_between_commands_it_goes_on_by_the_monotonic_clock_and_by_a_step_at_most(world: World) -> None:
    world.keeper.tick()
    world.wall_ms += 100 * DAY_MS
    world.monotonic_s += 7.5
    assert world.clock.now_ms() == NOW_MS + 7500
    world.monotonic_s += 3600.0
    assert world.clock.now_ms() == NOW_MS + MAX_STEP_MS


def test_it_never_goes_back_on_a_member(world: World) -> None:
    world.keeper.tick()
    world.monotonic_s += 25.0
    before = world.clock.now_ms()
    command = records_pb2.Command(advance_clock=records_pb2.AdvanceClock(clocks_ms=[NOW_MS + 21_000]))
    world.store.propose(command)
    assert world.stored_ms == NOW_MS + 21_000
    assert world.clock.now_ms() == before
    world.monotonic_s += 10.0
    assert world.clock.now_ms() == NOW_MS + 31_000


def test_a_leader_whose_clock_jumps_moves_nothing(world: World) -> None:
    world.others_ms = [NOW_MS, NOW_MS]
    world.keeper.tick()
    for wall_ms in (NOW_MS + 100 * DAY_MS, NOW_MS - 100 * DAY_MS):
        world.wall_ms = wall_ms
        for _ in range(20):
            assert world.keeper.tick() == []
            assert not world.keeper.has_more()
        assert world.stored_ms == world.clock.now_ms() == NOW_MS


def test_an_idle_group_writes_every_twenty_seconds(world: World) -> None:
    world.keeper.tick()
    before = world.machine.applied_index
    for _ in range(100):
        world.wall_ms += 1000
        world.monotonic_s += 1.0
        world.keeper.tick()
        assert abs(world.clock.now_ms() - world.wall_ms) <= 1
    assert world.machine.applied_index == before + 5


def test_after_a_pause_it_catches_up_in_steps(world: World) -> None:
    world.keeper.tick()
    world.wall_ms += DAY_MS
    ticks = 0
    while not ticks or world.keeper.has_more():
        before = world.stored_ms
        world.keeper.tick()
        ticks += 1
        assert world.stored_ms - before <= 20 * MAX_STEP_MS
    assert world.wall_ms - world.stored_ms < MAX_STEP_MS
    assert ticks > 100


def test_without_the_clocks_of_a_majority_it_stands(world: World) -> None:
    world.others_ms = [None, None]
    assert voters_clocks(world.replica.status()) == []
    assert world.keeper.tick() == []
    assert world.stored_ms == 0
    world.others_ms = [NOW_MS + 5, None]
    assert voters_clocks(world.replica.status()) == [NOW_MS, NOW_MS + 5]
    world.keeper.tick()
    assert world.stored_ms == NOW_MS


def test_a_new_clock_is_due_at_once_and_a_known_one_after_a_while() -> None:
    assert is_due(0, [5])
    assert not is_due(NOW_MS, [NOW_MS + 19_999])
    assert is_due(NOW_MS, [NOW_MS + 20_000])
    assert not is_due(NOW_MS, [NOW_MS - DAY_MS])


def test_a_restart_goes_on_from_what_is_stored(world: World) -> None:
    world.keeper.tick()
    again = GroupClock(world.machine, lambda: NOW_MS + 100 * DAY_MS, lambda: 9.0)
    assert again.now_ms() == NOW_MS

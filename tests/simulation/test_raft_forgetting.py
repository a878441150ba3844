"""A member whose disk was emptied, replaced by an older copy, or holds another history, is not believed.

Each story ends with what was acknowledged still there, or with nobody acknowledging anything.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from raft.entries import command_entry
from raft.errors import CannotStart, ChangeRefused
from raft.node.changing import Handover
from raft.protocol import AddLearner, Change, Promote, Remove
from raft.storage.identity import IDENTITY
from raft.storage.journal import Journal
from tests.simulation.raft_world import InlineExecutor, World

pytestmark = pytest.mark.integration  # with the other simulations of groups

SEEDS = range(3)
every_seed = pytest.mark.parametrize("seed", SEEDS)


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("raft.node.background.ThreadPoolExecutor", InlineExecutor)
    monkeypatch.setattr("os.fsync", lambda _: None)
    monkeypatch.setattr("os.fdatasync", lambda _: None)


def serving(directory: Path, seed: int) -> World:
    world = World(directory, seed)
    world.run_until(lambda: world.leader() is not None)
    write(world, 3)
    world.run(3.0)
    return world


def write(world: World, count: int) -> None:
    """Returns when all are acknowledged."""
    for _ in range(count):
        leader = world.leader()
        assert leader is not None
        world.write(leader.name)
    written = list(world.writes.values())[-count:]
    world.run_until(lambda: all(each.acknowledged_at is not None for each in written))


def acknowledged(world: World) -> set[bytes]:
    return {each.command for each in world.writes.values() if each.acknowledged_at is not None}


def roles(world: World) -> tuple[str, str, str]:
    """The leader and two others."""
    world.run_until(lambda: world.leader() is not None)
    leader = world.leader()
    assert leader is not None
    one, other = sorted(world.hosts.keys() - {leader.name})[:2]
    return leader.name, one, other


def nobody_leads_for(world: World, seconds: float) -> bool:
    until = world.now + seconds
    while world.now < until:
        world.step()
        if world.leader() is not None:
            return False
    return True


@every_seed
def test_an_emptied_voter_elects_nobody_and_what_was_acknowledged_is_there_when_the_others_are_back(
    tmp_path: Path, seed: int
) -> None:
    world = serving(tmp_path, seed)
    leader, emptied, away = roles(world)
    world.crash(away)
    write(world, 5)
    world.crash(emptied)
    world.empty(emptied)
    world.crash(leader)
    world.start(emptied)
    world.start(away)
    assert nobody_leads_for(world, 20.0)
    assert "forgotten its votes" in world.stopped[emptied]
    world.start(leader)
    world.run_until(lambda: world.leader() is not None)
    write(world, 1)
    world.run_until(lambda: all(acknowledged(world) <= commands(world, name) for name in (leader, away)))


def commands(world: World, name: str) -> set[bytes]:
    return {command for _, command in world.hosts[name].machine.history}


@every_seed
@pytest.mark.parametrize("is_leader", [False, True], ids=["a follower", "the leader"])
def test_an_older_copy_of_a_voter_s_folder_elects_nobody(tmp_path: Path, seed: int, is_leader: bool) -> None:
    world = serving(tmp_path, seed)
    leader, follower, away = roles(world)
    copied, gone = (leader, follower) if is_leader else (follower, leader)
    copy = world.copy_of(copied)
    write(world, 5)
    world.run(3.0)  # `away` is told what the others confirmed
    world.crash(away)
    write(world, 5)
    world.crash(gone)
    world.crash(copied)
    world.put_back(copied, copy)
    world.start(copied)
    world.start(away)
    assert nobody_leads_for(world, 20.0)
    assert "older copy" in world.stopped[copied]
    world.start(gone)
    world.run_until(lambda: world.leader() is not None)
    write(world, 1)
    world.run_until(lambda: all(acknowledged(world) <= commands(world, name) for name in (gone, away)))


@every_seed
def test_what_a_member_had_confirmed_is_not_cut_for_a_group_that_lost_it(tmp_path: Path, seed: int) -> None:
    """Nobody that the older copy meets knows what it had confirmed; who does was down, and is told to forget it."""
    world = serving(tmp_path, seed)
    kept, copied, cut_off = roles(world)
    copy = world.copy_of(copied)
    world.hosts[kept].machine.sync()
    world.cut |= {frozenset((cut_off, kept)), frozenset((cut_off, copied))}
    for other in (kept, copied):
        world.disconnect(cut_off, other)
    world.hosts[kept].machine.sync = lambda: 0  # type: ignore[method-assign]  # what follows is not on its disk
    write(world, 5)
    lost = acknowledged(world) - {command for _, command in copy[1]}
    world.run(3.0)
    world.crash(kept, loses_power=True)
    world.crash(copied)
    world.put_back(copied, copy)
    world.cut.clear()
    world.applied_at.clear()  # two of three have forgotten: the indexes are given anew,
    for command in lost:
        world.writes[command].acknowledged_at = None  # and reads can't see it
    world.start(copied)
    world.run_until(lambda: world.leader() is not None)
    write(world, 8)
    world.start(kept)
    world.run_until(lambda: kept in world.stopped, 20.0)
    assert "which is committed here" in world.stopped[kept]
    assert world.stopped.keys() == {kept}
    journal = Journal(world.hosts[kept].directory, None)
    stored = {entry for entry, _, _ in journal[0 : len(journal)]}
    journal.close()
    assert {command_entry(command) for command in lost} <= stored
    write(world, 3)


@every_seed
def test_a_new_group_begins_when_all_its_members_are_there(tmp_path: Path, seed: int) -> None:
    world = World(tmp_path, seed)
    world.crash("c")
    assert nobody_leads_for(world, 10.0)
    world.start("c")
    world.run_until(lambda: world.leader() is not None)
    write(world, 1)
    for host in world.living():
        assert host.member is not None
        world.run_until(lambda host=host: host.member.journal.configuration.is_founded)  # type: ignore[misc]
        found = host.member.journal.configuration
        assert found is not None
        assert {one.name: one.incarnation for one in found.members} == {
            each.name: each.member.incarnation for each in world.living() if each.member is not None
        }


@every_seed
def test_an_emptied_voter_and_one_that_has_never_been_there_begin_no_second_group(tmp_path: Path, seed: int) -> None:
    world = World(tmp_path, seed)
    world.run_until(lambda: world.leader() is not None)
    write(world, 1)
    leader, emptied, late = roles(world)
    world.crash(late)
    write(world, 3)
    world.empty(late)  # as if it had never been started
    world.crash(leader)
    world.crash(emptied)
    world.empty(emptied)
    world.start(late)
    world.start(emptied)
    assert nobody_leads_for(world, 20.0)


@every_seed
@pytest.mark.parametrize("join", [True, False])
def test_an_emptied_voter_joins_anew_under_its_name_and_may_lead_one_that_lagged(
    tmp_path: Path, seed: int, join: bool
) -> None:
    world = serving(tmp_path, seed)
    leader, emptied, away = roles(world)
    world.crash(away)
    write(world, 3)
    change(world, leader, AddLearner("d", "d:1"), lambda: world.add_host("d", [leader]))
    change(world, leader, Promote("d"))
    world.crash(emptied)
    world.empty(emptied)
    change(world, leader, Remove(emptied))
    if join:
        world.hosts[emptied].bootstrap = None
    change(world, leader, AddLearner(emptied, f"{emptied}:1"), lambda: world.start(emptied))
    change(world, leader, Promote(emptied))
    hand_over(world, emptied)
    world.start(away)
    write(world, 3)
    world.run_until(lambda: acknowledged(world) <= commands(world, away))


@every_seed
@pytest.mark.parametrize("as_voter", [True, False], ids=["a voter", "a learner"])
def test_what_a_member_s_former_folder_held_is_not_believed_of_its_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, as_voter: bool
) -> None:
    """The leader's messages to it are stuck, so that it holds nothing; all is asked of the same leader at once."""
    monkeypatch.setattr("raft.rules.membership.MAX_PROMOTION_LAG", 2)
    world = serving(tmp_path, seed)
    leader, emptied, other = roles(world)
    if not as_voter:
        change(world, leader, Remove(emptied))
        change(world, leader, AddLearner(emptied, f"{emptied}:1"))
        world.run(3.0)  # it has all
    world.crash(emptied)
    world.empty(emptied)
    world.hosts[emptied].bootstrap = None
    if as_voter:
        change(world, leader, Remove(emptied))
    world.stalled.add((leader, emptied))
    world.start(emptied)
    change(world, leader, AddLearner(emptied, f"{emptied}:1"))
    world.run(1.0)
    world.change(leader, Promote(emptied))
    world.run(4.0)
    goal, answer = world.changes[-1]
    assert goal == Promote(emptied)
    assert isinstance(answer, ChangeRefused), answer
    assert "lags by" in str(answer)
    world.disconnect(leader, emptied)
    world.stalled.clear()
    change(world, leader, Promote(emptied))
    write(world, 3)
    for _ in range(3):
        world.disconnect(other, emptied)
        world.run(1.0)
    assert not world.lapses
    world.run_until(lambda: acknowledged(world) <= commands(world, emptied))


@every_seed
def test_a_member_that_joins_anew_is_not_ended_by_one_that_lags(tmp_path: Path, seed: int) -> None:
    """It judges by a configuration in which the name still had its former folder."""
    world = World(tmp_path, seed, "abcd")
    world.run_until(lambda: world.leader() is not None)
    write(world, 3)
    leader, emptied, lagging = roles(world)
    (other,) = world.hosts.keys() - {leader, emptied, lagging}
    world.crash(lagging)
    change(world, leader, Remove(emptied))
    world.crash(emptied)
    world.empty(emptied)
    world.hosts[emptied].bootstrap = None
    world.hosts[emptied].peers = frozenset({leader, other, lagging})
    world.stalled |= {(leader, lagging), (other, lagging)}  # nobody tells it
    world.start(lagging)
    change(world, leader, AddLearner(emptied, f"{emptied}:1"), lambda: world.start(emptied))
    change(world, leader, Promote(emptied))
    world.run(30.0)
    assert "forgotten its votes" in world.lapses[emptied]
    assert not world.stopped
    write(world, 3)
    world.stalled.clear()
    world.run_until(lambda: acknowledged(world) <= commands(world, lagging))
    assert not world.stopped


def hand_over(world: World, to: str) -> None:
    """Returns when `to` leads."""
    while (leader := roles(world)[0]) != to:
        world.change(leader, Handover(to))
        world.run(2.0)


def change(world: World, name: str, goal: Change, also: Callable[[], object] = lambda: None) -> None:
    """Returns when the group has made the change."""
    also()
    before, until = len(world.changes), world.now + 60.0
    while not any(made == goal and isinstance(answer, str) for made, answer in world.changes[before:]):
        assert world.now < until, world.changes[before:]
        asked = len(world.changes)
        world.change(name, goal)
        world.run_until(lambda asked=asked: len(world.changes) > asked)  # type: ignore[misc]


@every_seed
@pytest.mark.parametrize("is_leader", [False, True], ids=["a follower", "the leader"])
def test_a_member_with_another_history_stops_and_the_majority_goes_on(
    tmp_path: Path, seed: int, is_leader: bool
) -> None:
    world = serving(tmp_path, seed)
    leader, follower, _ = roles(world)
    wrong = leader if is_leader else follower
    tamper(world, wrong)
    world.run_until(lambda: wrong in world.stopped, 10.0)
    assert world.stopped.keys() == {wrong}
    assert "differs from the majority's" in world.stopped[wrong]
    world.run_until(lambda: world.leader() is not None)
    write(world, 3)
    others = [host.member.vitals.verdict for host in world.living() if host.member is not None]
    assert {verdict.wrong for verdict in others} == {frozenset({wrong})}
    world.start(wrong)
    world.run_until(lambda: world.hosts[wrong].member is None, 10.0)  # each time that it is started


@every_seed
def test_without_a_majority_of_one_history_nothing_is_written(tmp_path: Path, seed: int) -> None:
    world = serving(tmp_path, seed)
    _, one, other = roles(world)
    tamper(world, one)
    tamper(world, other)
    world.run_until(lambda: world.leader() is None, 10.0)
    assert nobody_leads_for(world, 20.0)
    assert all(host.member.seat.is_outvoted for host in world.living() if host.member is not None)
    assert not world.stopped


@every_seed
def test_two_of_three_that_differ_write_nothing_until_the_third_decides(tmp_path: Path, seed: int) -> None:
    world = serving(tmp_path, seed)
    leader, follower, away = roles(world)
    world.crash(away)
    write(world, 3)
    world.run(10.0)
    assert world.leader() is not None, "a group with one away goes on"
    tamper(world, follower)
    world.run_until(lambda: world.leader() is None, 10.0)
    world.run(4.0)
    assert nobody_leads_for(world, 20.0)
    assert all(host.member.seat.is_outvoted for host in world.living() if host.member is not None)
    assert not world.stopped
    world.start(away)  # it lacks what was written meanwhile, and only a leader can give it that
    world.run_until(lambda: follower in world.stopped, 20.0)
    world.run_until(lambda: world.leader() is not None)
    write(world, 3)
    world.run_until(lambda: acknowledged(world) <= commands(world, away))
    assert world.stopped.keys() == {follower}
    assert world.hosts[leader].member is not None


def tamper(world: World, name: str) -> None:
    """Nothing that was acknowledged is missing there, but something else is."""
    world.hosts[name].machine.history.insert(0, (1, f"what {name} alone has".encode()))


def test_a_folder_of_another_member_is_refused(tmp_path: Path) -> None:
    world = serving(tmp_path, 0)
    for name in "ab":
        world.crash(name)
    a, b = world.copy_of("a"), world.copy_of("b")
    world.put_back("a", b)
    world.put_back("b", a)
    for name, other in (("a", "b"), ("b", "a")):
        with pytest.raises(CannotStart, match=rf"it is member '{other}''s \(the configured name is '{name}'\)"):
            world.start(name)


@pytest.mark.parametrize("content", ["", "{}", '{"name": "a", "incarnation": "x", "crc32": 1}'])
def test_a_damaged_identity_is_refused(tmp_path: Path, content: str) -> None:
    world = serving(tmp_path, 0)
    world.crash("a")
    (world.hosts["a"].directory / IDENTITY).write_text(content)
    with pytest.raises(CannotStart, match=r"identity\.json is damaged"):
        world.start("a")
    (world.hosts["a"].directory / IDENTITY).unlink()
    with pytest.raises(CannotStart, match=r"identity\.json is missing beside a log"):
        world.start("a")

"""One of three members comes back on an emptied disk with the configuration that it had.

A disk was replaced, a volume lost, and systemd starts it (etcd #10254, #3504, #11410, talos #3715). etcd refuses ("has
already been bootstrapped"), since a voter that forgot its log may hand the majority to one that never had what was
acknowledged: here a and b acknowledge while c is away, b comes back empty, a is away, and c is back.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from raft.errors import CannotStart
from tests.simulation.raft_world import SimulatedMachine, World

SEED = 7


def leader_of(world: World) -> str:
    leader = world.leader()
    assert leader is not None
    return leader.name


@pytest.mark.slow
def test_a_voter_on_an_emptied_disk_hands_no_majority_to_who_lacks_what_was_acknowledged(tmp_path: Path) -> None:
    world = World(tmp_path, SEED)
    world.run_until(lambda: world.leader() is not None)
    for _ in range(3):
        world.write(leader_of(world))
    world.run(1.0)
    leader = leader_of(world)
    away, emptied = sorted(world.hosts.keys() - {leader})
    world.crash(away)
    for _ in range(5):
        world.write(leader_of(world))
        world.run(0.3)
    acknowledged = {each.command for each in world.writes.values() if each.acknowledged_at is not None}
    behind = {command for _, command in world.hosts[away].machine.history}
    assert acknowledged - behind, "no fault was there to be seen"
    world.crash(emptied)
    shutil.rmtree(world.hosts[emptied].directory)
    world.hosts[emptied].machine = SimulatedMachine(world, emptied)
    world.crash(leader)
    try:
        world.start(emptied)
    except CannotStart:
        return
    world.start(away)
    world.run(30.0)
    found = world.leader()
    assert found is None, f"{found.name} leads and lacks what was acknowledged"

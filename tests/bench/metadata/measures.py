"""How the figures are taken: both groups in the same run, by turns, so that a noisy moment hits both.

First each side's best way to be loaded is looked for, in short runs: how many batches are under way, over how many
streams, and to whom. Then come rounds of etcd, ours, etcd, ours, ...; a figure is the median of its rounds.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from deploy.local import processes
from tests.bench.metadata import groups
from tests.bench.metadata.driver import Driver, Load, Writes
from tests.bench.metadata.groups import Group

MAX_IN_FLIGHT = 16
_TRIAL_S = 2.5
# Of loads whose rates differ less than a run differs from the next, the one with the lower p99 is the better.
_SAME_RATE = 0.95

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Side:
    """One group and its driver."""

    group: Group
    driver: Driver

    @property
    def name(self) -> str:
        return self.group.store

    def endpoints(self, load: Load) -> list[str]:
        if load.to == "members":
            return self.group.endpoints
        return [self.group.endpoints[groups.wait_leader(self.group)]]

    def write(self, load: Load, seconds: float) -> Writes:
        return self.driver.write(self.endpoints(load), load, seconds)


@dataclass(frozen=True, slots=True)
class Rounds:
    """The rounds of one side under one load. CPU is that of all three members, in microseconds an entry."""

    load: Load
    runs: tuple[Writes, ...]
    cpu_us: float

    @property
    def rate(self) -> float:
        return statistics.median(run.rate for run in self.runs)

    @property
    def p50_ms(self) -> float:
        return statistics.median(run.p50_ms for run in self.runs)

    @property
    def p99_ms(self) -> float:
        return statistics.median(run.p99_ms for run in self.runs)

    @property
    def driver_us(self) -> float:
        return statistics.median(run.driver_us for run in self.runs)

    def __str__(self) -> str:
        return (
            f"{self.rate:,.0f}/s, p50 {self.p50_ms:.2f} ms, p99 {self.p99_ms:.2f} ms, "
            f"CPU an entry: members {self.cpu_us:.1f} us, driver {self.driver_us:.1f} us; {self.load}"
        )


def best(trials: Sequence[tuple[Load, Writes]]) -> Load:
    """The load with the highest rate; of those about as high, the one with the lowest p99."""
    highest = max(writes.rate for _, writes in trials)
    return min((t for t in trials if t[1].rate >= _SAME_RATE * highest), key=lambda trial: trial[1].p99_ms)[0]


def find_best(side: Side, loads: Sequence[Load], tell: Tell) -> Load:
    trials = []
    for load in loads:
        writes = side.write(load, _TRIAL_S)
        tell(f"    {side.name:8}  {load}: {writes.rate:,.0f}/s, p99 {writes.p99_ms:.1f} ms")
        trials.append((load, writes))
    return best(trials)


def by_turns(
    peer: Side, peer_load: Load, ours: Side, our_load: Load, rounds: int, seconds: float
) -> tuple[Rounds, Rounds]:
    """Peer, ours, peer, ours, ..."""
    taken: dict[str, list[Writes]] = {peer.name: [], ours.name: []}
    used = {peer.name: 0.0, ours.name: 0.0}
    for _ in range(rounds):
        for side, load in ((peer, peer_load), (ours, our_load)):
            before = groups.cpu_seconds(side.group)
            taken[side.name].append(side.write(load, seconds))
            used[side.name] += groups.cpu_seconds(side.group) - before

    def summed(side: Side, load: Load) -> Rounds:
        runs = tuple(taken[side.name])
        return Rounds(load, runs, 1e6 * used[side.name] / sum(run.written for run in runs))

    return summed(peer, peer_load), summed(ours, our_load)


def our_loads(batch: int) -> list[Load]:
    """From few batches under way to as many as etcd's 16 clients have."""
    shapes = [(16, 16, "leader"), (16, 4, "leader"), (8, 8, "leader"), (8, 2, "leader"), (4, 4, "leader")]
    shapes += [(16, 16, "members"), (8, 8, "members")]
    return [Load(batch, in_flight, streams, to) for in_flight, streams, to in shapes]


def etcd_loads(batches: Sequence[int]) -> list[Load]:
    """One transaction under way for each client, each client with a connection of its own."""
    shapes = [(16, "leader"), (16, "members"), (8, "leader"), (4, "leader")]
    return [Load(batch, clients, clients, to) for batch in batches for clients, to in shapes]


@dataclass(frozen=True, slots=True)
class FailoverFigures:
    """Seconds of each failover, and what became of the writes that were acknowledged."""

    seconds: tuple[float, ...]
    acknowledged: int
    lost: int
    repeated: int

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    @property
    def worst(self) -> float:
        return max(self.seconds)

    @property
    def fault(self) -> str:
        if self.lost or self.repeated:
            return f"of {self.acknowledged} acknowledged writes {self.lost} were lost and {self.repeated} stored twice"
        return ""


def failovers(side: Side, times: int, tell: Tell) -> FailoverFigures:
    """Kills the leader so many times; the killed member is back, and has caught up, before the next."""
    group = side.group
    taken = []
    with side.driver.failovers(group.endpoints) as writers:
        for number in range(1, times + 1):
            leader = groups.wait_leader(group)
            for member in range(groups.MEMBERS):
                groups.wait_caught_up(group, member)
            taken.append(writers.kill(group.running[leader].pid))
            processes.kill(group.running[leader])  # takes note of its end
            group.start(leader)
            groups.wait_caught_up(group, leader)
            tell(f"    {side.name:8}  {number:2}: {taken[-1]:.2f} s")
        return FailoverFigures(tuple(taken), *writers.end())

"""A Raft group in one thread, with a clock and a network of its own: any seed is one history, the same each time.

Members are real (raft.node.member, real journals on disk); simulated are time, the network and the state machine.
A connection keeps its order; it may be slow, stall one way or break, and a member may stand still, crash (what was
not synced is lost) or lose power (the state machine falls back to its last sync).
"""

from __future__ import annotations

import hashlib
import heapq
import itertools
import json
import os
import random
import shutil
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from raft.configuration import Configuration
from raft.errors import ChangeRefused, Diverged, LowDisk, NoLeader, OutcomeUnknown, Overloaded, RaftError
from raft.network import frames
from raft.node import installing
from raft.node.changing import Handover
from raft.node.library import Timing
from raft.node.member import Member
from raft.protocol import AddLearner, Change, Outcome, Promote, Remove
from raft.rules.elections import may_campaign
from raft.rules.reads import Read
from raft.storage.identity import open_identity
from raft.storage.journal import Journal

Message = dict[str, Any]


class InlineExecutor:
    """In the place of a thread: a job is done when it is submitted."""

    def __init__(self, **_: object) -> None:
        pass

    def submit(self, job: Callable[[], Any]) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(job())
        except Exception as error:  # noqa: BLE001  as a thread's future would
            future.set_exception(error)
        return future

    def shutdown(self, **_: object) -> None:
        pass


class History(list[tuple[int, bytes]]):
    """What was applied: indexes and commands."""


class SimulatedMachine:
    """Keeps what it applied. `synced` is what a loss of power leaves."""

    def __init__(self, world: World, name: str) -> None:
        self._world = world
        self.name = name
        self.history = History()
        self.synced = 0

    @property
    def applied_index(self) -> int:
        return self.history[-1][0] if self.history else 0

    def apply(self, index: int, command: bytes) -> bytes:
        if index <= self.applied_index:
            return b""
        self._world.applied(self.name, index, command)
        self.history.append((index, command))
        return command

    def checksum_at(self, index: int) -> bytes | None:
        done = [entry for entry in self.history if entry[0] <= index]
        return hashlib.sha256(repr(done).encode()).digest()

    def sync(self) -> int:
        self.synced = len(self.history)
        return self.applied_index

    def save(self, directory: Path) -> int:
        directory.mkdir()
        stored = [(index, command.decode()) for index, command in self.history]
        (directory / "history").write_text(json.dumps(stored))
        return self.applied_index

    def reopen(self) -> None:
        """It never lacks room."""

    def install(self, directory: Path) -> None:
        stored = json.loads((directory / "history").read_text())
        self.history = History((index, command.encode()) for index, command in stored)
        self.synced = len(self.history)
        shutil.rmtree(directory)

    def lose_power(self) -> None:
        del self.history[self.synced :]

    def close(self) -> None:
        pass


@dataclass(slots=True)
class Link:
    """One direction of a connection."""

    queue: list[tuple[float, bytes]] = field(default_factory=list)  # when it arrives, the frame
    is_stalled: bool = False


class SimulatedNetwork:
    """One member's end."""

    def __init__(self, world: World, name: str, member: Member) -> None:
        self._world, self._name, self._member = world, name, member
        self.known: dict[str, str] = {}
        self.connected: set[str] = set()

    def send(self, name: str, message: Message | bytes) -> bool:
        if name not in self.connected:
            return False
        frame = message if isinstance(message, bytes) else frames.encode(message)
        self._world.put(self._name, name, frame[frames.LENGTH.size :])
        return True

    def is_connected(self, name: str) -> bool:
        return name in self.connected

    def incarnation(self, name: str) -> str:
        member = self._world.hosts[name].member
        return member.incarnation if member is not None else ""

    def set_members(self, members: Mapping[str, str]) -> None:
        for gone in self.known.keys() - members.keys():
            self._world.disconnect(self._name, gone)
        self.known = dict(members)

    def tick(self, _now: float) -> None:
        pass

    def close(self) -> None:
        pass


@dataclass(slots=True)
class Host:
    """Where a member lives: its files stay when it crashes."""

    name: str
    directory: Path
    machine: SimulatedMachine
    bootstrap: Configuration | None
    peers: frozenset[str] = frozenset()  # of its own file
    member: Member | None = None
    network: SimulatedNetwork | None = None
    frozen_until: float = 0.0


@dataclass(slots=True)
class Write:
    command: bytes
    outcome: Outcome | None = None
    acknowledged_at: float | None = None


class World:
    def __init__(self, directory: Path, seed: int, voters: str = "abc") -> None:
        self.random = random.Random(seed)  # noqa: S311  no secret
        random.seed(seed)
        self.directory = directory
        self.now = 1000.0
        self.hosts: dict[str, Host] = {}
        self.links: dict[tuple[str, str], Link] = {}
        self.cut: set[frozenset[str]] = set()
        self.stalled: set[tuple[str, str]] = set()
        self.writes: dict[bytes, Write] = {}
        self.applied_at: dict[int, bytes] = {}
        self.indexes_of: dict[bytes, int] = {}
        self.leaders: dict[int, str] = {}
        self.reads = 0
        self.failures: list[str] = []
        self.stopped: dict[str, str] = {}  # by member: why it has ended itself
        self.lapses: dict[str, str] = {}  # by member: what another one found that it has forgotten
        self.changes: list[tuple[Any, Any]] = []
        self._numbers = itertools.count()
        first = Configuration.of_voters("g", {name: f"{name}:1" for name in voters})
        for name in voters:
            self.add_host(name, voters, first)

    # Members.

    def add_host(self, name: str, peers: Iterable[str], bootstrap: Configuration | None = None) -> None:
        directory = self.directory / f"{name}-{next(self._numbers)}"
        machine = SimulatedMachine(self, name)
        self.hosts[name] = Host(name, directory, machine, bootstrap, frozenset(peers) - {name})
        self.start(name)

    def start(self, name: str) -> None:
        host = self.hosts[name]
        host.directory.mkdir(parents=True, exist_ok=True)
        journal = Journal(host.directory, host.bootstrap)
        identity = open_identity(host.directory, name, is_new=journal.is_pristine)
        installing.repair(host.directory, host.machine.applied_index, journal)

        def connect(member: Member, _poller: object) -> SimulatedNetwork:
            host.network = SimulatedNetwork(self, name, member)
            return host.network

        host.member = Member(
            identity,
            journal,
            host.machine,
            host.directory,
            connect,
            peers=host.peers,
            disk_reserve_bytes=0,
            timing=Timing(),
            clock=lambda: self.now,
            wall_clock_ms=lambda: int(self.now * 1000),
        )
        host.frozen_until = 0.0

    def crash(self, name: str, *, loses_power: bool = False) -> None:
        host = self.hosts[name]
        member, host.member = host.member, None
        assert member is not None
        for other in list(self.hosts):
            self.disconnect(other, name)
        os.close(member.journal._file)
        member.waker.close()
        host.network = None
        if loses_power:
            host.machine.lose_power()

    def empty(self, name: str) -> None:
        """A new disk: what was on the old one is gone. The member is down."""
        host = self.hosts[name]
        shutil.rmtree(host.directory)
        host.machine = SimulatedMachine(self, name)

    def copy_of(self, name: str) -> tuple[Path, History, int]:
        """What a snapshot of the machine's disk holds now."""
        host = self.hosts[name]
        copy = self.directory / f"copy-{next(self._numbers)}"
        shutil.copytree(host.directory, copy)
        return copy, History(host.machine.history), host.machine.synced

    def put_back(self, name: str, copy: tuple[Path, History, int]) -> None:
        """The disk is as it was when it was copied. The member is down."""
        host = self.hosts[name]
        shutil.rmtree(host.directory)
        shutil.copytree(copy[0], host.directory)
        host.machine.history, host.machine.synced = History(copy[1]), copy[2]

    def living(self) -> list[Host]:
        return [host for host in self.hosts.values() if host.member is not None]

    # Network.

    def put(self, sender: str, receiver: str, frame: bytes) -> None:
        link = self.links.setdefault((sender, receiver), Link())
        arrives = self.now + self.random.choice((0.0003, 0.001, 0.004))
        if link.queue:
            arrives = max(arrives, link.queue[-1][0])
        link.queue.append((arrives, frame))

    def disconnect(self, one: str, other: str) -> None:
        for end, far in ((one, other), (other, one)):
            self.links.pop((end, far), None)
            host = self.hosts.get(end)
            if host is not None and host.network is not None and far in host.network.connected:
                host.network.connected.discard(far)
                if host.member is not None:
                    host.member.on_disconnected(far)

    def _connect_all(self) -> None:
        for one, other in itertools.combinations(self.living(), 2):
            if one.member is None or other.member is None:
                continue  # it has just ended itself
            assert one.network is not None
            assert other.network is not None
            if not (one.member.admits(other.name) and other.member.admits(one.name)):
                self.disconnect(one.name, other.name)
                continue
            if other.name in one.network.connected or frozenset((one.name, other.name)) in self.cut:
                continue
            if self._finds_lapse(one, other) or self._finds_lapse(other, one):
                continue
            if other.name in one.network.known or one.name in other.network.known:
                one.network.connected.add(other.name)
                other.network.connected.add(one.name)
                one.member.on_connected(other.name)
                other.member.on_connected(one.name)

    def _finds_lapse(self, judge: Host, host: Host) -> bool:
        """Whether one refuses the other, as raft.network.transport does at a hello."""
        assert judge.member is not None
        assert host.member is not None
        lapse = judge.member.find_lapse(host.member.introduce())
        if lapse is not None:
            self.lapses[host.name] = lapse.sentence
            if host.member.believes(lapse):
                self.stopped[host.name] = lapse.sentence
                self.crash(host.name)
        return lapse is not None

    # Time.

    def step(self) -> None:
        self.now += self.random.choice((0.0005, 0.002, 0.005, 0.01))
        self._connect_all()
        hosts = self.living()
        self.random.shuffle(hosts)
        for host in hosts:
            if host.member is None or self.now < host.frozen_until:
                continue
            try:
                self._deliver(host)
                host.member.promises.keep()
                host.member.tick(0)
            except Diverged as stopped:
                self.stopped[host.name] = str(stopped)
                self.crash(host.name)
            self._look_at(host)
        assert not self.failures

    def run(self, seconds: float) -> None:
        until = self.now + seconds
        while self.now < until:
            self.step()

    def run_until(self, condition: Callable[[], bool], seconds: float = 60.0) -> None:
        until = self.now + seconds
        while not condition():
            assert self.now < until, f"it did not happen within {seconds} s: {self.describe()}"
            self.step()

    def _deliver(self, host: Host) -> None:
        assert host.member is not None
        arrived = []
        for (sender, receiver), link in self.links.items():
            if receiver != host.name or (sender, receiver) in self.stalled:
                continue
            count = sum(1 for arrives, _ in link.queue if arrives <= self.now)
            arrived += [(arrives, sender, frame) for arrives, frame in link.queue[:count]]
            del link.queue[:count]
        for _, sender, frame in heapq.merge(sorted(arrived, key=lambda item: item[0]), key=lambda item: item[0]):
            host.member.on_message(sender, frames.decode(frame))

    # Clients.

    def write(self, name: str) -> None:
        member = self.hosts[name].member
        assert member is not None
        write = Write(b"%d" % next(self._numbers))
        self.writes[write.command] = write

        def done(outcome: Outcome) -> None:
            self._require(write.outcome is None, f"{write} has a second outcome {outcome!r}")
            write.outcome = outcome
            if isinstance(outcome, bytes):
                self._require(outcome == write.command, f"{write} has the result of another command")
                write.acknowledged_at = self.now
                place = self.indexes_of.get(write.command, 0), write.command
                self._require(place in self.hosts[name].machine.history, f"{write} is not applied on {name}")
            elif isinstance(outcome, NoLeader | Overloaded | LowDisk):
                self._require(write.command not in self.indexes_of, f"{outcome!r}, but it was applied")

        try:
            member.proposals.submit(write.command, self.now + self.random.choice((0.3, 1.0, 4.0)), done)
        except RaftError as error:
            done(error)

    def read(self, name: str) -> None:
        """Sees all that was acknowledged, to anybody, before it began."""
        host = self.hosts[name]
        assert host.member is not None
        before = {write.command for write in self.writes.values() if write.acknowledged_at is not None}

        def done(outcome: int | RaftError) -> None:
            if isinstance(outcome, int):
                self.reads += 1
                missing = before - {command for _, command in host.machine.history}
                self._require(not missing, f"a read on {name} did not see {sorted(missing)}")

        host.member.reading.submit(Read(self.now + 2.0, done))

    def change(self, name: str, goal: Change | Handover) -> None:
        member = self.hosts[name].member
        assert member is not None
        member.changing.submit(goal, self.now + 5.0, lambda answer: self.changes.append((goal, answer)))

    def _require(self, holds: bool, otherwise: str) -> None:
        """For what members call: they outlive an exception there."""
        if not holds:
            self.failures.append(otherwise)

    # What must hold.

    def applied(self, name: str, index: int, command: bytes) -> None:
        known = self.applied_at.setdefault(index, command)
        assert known == command, f"{name} applied {command!r} at {index}, others {known!r}"
        assert self.indexes_of.setdefault(command, index) == index, f"{command!r} was applied twice"
        outcome = self.writes[command].outcome
        assert not isinstance(outcome, NoLeader | Overloaded | LowDisk), f"{outcome!r}, but {command!r} is applied"

    def _look_at(self, host: Host) -> None:
        member = host.member
        if member is None:
            return
        core = member.core
        if core.is_leader:
            assert self.leaders.setdefault(core.term, host.name) == host.name, f"two leaders in term {core.term}"
            assert may_campaign(host.name, member.journal.configuration)
        assert core.commit_index <= member.journal.last_index
        assert core.applied_index <= core.commit_index
        staleness = member.reading.freshness.staleness_s(self.now)
        if staleness is not None and self.random.random() < 0.02:
            fresh_at = self.now - staleness
            has = {command for _, command in host.machine.history}
            for write in self.writes.values():
                if write.acknowledged_at is not None and write.acknowledged_at < fresh_at - 1e-6:
                    assert write.command in has, f"{host.name} calls itself {staleness:.3f} s old but lacks {write}"

    def leader(self) -> Host | None:
        """The one that leads in the newest term."""
        leaders = [host for host in self.living() if host.member is not None and host.member.core.is_leader]
        return max(leaders, key=lambda host: host.member.core.term if host.member else 0, default=None)

    def settle(self) -> None:
        """Everything works again: all acknowledged writes are on all members, and none that was refused."""
        self.cut.clear()
        self.stalled.clear()
        for host in self.hosts.values():
            host.frozen_until = 0.0
            if host.member is None:
                self.start(host.name)
        self.run_until(self._has_agreed)
        leader = self.leader()
        assert leader is not None
        acknowledged = {write.command for write in self.writes.values() if write.acknowledged_at is not None}
        missing = acknowledged - {command for _, command in leader.machine.history}
        assert not missing, f"acknowledged and lost: {sorted(missing)}"

    def _has_agreed(self) -> bool:
        leader = self.leader()
        if leader is None or leader.member is None:
            return False
        configuration = leader.member.journal.configuration
        assert configuration is not None
        members = [self.hosts[member.name] for member in configuration.members]
        if any(host.machine.history != leader.machine.history for host in members):
            return False
        states = {
            (host.member.core.leader, host.member.core.applied_index, host.member.journal.configuration)
            for host in members
            if host.member is not None
        }
        return len(states) == 1 and states.pop()[1] == leader.member.journal.last_index

    def describe(self) -> str:
        lines = []
        for host in self.living():
            member = host.member
            assert member is not None
            configuration = member.journal.configuration
            lines.append(
                f"\n{host.name}: term {member.core.term} leader {member.core.leader} is_leader {member.core.is_leader} "
                f"log {member.journal.first_index}-{member.journal.last_index} commit {member.core.commit_index} "
                f"applied {member.core.applied_index} machine {host.machine.applied_index} "
                f"voters {sorted(configuration.voters) if configuration else None} "
                f"connected {sorted(host.network.connected) if host.network else None}"
            )
        return "".join(lines)


class Chaos:
    """Lets everything happen at random, one thing at a time."""

    def __init__(self, world: World, *, changes_members: bool = False) -> None:
        self.world = world
        self.changes_members = changes_members
        self.down_at_most = 1

    def run(self, seconds: float) -> None:
        until = self.world.now + seconds
        while self.world.now < until:
            self.world.step()
            self._clients()
            if self.world.random.random() < 0.012:
                self._trouble()

    def _clients(self) -> None:
        world, choice = self.world, self.world.random.random()
        living = [host.name for host in world.living() if world.now >= host.frozen_until]
        if not living:
            return
        if choice < 0.25:
            for _ in range(world.random.choice((1, 1, 1, 5))):
                world.write(world.random.choice(living))
        elif choice < 0.35:
            world.read(world.random.choice(living))

    def _trouble(self) -> None:
        world = self.world
        pick = world.random
        kind = pick.choice(
            [
                "crash",
                "power",
                "start",
                "start",
                "cut",
                "heal",
                "heal",
                "stall",
                "isolate",
                "freeze",
                "reset",
                "transfer",
            ]
            + ["change", "change", "change"] * self.changes_members
        )
        living = [host.name for host in world.living()]
        dead = [name for name, host in world.hosts.items() if host.member is None]
        match kind:
            case "crash" | "power" if living and len(dead) < self.down_at_most:
                world.crash(pick.choice(living), loses_power=kind == "power")
            case "start" if dead:
                world.start(pick.choice(dead))
            case "cut" if len(world.hosts) > 1:
                pair = frozenset(pick.sample(sorted(world.hosts), 2))
                world.cut.add(pair)
                if pick.random() < 0.7:
                    world.disconnect(*sorted(pair))
            case "heal":
                world.cut.clear()
                world.stalled.clear()
            case "stall" if len(world.hosts) > 1:
                one, other = pick.sample(sorted(world.hosts), 2)
                world.stalled.add((one, other))
            case "isolate" if world.leader() is not None:
                leader = world.leader()
                assert leader is not None
                for other in world.hosts:
                    world.stalled |= {(leader.name, other), (other, leader.name)}
            case "freeze" if living:
                world.hosts[pick.choice(living)].frozen_until = world.now + pick.choice((0.2, 1.0, 3.0))
            case "reset" if len(living) > 1:
                world.disconnect(*pick.sample(living, 2))
            case "transfer" if living:
                world.change(pick.choice(living), Handover(pick.choice([None, *sorted(world.hosts)])))
            case "change" if living:
                world.change(pick.choice(living), self._change())

    def _change(self) -> Change:
        pick, world = self.world.random, self.world
        name = pick.choice("abcde")
        kind = pick.choice(["add", "promote", "promote", "remove"])
        if kind == "add":
            if name not in world.hosts:
                leader = world.leader()
                configuration = leader.member.journal.configuration if leader and leader.member else None
                known = [member.name for member in configuration.members] if configuration else world.hosts
                world.add_host(name, pick.sample(sorted(known), 1))  # as an operator does, of one that is there
            return AddLearner(name, f"{name}:1")
        return Promote(name) if kind == "promote" else Remove(name)


__all__ = ["ChangeRefused", "Chaos", "InlineExecutor", "OutcomeUnknown", "World"]

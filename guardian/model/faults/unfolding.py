"""Plays a story with one partition: KRaft's controllers, the brokers that hold it, one producer and its readers.

A step is a quarter of a second, and the producer makes one record in it. Logs are lists of (record, leader epoch); they
begin with what was there before: records that are on disk, that were never fsynced, and that a stale copy lacks. Who is
out of the ISR at the beginning stays behind until it is restarted or another leads. A link that is cut one way carries
nothing, as TCP needs both.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import IntEnum

from guardian.model.faults import controller
from guardian.model.faults.controller import NO_LEADER, Record, Settings
from guardian.model.faults.event import (
    Act,
    CleanStop,
    ClockJump,
    Cut,
    DiskFree,
    DiskFull,
    ElectPreferred,
    FastFollower,
    Heal,
    Kill,
    LogDirFails,
    LogDirWorks,
    Lose,
    Pause,
    PowerLoss,
    Resume,
    SlowFollower,
    SlowWrites,
    Start,
    Story,
)
from guardian.model.faults.producer import Producer
from guardian.model.faults.reader import PartitionReader
from guardian.model.faults.replica import Replica
from guardian.model.faults.times import Pace, Times

STEP_S = 0.25
BEFORE_S = 2.0
"""How long producers write before a story begins."""


@dataclass(frozen=True, slots=True)
class Beginning:
    """A partition as the story finds it; `dead` brokers hold a copy and do not run."""

    record: Record
    dead: frozenset[int] = frozenset()


class Before(IntEnum):
    """Records of the time before the story, by what may take them away."""

    ON_DISK = 0
    UNFLUSHED = 1
    RECENT = 2  # a copy that is out of sync lacks these


FIRST = len(Before)


class Ended(IntEnum):
    """Ways in which a silence ends."""

    NEVER = 0
    HEALED = 1
    SHRUNK = 2  # the ISR lost who hung
    ELECTED = 3
    RETURNED = 4  # a broker that had been away came back


@dataclass(frozen=True, slots=True)
class Turn:
    """A change that lets a producer go on: `broker` leads now, unless `how` is a heal."""

    at_s: float
    how: Ended
    broker: int = NO_LEADER


@dataclass(slots=True)
class World:
    """All that happens in one story at one pace; `play` runs it, and what it left is read from the fields."""

    settings: Settings
    times: Times
    pace: Pace
    controllers: tuple[int, ...]
    record: Record
    replicas: dict[int, Replica]
    producer: Producer
    reader: PartitionReader
    now_s: float = 0.0
    cut: set[tuple[int, int]] = field(default_factory=set)
    down: set[int] = field(default_factory=set)  # controllers that are killed or paused
    active: int = NO_LEADER
    electing_since_s: float | None = None
    leads_quorum: bool | None = None  # whether the active one has a majority; None: something has changed since
    turns: list[Turn] = field(default_factory=list)
    awaited: dict[int, None] = field(default_factory=dict)
    was_away: set[int] = field(default_factory=set)
    fenced_together: int = 0  # at the most
    read: set[int] = field(default_factory=set)  # records that readers of any leader, old or new, have had
    elrs: set[tuple[int, ...]] = field(default_factory=set)  # one after another

    @staticmethod
    def of(
        start: Beginning, *, acks_all: bool, settings: Settings, times: Times, pace: Pace, controllers: tuple[int, ...]
    ) -> World:
        """Return the world before anything happens."""
        record = start.record
        needed = settings.effective_min_isr(len(record.replicas))
        return World(
            settings,
            times,
            pace,
            controllers,
            record,
            {
                each: Replica.of(
                    each, record, needed, has_recent=_has_recent(each, record, acks_all), alive=each not in start.dead
                )
                for each in record.replicas
            },
            Producer(acks_all=acks_all, times=times, pace=pace, believed=record.leader, epoch=record.epoch),
            PartitionReader(times=times, pace=pace, believed=record.leader, epoch=record.epoch),
            active=controllers[0] if controllers else NO_LEADER,
            was_away=set(start.dead),
            elrs={record.elr},
        )

    def play(self, story: Story) -> None:
        """Run the story to its end, from a moment before it begins."""
        events = list(story.events)
        for step in range(round((BEFORE_S + story.until_s) / STEP_S)):
            self.now_s = step * STEP_S - BEFORE_S
            while events and events[0].at_s <= self.now_s:
                self._happen(events.pop(0).act)
            self._choose_controller()
            self._contact()
            self._fence_silent()
            self._replicate()
            self._keep_isr()
            self.producer.step(self.now_s, FIRST + step, self.replicas)
            for replica in self.replicas.values():
                replica.lengths.append(len(replica.log))
            self._replicate(only_near=True)
            for replica in self.replicas.values():
                if replica.leads(self.now_s):
                    self.read.update(replica.read())
            self.reader.step(self.now_s, self.replicas)
            for broker in self.record.awaited():
                self.awaited.setdefault(broker)

    def _happen(self, act: Act) -> None:
        self.leads_quorum = None
        match act:
            case Cut():
                self.cut |= set(act.pairs())
            case Heal():
                self.cut.clear()
                self.turns.append(Turn(self.now_s, Ended.HEALED))
            case Start(node) | Resume(node):
                self.down.discard(node)
                self._go_on(act)
            case Kill(node) | PowerLoss(node) | Lose(node) | CleanStop(node) | Pause(node) | DiskFull(node):
                if node in self.controllers:
                    self.down.add(node)
                self._stop(act)
            case ElectPreferred():
                self._become(controller.prefer(self.record, self._lives))
            case DiskFree():
                pass  # a broker that is down stays so
            case _ if replica := self.replicas.get(act.node):
                self._change(replica, act)

    def _change(self, replica: Replica, act: Act) -> None:
        """Change the clock, the disk or the link of a broker, which goes on."""
        match act:
            case ClockJump(_, seconds):
                self._set_clock(replica, seconds)
            case LogDirFails():
                replica.fail_dir()
            case LogDirWorks():
                replica.dir_works = True
            case SlowFollower(_, share):
                replica.link(share)
            case SlowWrites(_, seconds):
                replica.slow_disk(seconds, self.pace.journal_writes, self.now_s)
                if not seconds:
                    self.turns.append(Turn(self.now_s, Ended.HEALED))
            case FastFollower():
                replica.link(1.0)
                self.turns.append(Turn(self.now_s, Ended.HEALED))

    def _set_clock(self, replica: Replica, ahead_s: float) -> None:
        """Set a wall clock. It counts where a leader looks at records' times: brokers meter intervals otherwise."""
        refused, replica.refuses = replica.refuses, self.settings.refuses_at(ahead_s)
        if refused and not replica.refuses:
            self.turns.append(Turn(self.now_s, Ended.HEALED))

    def _go_on(self, act: Start | Resume) -> None:
        replica = self.replicas.get(act.node)
        if replica is None:
            return
        if isinstance(act, Resume):
            replica.resume(self.now_s)
        else:
            replica.start(self.now_s + self.pace.boot_s)

    def _stop(self, act: Kill | PowerLoss | Lose | CleanStop | Pause | DiskFull) -> None:
        """End or pause a broker; what its log keeps follows from how it ends."""
        replica = self.replicas.get(act.node)
        if replica is None:
            return
        if isinstance(act, Pause):
            replica.paused = True
            return
        self.was_away.add(act.node)
        if isinstance(act, CleanStop) and replica.up and self._reaches_controller(act.node):
            self._fence(act.node)
        replica.stop(clean=isinstance(act, CleanStop), silent=isinstance(act, PowerLoss | Lose))
        if isinstance(act, PowerLoss):
            replica.log = [entry for entry in replica.log if entry[0] == Before.ON_DISK]
        elif isinstance(act, Lose):
            replica.log, replica.is_on_new_disk = [], True

    def _linked(self, a: int, b: int) -> bool:
        return (a, b) not in self.cut and (b, a) not in self.cut

    def _majority(self, of: int) -> bool:
        alive = [each for each in self.controllers if each not in self.down]
        near = sum(each == of or self._linked(each, of) for each in alive)
        return of in alive and 2 * near > len(self.controllers)

    def _choose_controller(self) -> None:
        if self.leads_quorum is None:
            self.leads_quorum = self._majority(self.active)
        if self.leads_quorum:
            self.electing_since_s = None
            return
        if self.electing_since_s is None:
            self.electing_since_s = self.now_s
        if self.now_s - self.electing_since_s < self.times.quorum_fetch_s + self.times.election_s:
            return
        found = next((each for each in self.controllers if self._majority(each)), None)
        if found is None:
            return
        self.active, self.electing_since_s, self.leads_quorum = found, None, True
        for replica in self.replicas.values():
            replica.beat_s = max(replica.beat_s, self.now_s)

    def _reaches_controller(self, broker: int) -> bool:
        return self.electing_since_s is None and self._linked(broker, self.active)

    def _contact(self) -> None:
        """Let brokers beat, learn what the metadata log has, register and be unfenced."""
        for replica in self._in_turn(self.replicas.values()):
            awake = replica.awake(self.now_s)
            if not awake or not self._reaches_controller(replica.id):
                replica.lose_contact(self.now_s)
                continue
            if self.now_s < replica.contact_from(self.pace, self.times):
                continue
            replica.regain(self.now_s)
            if replica.is_on_new_disk:
                self._give_up(replica)
            if not replica.registered:
                if not replica.fenced:
                    continue  # the controller still believes in its former life
                self._register(replica)
            elif replica.offline and not replica.known_offline:  # told at once, before the next heartbeat is due
                replica.known_offline = True
                self._give_up(replica)
            replica.beat_s = self.now_s
            if replica.fenced and self.now_s >= replica.unfenced_from(self.pace):
                replica.fenced = False
                self._become(controller.changed(self.record, self.record.isr, self.settings, self._lives), replica.id)
            replica.learn(self.record, self.now_s)

    def _give_up(self, replica: Replica) -> None:
        """Take a broker's replicas out of the ISR whose log dir has failed, or is unknown to the controllers.

        A broker names a failed one in a heartbeat (KIP-858). It asks for replicas on an unknown one as soon as it has
        read the metadata, before it may register again (AssignReplicasToDirs): controllers hold that for failed, too.
        """
        replica.is_on_new_disk = False
        isr = tuple(each for each in self.record.isr if each != replica.id)
        others_live = lambda broker: broker != replica.id and self._lives(broker)  # noqa: E731
        self._become(controller.changed(self.record, isr, self.settings, others_live))

    def _register(self, replica: Replica) -> None:
        replica.registered = True
        replica.registered_s = self.now_s
        replica.known_offline = replica.offline
        if not replica.ended_clean:
            self._become(controller.forget(self.record, replica.id, self.settings, self._lives))

    def _lives(self, broker: int) -> bool:
        replica = self.replicas.get(broker)
        return replica is not None and not replica.fenced and not replica.known_offline

    def _fence_silent(self) -> None:
        if self.electing_since_s is not None:
            return
        late = [
            each
            for each in self.replicas.values()
            if not each.fenced and self.now_s - each.beat_s > self.pace.session_s
        ]
        self.fenced_together = max(self.fenced_together, len(late))
        for replica in self._in_turn(late):
            self._fence(replica.id)

    def _in_turn(self, together: Iterable[Replica]) -> list[Replica]:
        """Return who comes together in the order in which the controller takes them."""
        found = list(together)
        return found[self.pace.first :] + found[: self.pace.first]

    def _fence(self, broker: int) -> None:
        self.replicas[broker].fenced = True
        self.replicas[broker].fenced_s = self.now_s
        self._become(controller.fence(self.record, broker, self.settings, self._lives))

    def _become(self, record: Record, returned: int = NO_LEADER) -> None:
        before, self.record = self.record, record
        self.elrs.add(record.elr)
        if record.leader not in (NO_LEADER, before.leader):
            is_back = record.leader == returned and returned in self.was_away
            self.turns.append(Turn(self.now_s, Ended.RETURNED if is_back else Ended.ELECTED, record.leader))

    def _behind(self, broker: int) -> int:
        return self.pace.last_behind_steps if broker == self.record.replicas[-1] else self.pace.behind_steps

    def _shrink_s(self, broker: int) -> float:
        return self.pace.last_shrink_s if broker == self.record.replicas[-1] else self.pace.shrink_s

    def _replicate(self, *, only_near: bool = False) -> None:
        """Let every follower fetch from whom it takes for the leader; or those who are no step behind it."""
        for replica in self.replicas.values():
            if only_near and self._behind(replica.id):
                continue
            leader = self.replicas.get(replica.known.leader)
            if replica.lags_in == replica.known.epoch:
                continue
            if leader is None or leader is replica or not self._linked(replica.id, leader.id):
                continue
            if not replica.works(self.now_s) or replica.is_stuck(self.now_s) or not leader.leads(self.now_s):
                continue
            if leader.known.epoch != replica.known.epoch:
                continue
            if replica.share < 1:
                replica.fetch_slowly(leader, STEP_S, self.now_s)
            else:
                replica.fetch(leader, self._behind(replica.id), self.now_s)

    def _keep_isr(self) -> None:
        """Let the leader drop who is behind for too long, and take back who has caught up."""
        leader = self.replicas.get(self.record.leader)
        if leader is None or not leader.leads(self.now_s) or leader.known != self.record:
            return
        leader.mark(self.now_s)
        if not self._reaches_controller(leader.id) or leader.out_of_contact:
            return
        isr = leader.isr_now(self.now_s, self._shrink_s, self._lives)
        if isr != set(self.record.isr):
            wanted = tuple(each for each in self.record.replicas if each in isr)
            shrinks = not set(self.record.isr) <= isr
            self._become(controller.changed(self.record, wanted, self.settings, self._lives))
            leader.known = self.record
            if shrinks:
                self.turns.append(Turn(self.now_s, Ended.SHRUNK, leader.id))


def _has_recent(broker: int, start: Record, acks_all: bool) -> bool:
    """Tell whether it has what was written lately; what acks=1 took is on no member of the ELR for sure."""
    return broker in start.isr or broker == start.last_known or (broker in start.elr and acks_all)

"""Holds one broker's copy of a partition, and what the broker knows, right or stale."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from guardian.model.faults.controller import Record
from guardian.model.faults.times import Pace, Times

Entry = tuple[int, int]  # record, leader epoch
_FOREVER = float("inf")
_BEFORE = 3  # on disk, unflushed, recent


@dataclass(slots=True)
class Replica:
    """A broker that holds the partition. `known` is the metadata it has applied, `fenced` what controllers think."""

    id: int
    log: list[Entry]
    known: Record
    min_isr: int
    up: bool = True
    up_from_s: float = -_FOREVER
    paused: bool = False
    lags_in: int | None = None  # the epoch in which it is too slow to follow, as when the story begins
    silent: bool = False  # its host is gone, so that clients wait for it
    fenced: bool = False
    fenced_s: float = 0.0
    registered: bool = True
    registered_s: float = -_FOREVER
    ended_clean: bool = True
    is_on_new_disk: bool = False  # which its controllers have not been told of
    dir_works: bool = True
    offline: bool = False  # its log dir failed while it ran, or at its start
    known_offline: bool = False  # and its controllers have been told so
    beat_s: float = 0.0
    regained_s: float = -_FOREVER
    out_of_contact: bool = False
    was_paused: bool = False
    share: float = 1.0  # of what is written, that its link carries
    arriving: int = 0  # the end of what it fetches over a slow link
    arrives_s: float = -_FOREVER  # and when all of that is there
    write_s: float = 0.0  # how long its disk takes for each write
    stuck_until_s: float = -_FOREVER  # until then its file system takes no record
    fetched_epoch: int | None = None  # the epoch in which its log was last made a prefix of its leader's
    positions: dict[int, int] = field(default_factory=dict)  # of followers, as the leader knows
    caught_up_s: dict[int, float] = field(default_factory=dict)
    lengths: list[int] = field(default_factory=list)
    led_epoch: int = -1
    read_to: int = 0  # up to where readers have had its log since it leads
    led_first: bool = False  # it was the leader when the story began
    refuses: bool = False  # its clock is so wrong that it refuses what is produced

    @staticmethod
    def of(broker: int, start: Record, min_isr: int, *, has_recent: bool, alive: bool = True) -> Replica:
        """Return a copy as it stands before the story: with the latest records, or without them."""
        log = [(record, -1) for record in range(_BEFORE if has_recent else _BEFORE - 1)]
        made = Replica(
            broker,
            log,
            start,
            min_isr,
            lags_in=None if broker in start.isr else start.epoch,
            led_first=broker == start.leader,
        )
        if not alive:
            made.up, made.registered, made.fenced = False, False, True
        return made

    def awake(self, now_s: float) -> bool:
        """Tell whether it runs and does something."""
        return self.up and not self.paused and now_s >= self.up_from_s

    def works(self, now_s: float) -> bool:
        """Tell whether it runs and its log dir can be read and written."""
        return self.awake(now_s) and not self.offline

    def leads(self, now_s: float) -> bool:
        """Tell whether it takes itself for the leader."""
        return self.works(now_s) and self.known.leader == self.id

    def fail_dir(self) -> None:
        """Let its log dir fail; it goes on, and its copy is offline until a start after the dir works again."""
        self.dir_works, self.offline = False, True

    def stop(self, *, clean: bool, silent: bool = False) -> None:
        """End its process."""
        self.up, self.paused, self.registered, self.silent = False, False, False, silent
        self.ended_clean = clean
        self.fetched_epoch, self.led_epoch = None, -1

    def start(self, up_from_s: float) -> None:
        """Start its process, which is ready at `up_from_s`; it knows nothing of leaders until then."""
        if not self.up:
            self.up, self.silent, self.up_from_s, self.lags_in = True, False, up_from_s, None
            self.known = Record(self.known.replicas, -1, (), epoch=-1)
            self.regained_s, self.out_of_contact = up_from_s, False
            self.offline = not self.dir_works

    def resume(self, now_s: float) -> None:
        """Let its process go on."""
        if self.paused:
            self.paused, self.was_paused, self.regained_s = False, True, now_s

    def lose_contact(self, now_s: float) -> None:
        """Note that it reaches no controller at this moment."""
        self.out_of_contact = True
        self.regained_s = max(now_s, self.up_from_s if self.up else now_s)

    def contact_from(self, pace: Pace, times: Times) -> float:
        """Return from when it hears of its controllers again, and how it was away decides how soon."""
        if not self.out_of_contact:
            return -_FOREVER
        if not self.registered:
            return self.regained_s  # it connects anew
        contact_s = pace.leader_contact_s if self.led_first else pace.contact_s
        if self.was_paused:  # its connections live; what it reads first decides
            return self.regained_s + (0.0 if contact_s < times.heartbeat_s else times.heartbeat_s)
        return self.regained_s + contact_s

    def unfenced_from(self, pace: Pace) -> float:
        """Return from when its controller may let it lead again."""
        beats_from_s = self.regained_s + (pace.beats_s if self.registered_s < self.regained_s else 0.0)
        return max(beats_from_s, self.registered_s, self.fenced_s) + pace.unfence_s

    def regain(self, now_s: float) -> None:
        """Note that it hears of its controllers, if it did not."""
        if self.out_of_contact:
            self.out_of_contact, self.was_paused, self.regained_s = False, False, now_s

    def learn(self, record: Record, now_s: float) -> None:
        """Apply the newest metadata."""
        self.known = record
        self.mark(now_s)

    def mark(self, now_s: float) -> None:
        """Begin anew to watch followers, where it leads since a moment ago."""
        if self.known.leader == self.id and self.led_epoch != self.known.epoch:
            self.led_epoch, self.read_to = self.known.epoch, 0
            self.positions = {each: -1 for each in self.known.replicas if each != self.id}
            self.caught_up_s = dict.fromkeys(self.positions, now_s)

    def fetch(self, leader: Replica, behind_steps: int, now_s: float) -> None:
        """Take over the leader's log, up to so many steps behind."""
        self._begin_to_follow(leader, now_s)
        seen = leader.lengths[-behind_steps] if 0 < behind_steps <= len(leader.lengths) else len(leader.log)
        if seen > len(self.log):
            self.log.extend(leader.log[len(self.log) : seen])
        leader.positions[self.id] = len(self.log)
        leader.caught_up_s[self.id] = now_s

    def fetch_slowly(self, leader: Replica, made_every_s: float, now_s: float) -> None:
        """Take over what a slow link has brought by now, and fetch all that the leader has by then.

        So each answer takes longer than the one before. A leader takes one request of a producer at a time, and with
        acks=all the next one only when followers have it. Who got the last one has caught up, for a moment.
        """
        self._begin_to_follow(leader, now_s)
        if now_s < self.arrives_s:
            return
        self.log.extend(leader.log[len(self.log) : self.arriving])
        leader.positions[self.id] = len(self.log)
        if self.id in leader.known.isr or len(self.log) == len(leader.log):
            leader.caught_up_s[self.id] = now_s
        self.arriving = len(leader.log)
        self.arrives_s = now_s + (self.arriving - len(self.log)) * made_every_s / self.share

    def link(self, share: float) -> None:
        """Set how fast its link is from now on."""
        self.share, self.arriving, self.arrives_s = share, 0, -_FOREVER

    def slow_disk(self, write_s: float, writes: int, now_s: float) -> None:
        """Set how long each write to its disk takes; its file system waits for so many of them."""
        if write_s:
            self.stuck_until_s = now_s + writes * write_s
        else:
            self.stuck_until_s = min(self.stuck_until_s, now_s + self.write_s)
        self.write_s = write_s

    def is_stuck(self, now_s: float) -> bool:
        """Tell whether whoever appends to its log waits for the disk."""
        return now_s < self.stuck_until_s

    def _begin_to_follow(self, leader: Replica, now_s: float) -> None:
        """Make its log a prefix of a new leader's."""
        leader.mark(now_s)
        if self.fetched_epoch == leader.known.epoch:
            return
        self.fetched_epoch, self.arriving, self.arrives_s = leader.known.epoch, 0, -_FOREVER
        common = 0
        for mine, theirs in zip(self.log, leader.log, strict=False):
            if mine != theirs:
                break
            common += 1
        del self.log[common:]

    def append(self, records: list[int]) -> None:
        """Write records of a producer."""
        self.log.extend((record, self.known.epoch) for record in records)

    def high_watermark(self) -> int:
        """Return up to where everybody in its ISR has the log."""
        others = [self.positions.get(each, 0) for each in self.known.isr if each != self.id]
        return min([len(self.log), *others])

    def read(self) -> list[int]:
        """Return the records that readers have not had from it yet, up to its high watermark, which stands still while
        its ISR is smaller than min.insync.replicas."""
        end = self.high_watermark() if len(self.known.isr) >= self.min_isr else 0
        records = [record for record, _ in self.log[self.read_to : max(self.read_to, end)]]
        self.read_to += len(records)
        return records

    def isr_now(self, now_s: float, lag_s: Callable[[int], float], lives: Callable[[int], bool]) -> set[int]:
        """Return the ISR that it would have: without those behind for their `lag_s`, with those who caught up just
        now."""
        isr = {self.id}
        for each in self.positions:
            behind_s = now_s - self.caught_up_s[each]
            if each in self.known.isr:
                if behind_s < lag_s(each):
                    isr.add(each)
            elif behind_s == 0 and lives(each) and self.positions[each] >= 0:
                isr.add(each)
        return isr

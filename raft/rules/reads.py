"""ReadIndex (Ongaro's thesis, section 6.4): a read that writes nothing, yet sees all that was acknowledged before it.

reader ─ asks ─▶ leader: notes its commit index, then asks the voters "do I still lead?" (a round)
                  └ a majority answers this round or a later one ─▶ the index ─▶ reader waits until it has applied it

`ReadRounds` is the leader's part, `ReadRequests` the part of the member that reads (the leader too). A round confirms
only reads that arrived before it began. Neither knows a clock: times are passed in, all of one monotonic clock.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from raft.configuration import Configuration
from raft.errors import RaftError

ReadOutcome = int | RaftError

MAX_EMPTY_BATCHES = 64
"""Confirmed questions without readers that wait to be applied: a member that can't apply asks on, for days."""


@dataclass(frozen=True, slots=True, eq=False)
class Read:
    deadline: float
    done: Callable[[ReadOutcome], None]


@dataclass(frozen=True, slots=True)
class Batch:
    """Reads that are asked for together; they all arrived before `asked_at`."""

    request_id: int
    asked_at: float
    reads: tuple[Read, ...]


@dataclass(frozen=True, slots=True)
class Asker:
    """Whose read request waits for a round."""

    member: str
    request_id: int


@dataclass(slots=True)
class _Round:
    number: int
    index: int
    askers: list[Asker]


class ReadRounds:
    """The leader's rounds of one term. Their numbers rise, so an answer to a round confirms all earlier ones too."""

    def __init__(self) -> None:
        self._number = 0
        self._answered: dict[str, int] = {}
        self._open: deque[_Round] = deque()

    def __len__(self) -> int:
        """Return how many rounds are not confirmed yet."""
        return len(self._open)

    @property
    def number(self) -> int:
        """Return the number of the newest round."""
        return self._number

    def begin(self, askers: list[Asker], commit_index: int) -> int:
        """Starts a round for requests that have arrived and returns its number, to be sent to the voters.

        Only for a leader that has committed an entry of its own term: before, its commit index may be an old one.
        """
        self._number += 1
        self._open.append(_Round(self._number, commit_index, askers))
        return self._number

    def answered(self, voter: str, number: int) -> None:
        """A voter still follows this leader. A number that no round has is ignored."""
        if self._answered.get(voter, 0) < number <= self._number:
            self._answered[voter] = number

    def confirmed(self, name: str, configuration: Configuration) -> list[tuple[int, list[Asker]]]:
        """Takes out the rounds that a majority of the voters, the leader `name` one of them, has confirmed."""
        if not self._open:
            return []
        numbers = (self._number if voter == name else self._answered.get(voter, 0) for voter in configuration.voters)
        reached = sorted(numbers, reverse=True)[configuration.majority - 1]
        confirmed = []
        while self._open and self._open[0].number <= reached:
            round_ = self._open.popleft()
            confirmed.append((round_.index, round_.askers))
        return confirmed


@dataclass(slots=True)
class ReadRequests:
    """The reads of one member: new, asked for, or confirmed and waiting until their index is applied."""

    _new: list[Read] = field(default_factory=list)
    _asked: dict[int, Batch] = field(default_factory=dict)
    _confirmed: deque[tuple[int, Batch]] = field(default_factory=deque)
    _last_id: int = 0
    last_asked_at: float | None = None

    @property
    def has_new(self) -> bool:
        return bool(self._new)

    @property
    def asked_count(self) -> int:
        return len(self._asked)

    def add(self, reads: list[Read]) -> None:
        self._new += reads

    def ask(self, now: float) -> Batch:
        """All new reads as one request (of none, when only freshness is wanted)."""
        self._last_id += 1
        batch = Batch(self._last_id, now, tuple(self._new))
        self._new.clear()
        self._asked[batch.request_id] = batch
        self.last_asked_at = now
        return batch

    def answered(self, request_id: int, index: int) -> None:
        """The leader's answer; one to a request that was given up is ignored."""
        batch = self._asked.pop(request_id, None)
        if batch is not None:
            self._confirmed.append((index, batch))

    def refused(self, request_id: int) -> None:
        """Make the reads of a refused request new again: who was asked does not lead."""
        batch = self._asked.pop(request_id, None)
        if batch is not None:
            self._new[:0] = batch.reads

    def lost(self, asked_before: float) -> bool:
        """Make reads new again that were asked before then and will not be answered. Returns whether there were any."""
        lost = [batch for batch in self._asked.values() if batch.asked_at < asked_before]
        for batch in lost:
            self.refused(batch.request_id)
        return bool(lost)

    def ready(self, applied_index: int) -> list[Batch]:
        """Takes out what may be read now."""
        ready = []
        while self._confirmed and self._confirmed[0][0] <= applied_index:
            ready.append(self._confirmed.popleft()[1])
        return ready

    def expired(self, now: float) -> list[Read]:
        """Takes out the reads whose time is up, wherever they are."""
        expired: list[Read] = []
        self._new = _without_expired(self._new, now, expired)
        for batch in list(self._asked.values()):
            self._asked[batch.request_id] = _remaining(batch, now, expired)
        confirmed = [(index, _remaining(batch, now, expired)) for index, batch in self._confirmed]
        self._confirmed = deque(
            (index, batch) for at, (index, batch) in enumerate(confirmed) if batch.reads or at < MAX_EMPTY_BATCHES
        )
        return expired

    def beyond(self, index: int) -> list[Read]:
        """Takes out the confirmed reads that wait for more than the entries up to `index`."""
        found: list[Read] = []
        for at, (wanted, batch) in enumerate(self._confirmed):
            if wanted > index and batch.reads:
                found += batch.reads
                self._confirmed[at] = wanted, Batch(batch.request_id, batch.asked_at, ())
        return found

    def all_reads(self) -> list[Read]:
        """Every read that waits, wherever it is."""
        batches = [*self._asked.values(), *(batch for _, batch in self._confirmed)]
        return [*self._new, *(read for batch in batches for read in batch.reads)]


def _without_expired(reads: list[Read], now: float, expired: list[Read]) -> list[Read]:
    expired += [read for read in reads if read.deadline <= now]
    return [read for read in reads if read.deadline > now]


def _remaining(batch: Batch, now: float, expired: list[Read]) -> Batch:
    kept = _without_expired(list(batch.reads), now, expired)
    return batch if len(kept) == len(batch.reads) else Batch(batch.request_id, batch.asked_at, tuple(kept))


class Freshness:
    """How old the local state may be, by this host's clock alone. It holds all that was acknowledged anywhere up to the
    moment at which the newest confirmed read was asked for.
    """

    def __init__(self) -> None:
        self._fresh_at: float | None = None

    def confirmed(self, asked_at: float) -> None:
        """A read that was asked for then is confirmed and its index is applied here."""
        self._fresh_at = asked_at if self._fresh_at is None else max(self._fresh_at, asked_at)

    def staleness_s(self, now: float) -> float | None:
        """None: nothing was confirmed yet."""
        return None if self._fresh_at is None else max(0.0, now - self._fresh_at)

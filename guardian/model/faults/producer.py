"""Plays one producer: it makes records, asks who leads, waits, tries again, and counts what was acknowledged."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

from guardian.model.faults.controller import NO_LEADER
from guardian.model.faults.replica import Replica
from guardian.model.faults.times import Pace, Times


@dataclass(slots=True)
class Producer:
    """A client with retries and one partition; `believed` leads, as far as it knows. Clients reach every broker."""

    acks_all: bool
    times: Times
    pace: Pace
    believed: int
    epoch: int
    pending: deque[tuple[int, float]] = field(default_factory=deque)  # record, when it was made
    inflight: list[tuple[int, float, int, float]] = field(default_factory=list)  # and its end in the log, when sent
    acked: set[int] = field(default_factory=set)
    acked_at_s: list[float] = field(default_factory=list)
    unanswered_s: float | None = None  # since when the broker that it waits for says nothing
    asks_from_s: float = float("-inf")
    refreshed_s: float = 0.0

    def step(self, now_s: float, record: int, replicas: Mapping[int, Replica]) -> None:
        """Make a record, and do what can be done now."""
        self.pending.append((record, now_s))
        while now_s - self.pending[0][1] > self.times.delivery_timeout_s:
            self.pending.popleft()
        if now_s - self.refreshed_s >= self.times.metadata_max_age_s:
            self._refresh(now_s, replicas, same=False)
        leader = replicas.get(self.believed)
        if leader is None:
            self._ask(now_s, replicas)
            leader = replicas.get(self.believed)
        if leader is not None and now_s >= self.asks_from_s:
            self._talk(now_s, leader, replicas)

    def _talk(self, now_s: float, leader: Replica, replicas: Mapping[int, Replica]) -> None:
        is_stuck = leader.leads(now_s) and leader.is_stuck(now_s)
        hangs = leader.paused or is_stuck or (not leader.up and leader.silent and self.pace.asks_same)
        if hangs:
            self._hang(now_s, replicas)
            return
        self.unanswered_s = None
        if not leader.leads(now_s):
            self._retry()
            self._ask(now_s, replicas)
            return
        leader.mark(now_s)
        self._send(now_s, leader)
        if self.acks_all:
            self._settle(now_s, leader, replicas)

    def _hang(self, now_s: float, replicas: Mapping[int, Replica]) -> None:
        if self.unanswered_s is None:
            self.unanswered_s = now_s
        if now_s - self.unanswered_s >= self.times.request_timeout_s:
            self.unanswered_s = None
            self._retry()
            self._ask(now_s, replicas)

    def _send(self, now_s: float, leader: Replica) -> None:
        if self.acks_all and len(leader.known.isr) < leader.min_isr:
            return
        if leader.refuses:  # for good: a client does not try again
            self.pending.clear()
            return
        records = [record for record, _ in self.pending]
        leader.append(records)
        if self.acks_all:
            self.inflight += [(record, made_s, len(leader.log), now_s) for record, made_s in self.pending]
        else:
            self._acknowledge(now_s, records)
        self.pending.clear()

    def _settle(self, now_s: float, leader: Replica, replicas: Mapping[int, Replica]) -> None:
        """Count what everybody in sync has; give up waiting for what took too long."""
        if len(leader.known.isr) < leader.min_isr:
            self._retry()
            return
        safe = leader.high_watermark()
        if self.inflight and self.inflight[0][2] <= safe:
            self._acknowledge(now_s, [record for record, _, end, _ in self.inflight if end <= safe])
            self.inflight = [each for each in self.inflight if each[2] > safe]
        if self.inflight and now_s - self.inflight[0][3] >= self.times.request_timeout_s:
            self._retry()
            self._refresh(now_s, replicas, same=self.pace.asks_same)

    def _acknowledge(self, now_s: float, records: list[int]) -> None:
        if records:
            self.acked.update(records)
            self.acked_at_s.append(now_s)

    def _retry(self) -> None:
        if self.inflight:
            self.pending.extendleft((record, made_s) for record, made_s, _, _ in reversed(self.inflight))
            self.inflight = []

    def _ask(self, now_s: float, replicas: Mapping[int, Replica]) -> None:
        if now_s >= self.asks_from_s:
            before = self.believed, self.epoch
            self._refresh(now_s, replicas, same=False)
            if before != (self.believed, self.epoch) or self.believed == NO_LEADER:
                self.asks_from_s = now_s + self.pace.client_s

    def _refresh(self, now_s: float, replicas: Mapping[int, Replica], *, same: bool) -> None:
        """Ask the broker that it talks to, or the one that knows best."""
        self.refreshed_s = now_s
        awake = [each.known for each in replicas.values() if each.awake(now_s)]
        old = replicas.get(self.believed)
        if same and old is not None and old.awake(now_s):
            awake = [old.known]
        best = max(awake, key=lambda each: each.epoch, default=None)
        if best is not None and best.epoch >= self.epoch:
            self.believed, self.epoch = best.leader, best.epoch

"""Plays one producer: it makes records, asks who leads, waits, tries again, and counts what was acknowledged."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

from guardian.model.faults.client import PartitionClient
from guardian.model.faults.replica import Replica


@dataclass(slots=True, kw_only=True)
class Producer(PartitionClient):
    """A producer with retries."""

    acks_all: bool
    pending: deque[tuple[int, float]] = field(default_factory=deque)  # record, when it was made
    inflight: list[tuple[int, float, int, float]] = field(default_factory=list)  # and its end in the log, when sent
    acked: set[int] = field(default_factory=set)
    acked_at_s: list[float] = field(default_factory=list)

    def step(self, now_s: float, record: int, replicas: Mapping[int, Replica]) -> None:
        """Make a record, and do what can be done now."""
        self.pending.append((record, now_s))
        while now_s - self.pending[0][1] > self.times.delivery_timeout_s:
            self.pending.popleft()
        leader = self.leader(now_s, replicas)
        if leader is not None:
            self._talk(now_s, leader, replicas)

    def _talk(self, now_s: float, leader: Replica, replicas: Mapping[int, Replica]) -> None:
        is_stuck = leader.leads(now_s) and leader.is_stuck(now_s)
        if is_stuck or self.is_unanswered(leader):
            if self.has_waited(now_s):
                self._retry()
                self.ask(now_s, replicas)
            return
        self.unanswered_s = None
        if not leader.leads(now_s):
            self._retry()
            self.ask(now_s, replicas)
            return
        leader.mark(now_s)
        self._send(now_s, leader)
        if self.acks_all:
            self._settle(now_s, leader, replicas)

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
            self.refresh(now_s, replicas, same=self.pace.asks_same)

    def _acknowledge(self, now_s: float, records: list[int]) -> None:
        if records:
            self.acked.update(records)
            self.acked_at_s.append(now_s)

    def _retry(self) -> None:
        if self.inflight:
            self.pending.extendleft((record, made_s) for record, made_s, _, _ in reversed(self.inflight))
            self.inflight = []

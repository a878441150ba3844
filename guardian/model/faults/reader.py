"""Plays one consumer: it reads up to the high watermark of whom it takes for the leader, and stays with that one while
it answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from guardian.model.faults.client import PartitionClient
from guardian.model.faults.replica import Replica


@dataclass(slots=True, kw_only=True)
class PartitionReader(PartitionClient):
    """A consumer of one partition, which begins anew where a leader lacks what was read."""

    had: set[int] = field(default_factory=set)
    had_at_s: list[float] = field(default_factory=list)  # when something new came
    reads: tuple[int, int] | None = None  # the leader and its epoch
    at: int = 0  # up to where it has read that one's log

    def step(self, now_s: float, replicas: Mapping[int, Replica]) -> None:
        """Read what is new. A leader that its controllers have replaced answers as well, with nothing new, so that
        nothing makes a consumer ask who leads."""
        leader = self.leader(now_s, replicas)
        if leader is None:
            return
        if self.is_unanswered(leader):
            if self.has_waited(now_s):
                self.ask(now_s, replicas)
            return
        self.unanswered_s = None
        if not leader.leads(now_s):
            self.ask(now_s, replicas)
            return
        self._read(now_s, leader)

    def _read(self, now_s: float, leader: Replica) -> None:
        reads = leader.id, leader.led_epoch
        if reads != self.reads:
            self.reads, self.at = reads, 0
        new = {record for record, _ in leader.log[self.at : leader.read_to]} - self.had
        self.at = max(self.at, leader.read_to)
        if new:
            self.had |= new
            self.had_at_s.append(now_s)

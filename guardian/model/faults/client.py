"""Holds what a client knows of one partition: who leads, as far as it was told, and when it asks anew."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from guardian.model.faults.controller import NO_LEADER
from guardian.model.faults.replica import Replica
from guardian.model.faults.times import Pace, Times


@dataclass(slots=True, kw_only=True)
class PartitionClient:
    """A client of one partition; `believed` leads, as far as it knows. Clients reach every broker."""

    times: Times
    pace: Pace
    believed: int
    epoch: int
    unanswered_s: float | None = None  # since when the broker that it waits for says nothing
    asks_from_s: float = float("-inf")
    refreshed_s: float = 0.0

    def leader(self, now_s: float, replicas: Mapping[int, Replica]) -> Replica | None:
        """Return whom it takes for the leader, unless it knows of none, or waits before it asks again."""
        if now_s - self.refreshed_s >= self.times.metadata_max_age_s:
            self.refresh(now_s, replicas, same=False)
        leader = replicas.get(self.believed)
        if leader is None:
            self.ask(now_s, replicas)
            leader = replicas.get(self.believed)
        return leader if now_s >= self.asks_from_s else None

    def is_unanswered(self, leader: Replica) -> bool:
        """Tell whether the broker takes requests and says nothing, as it hangs or its host is gone."""
        return leader.paused or (not leader.up and leader.silent and self.pace.asks_same)

    def has_waited(self, now_s: float) -> bool:
        """Wait for an answer, and tell whether that took longer than it waits."""
        if self.unanswered_s is None:
            self.unanswered_s = now_s
        if now_s - self.unanswered_s < self.times.request_timeout_s:
            return False
        self.unanswered_s = None
        return True

    def ask(self, now_s: float, replicas: Mapping[int, Replica]) -> None:
        """Ask who leads, and wait a moment if that is news or nobody does."""
        if now_s >= self.asks_from_s:
            before = self.believed, self.epoch
            self.refresh(now_s, replicas, same=False)
            if before != (self.believed, self.epoch) or self.believed == NO_LEADER:
                self.asks_from_s = now_s + self.pace.client_s

    def refresh(self, now_s: float, replicas: Mapping[int, Replica], *, same: bool) -> None:
        """Ask the broker that it talks to, or the one that knows best."""
        self.refreshed_s = now_s
        awake = [each.known for each in replicas.values() if each.awake(now_s)]
        old = replicas.get(self.believed)
        if same and old is not None and old.awake(now_s):
            awake = [old.known]
        best = max(awake, key=lambda each: each.epoch, default=None)
        if best is not None and best.epoch >= self.epoch:
            self.believed, self.epoch = best.leader, best.epoch

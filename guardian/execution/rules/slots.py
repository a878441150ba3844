"""How much may be under way at once: every move takes slots where it reads, writes and crosses a line.

    into a broker, out of one      its destinations; its leader, and both on a broker that copies between its log dirs
    a log dir                      where it is read from and written to, as far as that is known
    a line between two IDCs        from the leader's to that of a destination
    the cluster                    one a partition
    a topic's throttled replicas   the bytes of its entries in both lists: a broker drops the connection of
                                   who sends it a longer string (KAFKA-17993)

A small partition is over within a tick, so that whole slots for small ones would leave brokers idle between two looks.
Below `slot_bytes` a move takes a part of a slot, down to a sixteenth.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass

from guardian.errors import InvalidInput
from guardian.throttle.rules.throttling import Copy, crossed, listed_entries

Line = tuple[str, str]  # from one IDC to another

_SMALLEST = 1 / 16
# Kafka's protocol takes strings of up to 32,767 bytes; the rest is for entries that are not Guardian's own.
_LIST_BYTES = 30_000
_ALMOST = 1e-9


@dataclass(frozen=True, slots=True)
class ExecutionLimits:
    """Limits on moves at the same time. They are on replicas into a broker, replicas out of one (its leaders and log
    dirs) and partitions in a cluster. They are also on replicas that read or write a log dir, and those that cross a
    line in one direction.

    A move of fewer bytes than `slot_bytes` takes less than a slot; 0: each takes a whole one. A move waits
    `broker_patience_s` for a broker that it copies to and that is down; then it is given up (losing.py).
    """

    per_broker_in: int = 10
    per_broker_out: int = 10
    per_cluster: int = 1250
    per_disk: int = 10
    per_line: int = 100
    slot_bytes: int = 0
    broker_patience_s: float = 60.0

    def __post_init__(self) -> None:
        for name in ("per_broker_in", "per_broker_out", "per_cluster", "per_disk", "per_line"):
            if getattr(self, name) < 1:
                raise InvalidInput(f"{name} is {getattr(self, name)}: use at least 1")
        if self.slot_bytes < 0:
            raise InvalidInput(f"slot_bytes is {self.slot_bytes}: use bytes, or 0 for a whole slot a move")
        if not self.broker_patience_s > 0:
            raise InvalidInput(f"broker_patience_s is {self.broker_patience_s:g}: use seconds above 0")


class Slots:
    """What is under way at once, against the limits. `idcs` says where brokers are; one that it lacks is nowhere.
    `others` is what other tickets of the cluster have under way: the limits are those of all of them together."""

    def __init__(
        self, limits: ExecutionLimits, idcs: Mapping[int, str] | None = None, others: Iterable[Copy | None] = ()
    ) -> None:
        self._limits = limits
        self._idcs = idcs or {}
        self._used: defaultdict[Hashable, float] = defaultdict(float)
        for copy in others:
            self.take(copy)

    def fit(self, copy: Copy | None) -> bool:
        return not self.why_full(copy)

    def why_full(self, copy: Copy | None) -> str:
        """Say what has no slot left for the copy, in a few words; empty when it fits."""
        full = (title for key, part, limit, title in self._places(copy) if self._used[key] + part > limit + _ALMOST)
        return next(full, "")

    def why_full_into(self, brokers: Iterable[int]) -> str:
        """Say what is full as `why_full`, for no more than can be told of a move without a look at it. Most of a large
        ticket waits for one of few brokers at any time.
        """
        limit = self._limits.per_broker_in
        return next((f"into broker {each}" for each in brokers if self._used.get(("in", each), 0.0) >= limit), "")

    def take(self, copy: Copy | None) -> None:
        for key, part, _, _ in self._places(copy):
            self._used[key] += part

    def _weight(self, copy: Copy | None) -> float:
        if copy is None or not self._limits.slot_bytes or copy.size_bytes <= 0:
            return 1.0
        return min(1.0, max(_SMALLEST, copy.size_bytes / self._limits.slot_bytes))

    def _places(self, copy: Copy | None) -> Iterable[tuple[Hashable, float, int, str]]:
        """Return each place that the move takes a part of: what it is, the part, the limit and the place's name."""
        weight = self._weight(copy)
        for key, limit, title in self._slots(copy):
            yield key, weight, limit, title
        if copy is not None:
            for key, entry in listed_entries(copy):
                size = len(entry) + 1  # and its comma
                yield key, size, _LIST_BYTES, f"{key.key} of topic {key.resource_name}"

    def _slots(self, copy: Copy | None) -> Iterable[tuple[Hashable, int, str]]:
        limits = self._limits
        yield "cluster", limits.per_cluster, "the cluster"
        if copy is None:
            return
        leader = (copy.leader,) if copy.destinations else ()
        for broker in (*copy.destinations, *copy.log_dir_brokers):
            yield ("in", broker), limits.per_broker_in, f"into broker {broker}"
        for broker in (*leader, *copy.log_dir_brokers):
            yield ("out", broker), limits.per_broker_out, f"out of broker {broker}"
        for broker, path in copy.log_dirs:
            yield ("disk", broker, path), limits.per_disk, f"{path} of broker {broker}"
        for line in crossed(copy, self._idcs):
            yield ("line", *line), limits.per_line, f"the line from {line[0]} to {line[1]}"


def line_shares(
    lines: Mapping[Line, float], ticket_id: str, under_way: Mapping[str, Iterable[Copy | None]], idcs: Mapping[int, str]
) -> dict[Line, float]:
    """Return what this ticket may take of each line, in the unit of `lines`: as much as each other ticket whose copies
    cross the line now. `under_way` is what each ticket of the cluster copies.
    """
    crossing = {
        each: {line for copy in copies if copy is not None for line in crossed(copy, idcs)}
        for each, copies in under_way.items()
        if each != ticket_id
    }
    return {line: left / (1 + sum(line in taken for taken in crossing.values())) for line, left in lines.items()}

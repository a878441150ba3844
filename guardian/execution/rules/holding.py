"""What tickets that run beside one another keep from each other. Pure.

    tasks under way, rates that are set ─▶ held      nobody else starts a copy there until they are over
    what a heal ticket is still to move ─▶ claimed   nobody else starts there before it, for healing goes first
    topics that a ticket expands        ─▶ expanding nobody else moves their partitions meanwhile (expanding.py)

Two tickets that copied between the same brokers would share their rates, and each would take the other's for what stood
there before. Two that moved one partition would fight over it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from guardian.execution.rules.expanding import changes_brokers
from guardian.model.effects import BROKER, ConfigKey
from guardian.model.execution import ACTIVE, Execution, ExecutionTask
from guardian.model.plan import PartitionMove
from guardian.model.topology import TopicPartition


@dataclass(frozen=True, slots=True)
class Hold:
    """Of one ticket: the brokers between which it copies, its partitions, and the rates that it has set."""

    brokers: frozenset[int] = frozenset()
    partitions: frozenset[TopicPartition] = frozenset()
    rates: frozenset[ConfigKey] = frozenset()


@dataclass(frozen=True, slots=True)
class Beside:
    """What all others keep from a ticket: brokers and partitions, each with one that has it, and rates. Of topics that
    are to grow, by topic: one that is `expanding` it, and one that has moves of it in flight."""

    brokers: Mapping[int, str] = field(default_factory=dict)
    partitions: Mapping[TopicPartition, str] = field(default_factory=dict)
    rates: frozenset[ConfigKey] = frozenset()
    expanding: Mapping[str, str] = field(default_factory=dict)
    moving: Mapping[str, str] = field(default_factory=dict)

    def why_not(self, move: PartitionMove, alive: Collection[int]) -> str:
        """Say what the move must wait for; empty when it may start. A broker that is down copies nothing, and has no
        rate that could be set: the ways off it cross no other.
        """
        holder = self.partitions.get(move.partition)
        if holder is not None:
            return f"waits for {holder}, which moves it"
        topic = move.partition.topic
        if move.is_new and topic in self.moving:
            return f"waits for {self.moving[topic]}, which moves partitions of topic {topic}"
        if topic in self.expanding and changes_brokers(move):
            return self.why_not_moved(topic)
        if not self.brokers or not _copies(move):
            return ""
        brokers = (*move.original_brokers, *move.target_brokers)
        holder = next((self.brokers[each] for each in brokers if each in self.brokers and each in alive), None)
        return f"waits for {holder}, on the same brokers" if holder is not None else ""

    def why_not_moved(self, topic: str) -> str:
        """Return what moves of a topic that grows wait for; empty where it does not."""
        holder = self.expanding.get(topic)
        return f"waits for {holder}, which expands topic {topic}" if holder is not None else ""


def held(execution: Execution) -> Hold:
    """Return the brokers, partitions and rates that the ticket is at."""
    active = [task for task in execution.tasks if task.state in ACTIVE]
    rates = frozenset(ConfigKey.of(each) for each in execution.throttles if each.resource_type == BROKER)
    found = _of(active)
    return Hold(found.brokers | {int(key.resource_name) for key in rates}, found.partitions, rates)


def claimed(execution: Execution) -> Hold:
    """Return what a ticket that goes first is at, or is still to move."""
    return _of([task for task in execution.tasks if not task.state.is_over])


def beside(holds: Collection[tuple[str, Hold]]) -> Beside:
    """`holds` are those of all others, with their tickets."""
    brokers = {broker: ticket for ticket, hold in holds for broker in hold.brokers}
    partitions = {partition: ticket for ticket, hold in holds for partition in hold.partitions}
    return Beside(brokers, partitions, frozenset().union(*(hold.rates for _, hold in holds)))


def _of(tasks: Collection[ExecutionTask]) -> Hold:
    copying = [task.move for task in tasks if _copies(task.move)]
    brokers = frozenset(broker for move in copying for broker in (*move.original_brokers, *move.target_brokers))
    return Hold(brokers, frozenset(task.move.partition for task in tasks))


def _copies(move: PartitionMove) -> bool:
    """Return whether the move copies data, on its way or back."""
    return not move.is_new and (set(move.original_brokers) != set(move.target_brokers) or bool(move.log_dir_moves))

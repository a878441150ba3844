"""Hard: what goals of other packages forbid, as they judge it themselves (spark_analytics.extensions)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from spark_analytics.extensions.goal import Broker, Placement, Topic
from spark_analytics.goals.goal import Hard, Placed
from spark_analytics.model.cluster_model import Bools, Ints
from spark_analytics.model.edits import broker_facts, topic_facts
from spark_analytics.search.rules import Rules


@dataclass(frozen=True)
class AddedByPackage(Hard):
    """Count the replicas that may not be where they are, or not lead there; none where the rules have no such goal."""

    name: str
    aliases: tuple[str, ...] = ()

    def measure(self, placed: Placed) -> float:
        """Replicas that the goal forbids."""
        _, forbidden, _ = self._judged(placed)
        return float(forbidden.sum())

    def violations(self, placed: Placed) -> Iterator[str]:
        slots, forbidden, sentences = self._judged(placed)
        for at in np.flatnonzero(forbidden).tolist():
            slot = int(slots[at])
            partition = placed.model.partition(int(placed.model.slot_partition[slot]))
            yield f"{partition} on {placed.broker(int(placed.slot_broker[slot]))}: {sentences[at]}"

    def _judged(self, placed: Placed) -> tuple[Ints, Bools, list[str]]:
        """Return the slots that have a place, whether the goal forbids each, and why; alike ones are judged once."""
        model, added = placed.model, placed.rules.added
        goal = next((each for each in added.goals if each.name == self.name), None) if added else None
        if added is None or goal is None:
            return np.zeros(0, np.int64), np.zeros(0, np.bool_), []
        slots = np.flatnonzero(placed.slot_broker >= 0)
        leads = np.zeros(model.slots, np.int64)
        leads[placed.leader_slot] = 1
        topic = model.partition_topic[model.slot_partition[slots]]
        alike, which = np.unique(
            (topic * model.brokers + placed.slot_broker[slots]) * 2 + leads[slots], return_inverse=True
        )
        topics = [Topic(each.name, each.tenant, each.label, each.policy) for each in topic_facts(model)]
        brokers = [Broker(each.id, each.host, each.rack, each.idc, each.label) for each in broker_facts(model)]
        said = []
        for each in alike.tolist():
            place, is_leader = divmod(each, 2)
            of, on = divmod(place, model.brokers)
            said.append(goal.judge(Placement(topics[of], brokers[on], bool(is_leader), added.settings)))
        forbidden = np.array([bool(each) for each in said], dtype=np.bool_)
        return slots, forbidden[which], [said[each] for each in which.tolist()]


def added_goals(rules: Rules) -> tuple[AddedByPackage, ...]:
    """Return those that the rules were compiled with."""
    return () if rules.added is None else tuple(AddedByPackage(each.name) for each in rules.added.goals)

"""Hard, for topics that min_leaders names: every broker leads so many of their partitions, so that load is shared.

No topic is named by default, as in Cruise Control. A broker counts when it lives and the topic's partitions may be
there and be led from there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from spark_analytics.goals.goal import Hard, Placed
from spark_analytics.model.cluster_model import Bools, ClusterModel
from spark_analytics.search.rules import Rules


@dataclass(frozen=True)
class MinLeaders(Hard):
    name = "min-leaders"
    aliases = ("MinTopicLeadersPerBrokerGoal",)

    def measure(self, placed: Placed) -> float:
        """Leaders that are missing, over all topics and brokers."""
        return float(sum(least - led for _, _, led, least in self._lacking(placed)))

    def violations(self, placed: Placed) -> Iterator[str]:
        for topic, broker, led, least in self._lacking(placed):
            name = placed.model.topics[topic]
            yield f"{placed.broker(broker)} leads {led} partitions of {name}, fewer than {least}"

    def _lacking(self, placed: Placed) -> Iterator[tuple[int, int, int, int]]:
        """(topic, broker, partitions led, least)"""
        leader = placed.slot_broker[placed.leader_slot]
        for topic, least, brokers in leading_brokers(placed.model, placed.rules):
            of_topic = (placed.model.partition_topic == topic) & (leader >= 0)
            led = np.bincount(leader[of_topic], minlength=placed.model.brokers)
            for broker in np.flatnonzero(brokers & (led < least)).tolist():
                yield topic, broker, int(led[broker]), least


def leading_brokers(model: ClusterModel, rules: Rules) -> Iterator[tuple[int, int, Bools]]:
    """(topic, least, [brokers] those that are to lead so many of it) for each such topic that the task touches."""
    if rules.least_leaders is None:
        return
    touched = np.asarray(rules.may_take.any(axis=1))
    for topic in np.flatnonzero(rules.least_leaders > 0).tolist():
        classes = np.unique(rules.class_of[model.partition_topic == topic])
        classes = classes[touched[classes]]
        if len(classes):
            may = np.asarray((rules.may_stay & rules.may_lead)[classes].any(axis=0))
            yield topic, int(rules.least_leaders[topic]), may & model.alive


GOAL = MinLeaders()

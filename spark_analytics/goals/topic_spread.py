"""Soft: no topic crowds on a broker: none gets more of its replicas than the topic's worst broker has in the model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from spark_analytics.goals.goal import Placed
from spark_analytics.model.cluster_model import Ints
from spark_analytics.model.load import topic_counts, topic_excess
from spark_analytics.model.resources import Resource


class TopicSpread:
    """`measure` is the sum over topics of what their fullest broker holds beyond an even share."""

    name = "topic-spread"
    aliases = ("TopicReplicaDistributionGoal",)
    is_hard: ClassVar[bool] = False
    resources: ClassVar[tuple[Resource, ...]] = ()

    def target(self, placed: Placed) -> float:
        return float(topic_excess(placed.model, placed.model.slot_log_dir)) if placed.targets.topic_spread else np.inf

    def measure(self, placed: Placed) -> float:
        return float(topic_excess(placed.model, placed.slot_log_dir))

    def violations(self, placed: Placed) -> Iterator[str]:
        if not placed.targets.topic_spread:
            return
        model = placed.model
        was, now = _most(placed, model.slot_log_dir), _most(placed, placed.slot_log_dir)
        slots = np.bincount(model.partition_topic[model.slot_partition], minlength=len(model.topics))
        allowed = np.maximum(was, -(-slots // max(int(placed.counts.sum()), 1)))
        for topic in np.flatnonzero(now > allowed).tolist():
            yield f"topic {model.topics[topic]} has {now[topic]} replicas on one broker, above {allowed[topic]}"


def _most(placed: Placed, slot_log_dir: Ints) -> Ints:
    """[topics] replicas on its fullest broker."""
    topic, _, counts = topic_counts(placed.model, slot_log_dir)
    most = np.zeros(len(placed.model.topics), dtype=np.int64)
    np.maximum.at(most, topic, counts)
    return most


GOAL = TopicSpread()

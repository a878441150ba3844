"""Which topics a task means, by name, by the beginning of a name, or by tenant."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from guardian.errors import InvalidInput
from guardian.model.planner_settings import PlannerSettings, is_named
from guardian.model.text import some
from spark_analytics.model.cluster_model import Bools, ClusterModel


def named(model: ClusterModel, names: Sequence[str], tenant: str = "") -> Bools:
    """[topics] flags. Raises InvalidInput for a name that no topic has, or a tenant without topics."""
    flags = np.zeros(len(model.topics), dtype=np.bool_)
    for name in names:
        if not name.endswith("*"):
            flags[model.topic_index(name)] = True
            continue
        matching = [index for index, topic in enumerate(model.topics) if is_named(topic, name)]
        if not matching:
            raise InvalidInput(f"topics has {name!r}, and no topic of cluster {model.cluster} begins like that")
        flags[matching] = True
    if tenant:
        if tenant not in model.tenant_names or not (of := model.topic_tenant == model.tenant_names.index(tenant)).any():
            raise InvalidInput(f"tenant is {tenant!r}, which has no topic in cluster {model.cluster}: check the name")
        flags |= of
    return flags


def partitions_of(model: ClusterModel, topics: Bools) -> Bools:
    """[partitions] flags."""
    return topics[model.partition_topic]


def may_move(model: ClusterModel, settings: PlannerSettings) -> Bools:
    """[partitions] those that a plan may move though no rule asks for it."""
    excluded = np.array([settings.excludes(topic) for topic in model.topics], dtype=np.bool_)
    return model.movable & ~excluded[model.partition_topic] if len(excluded) else model.movable


def shown(model: ClusterModel, topics: Bools) -> str:
    """The first few names, for a message."""
    return some(model.topics[index] for index in np.flatnonzero(topics).tolist())

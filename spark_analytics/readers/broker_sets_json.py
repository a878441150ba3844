"""Cruise Control's brokerSets.json (guardian/interop/broker_sets_json.py) in a model: a set is a label.

Cruise Control chooses a topic's set by a hash of its name. Here a topic has a label of its own in the topic directory.
One that has none gets the set that holds most of its bytes now, so that taking over the file moves as little as can be.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from guardian.errors import InvalidInput
from guardian.interop.broker_sets_json import of_cluster, sets_of
from guardian.interop.json_file import read_json
from spark_analytics.model.cluster_model import ClusterModel, Ints
from spark_analytics.model.edits import broker_facts, topic_facts, with_changes
from spark_analytics.model.resources import Resource


def read(path: Path) -> dict[int, str]:
    """The set of each broker id. Raises InvalidInput: field, value, fix."""
    return sets_of(read_json(path, "broker sets file"))


def remarks(model: ClusterModel, sets: Mapping[int, str]) -> tuple[str, ...]:
    """Say, in sentences, what of the file does not count for this model. Raises InvalidInput where nothing does."""
    _, left = of_cluster(sets, model.broker_ids.tolist(), model.cluster)
    return left


def with_broker_sets(model: ClusterModel, sets: Mapping[int, str]) -> ClusterModel:
    """Brokers labelled with their sets, and topics without a label with the set where most of their bytes are.

    Sets of brokers that the model does not have do not count (`remarks`). Raises InvalidInput where a broker has no
    set, or no set has one.
    """
    brokers = broker_facts(model)
    of_cluster(sets, model.broker_ids.tolist(), model.cluster)
    for broker in brokers:
        if broker.id not in sets:
            raise InvalidInput(f"broker {broker.id} of cluster {model.cluster} is in no broker set: add it to one")
    names = sorted({sets[broker.id] for broker in brokers})
    home = _fullest(model, np.array([names.index(sets[broker.id]) for broker in brokers], dtype=np.int64), len(names))
    topics = [
        replace(topic, label=names[home[index]])
        for index, topic in enumerate(topic_facts(model))
        if not topic.label and home[index] >= 0
    ]
    return with_changes(model, brokers=[replace(broker, label=sets[broker.id]) for broker in brokers], topics=topics)


def _fullest(model: ClusterModel, set_of_broker: Ints, sets: int) -> list[int]:
    """Return by topic the set that holds most of its bytes, the first by name where several do; -1: the topic is
    nowhere.
    """
    placed = model.slot_log_dir >= 0
    topic = model.partition_topic[model.slot_partition][placed]
    of = set_of_broker[model.slot_broker[placed]]
    shape = (len(model.topics), sets)
    held = np.zeros(shape)
    # Topics that hold nothing yet go by their replicas.
    np.add.at(held, (topic, of), model.slot_load[placed, Resource.DISK] + 1.0)
    best: list[int] = np.where(held.sum(axis=1) > 0, held.argmax(axis=1), -1).tolist()
    return best

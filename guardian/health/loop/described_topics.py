"""Topics as Kafka has them now: what a file of another tool is written from."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase

from guardian.kafka.admin import TOPIC, KafkaAdmin
from guardian.model.wire.fields import filled
from protos.guardian.v1 import insight_pb2 as pb

MAX_TOPICS = 1000  # as many as a file of topicctl may have
MAX_PARTITIONS = 100_000
_KAFKAS_OWN = "__"


def described_topics(
    admin: KafkaAdmin, patterns: Iterable[str] = (), *, with_settings: bool = False
) -> pb.DescribeTopicsReply:
    """The topics that are wanted, by name; as many as one answer holds. Raises ClusterUnavailable."""
    wanted = tuple(patterns)
    brokers: dict[str, dict[int, tuple[int, ...]]] = {}
    for partition, state in admin.describe_partitions().items():
        if _is_wanted(partition.topic, wanted):
            brokers.setdefault(partition.topic, {})[partition.partition] = state.replicas
    for partition, move in admin.list_reassignments().items():
        if partition.partition in brokers.get(partition.topic, {}):
            left = tuple(broker for broker in move.replicas if broker not in move.removing)
            brokers[partition.topic][partition.partition] = left
    told = _as_many_as_fit(brokers)
    configs = admin.describe_configs([(TOPIC, topic) for topic in told])
    settings = admin.topic_settings(told) if with_settings else {}
    reply = pb.DescribeTopicsReply(topics_in_all=len(brokers))
    for topic in told:
        if (TOPIC, topic) not in configs:  # deleted since
            continue
        described = reply.topics.add(topic=topic, configs=configs[TOPIC, topic])
        described.settings.extend(filled(pb.SettingInForce(), setting) for setting in settings.get(topic, ()))
        for _, replicas in sorted(brokers[topic].items()):
            described.partitions.add(brokers=replicas)
    return reply


def _is_wanted(topic: str, patterns: tuple[str, ...]) -> bool:
    if not patterns:
        return not topic.startswith(_KAFKAS_OWN)
    return any(fnmatchcase(topic, pattern) for pattern in patterns)


def _as_many_as_fit(brokers: dict[str, dict[int, tuple[int, ...]]]) -> list[str]:
    told: list[str] = []
    partitions = 0
    for topic in sorted(brokers)[:MAX_TOPICS]:
        partitions += len(brokers[topic])
        if told and partitions > MAX_PARTITIONS:
            break
        told.append(topic)
    return told

"""What the durability of a cluster's topics is rated by, asked of Kafka now."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase

from guardian.errors import Undecided
from guardian.kafka.admin import BROKER, TOPIC, KafkaAdmin
from guardian.model.cluster_state import ClusterDescription, EligibleLeaders, PartitionState
from guardian.model.durability import BrokerPlace, TopicFacts, TopicSettings
from guardian.model.topology import Cluster, TopicPartition

_MIN_ISR = "min.insync.replicas"
_UNCLEAN = "unclean.leader.election.enable"
_RECORD_TIME = "message.timestamp.type"
_AFTER_MAX, _BEFORE_MAX = "message.timestamp.after.max.ms", "message.timestamp.before.max.ms"
_OF_TOPICS = frozenset({_MIN_ISR, _UNCLEAN, _RECORD_TIME, _AFTER_MAX, _BEFORE_MAX})
_REPLICA_LAG = "replica.lag.time.max.ms"
_REBALANCE = "auto.leader.rebalance.enable"


def durability_facts(
    admin: KafkaAdmin, cluster: Cluster, patterns: Iterable[str] = ()
) -> tuple[dict[str, TopicFacts], dict[int, BrokerPlace]]:
    """The topics that are wanted (none: all), and the brokers. Raises ClusterUnavailable."""
    topics = _topics(admin, patterns)
    hosting = {broker for facts in topics.values() for each in facts.partitions.values() for broker in each.replicas}
    return topics, _brokers(admin, cluster, hosting)


def _brokers(admin: KafkaAdmin, cluster: Cluster, hosting: Iterable[int]) -> dict[int, BrokerPlace]:
    """Those that live, that are registered or that are to have a replica."""
    alive = admin.describe_cluster()
    settings = admin.effective_configs([(BROKER, str(broker)) for broker in alive.brokers], {_REPLICA_LAG, _REBALANCE})
    known = sorted({*alive.brokers, *hosting, *(broker.id for broker in cluster.brokers)})
    return {broker: _place(broker, cluster, alive, settings.get((BROKER, str(broker)), {})) for broker in known}


def _place(broker_id: int, cluster: Cluster, alive: ClusterDescription, settings: Mapping[str, str]) -> BrokerPlace:
    registered = cluster.broker(broker_id)
    node = alive.brokers.get(broker_id)
    rebalances = settings.get(_REBALANCE)
    return BrokerPlace(
        rack=node.rack if node is not None else registered.rack if registered is not None else "",
        idc=registered.idc if registered is not None else "",
        is_alive=node is not None,
        replica_lag_ms=int(settings[_REPLICA_LAG]) if _REPLICA_LAG in settings else None,
        rebalances_leaders=None if rebalances is None else rebalances == "true",
    )


def _topics(admin: KafkaAdmin, patterns: Iterable[str]) -> dict[str, TopicFacts]:
    """A topic that is deleted between the two reads is left out."""
    wanted = tuple(patterns)
    partitions: dict[str, dict[int, PartitionState]] = {}
    for name, state in admin.describe_partitions().items():
        if _is_wanted(name, wanted):
            partitions.setdefault(name.topic, {})[name.partition] = state
    settings = admin.effective_configs([(TOPIC, topic) for topic in partitions], _OF_TOPICS)
    eligible = eligible_of(admin, partitions).partitions
    return {
        topic: TopicFacts(
            _settings(values),
            partitions[topic],
            {
                number: eligible[each]
                for number in partitions[topic]
                if (each := TopicPartition(topic, number)) in eligible
            },
        )
        for (_, topic), values in settings.items()
    }


def _settings(values: Mapping[str, str]) -> TopicSettings:
    limits = {} if values.get(_RECORD_TIME) == "LogAppendTime" else values
    after_max_s, before_max_s = (float(limits.get(name, "inf")) / 1000 for name in (_AFTER_MAX, _BEFORE_MAX))
    return TopicSettings(int(values.get(_MIN_ISR, "1")), values.get(_UNCLEAN) == "true", after_max_s, before_max_s)


def eligible_of(admin: KafkaAdmin, topics: Mapping[str, Mapping[int, PartitionState]]) -> EligibleLeaders:
    """Return the ELR of topics that lack copies: no others have one. None is kept while nobody can tell."""
    thin = [
        name for name, states in topics.items() if any(len(each.isr) < len(each.replicas) for each in states.values())
    ]
    try:
        return admin.eligible_leaders(thin)
    except Undecided:
        return EligibleLeaders(is_kept=False)


def _is_wanted(name: TopicPartition, patterns: tuple[str, ...]) -> bool:
    return not patterns or any(fnmatchcase(name.topic, pattern) for pattern in patterns)

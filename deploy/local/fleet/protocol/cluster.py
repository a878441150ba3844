"""Who is there, and what it has: versions, features, nodes, the quorum, topics and their partitions."""

from __future__ import annotations

import uuid
from typing import Any

from deploy.local.fleet.protocol.asked import CONTROLLER, NO_ERROR, Asked, Handlers, Values, coded
from guardian.kafka.kafka_python import (
    DescribeClusterRequest,
    DescribeQuorumRequest,
    DescribeTopicPartitionsRequest,
    MetadataRequest,
    UnregisterBrokerRequest,
    UpdateFeaturesRequest,
    kafka_errors,
)
from guardian.model.cluster_state import BrokerAnswer, PartitionState
from guardian.model.topology import TopicPartition

WATERMARK = 1  # of the controllers' log: each broker has heard all of it
_FEATURE, _LEAST_LEVEL = "metadata.version", 7
_ELIGIBLE = "eligible.leader.replicas.version"
_NO_LEADER = -1
_NOT_ANSWERED = {"error_code": kafka_errors.RequestTimedOutError.errno}  # what a broker can't hand on to a controller


def features(asked: Asked) -> Values:
    """Return what ApiVersions tells beside versions: which features a node supports, and which are in force."""
    level, most = asked.truth.level, asked.truth.supported_by(asked.node)
    return {
        "supported_features": [
            {"name": _FEATURE, "min_version": _LEAST_LEVEL, "max_version": most},
            {"name": _ELIGIBLE, "min_version": 0, "max_version": 1},
        ],
        "finalized_features_epoch": WATERMARK - 1,
        "finalized_features": [
            {"name": _FEATURE, "min_version_level": level, "max_version_level": level},
            {"name": _ELIGIBLE, "min_version_level": 1, "max_version_level": 1},
        ],
    }


def _quorum(asked: Asked, _: Any) -> Values:
    """One controller, of whose log nothing is missing anywhere."""
    if not asked.hears_controllers:
        return _NOT_ANSWERED
    host, port = asked.addresses[CONTROLLER]
    voter = {
        "replica_id": CONTROLLER,
        "log_end_offset": WATERMARK,
        "last_fetch_timestamp": -1,
        "last_caught_up_timestamp": -1,
        "replica_directory_id": uuid.UUID(int=0),
    }
    found = {
        "partition_index": 0,
        "error_code": NO_ERROR,
        "error_message": None,
        "leader_id": CONTROLLER,
        "leader_epoch": 1,
        "high_watermark": WATERMARK,
        "current_voters": [voter],
        "observers": [],
    }
    return {
        "error_code": NO_ERROR,
        "error_message": None,
        "topics": [{"topic_name": "__cluster_metadata", "partitions": [found]}],
        "nodes": [{"node_id": CONTROLLER, "listeners": [{"name": "CONTROLLER", "host": host, "port": port}]}],
    }


def _describe(asked: Asked, request: Any) -> Values:
    told = asked.truth.told_by(_broker_of(asked), ())
    fenced: set[int] = set()
    if request.include_fenced_brokers:
        if not asked.hears_controllers:
            return _NOT_ANSWERED | {"cluster_id": told.cluster_id, "brokers": []}
        fenced = set(asked.truth.known_brokers()) - set(told.brokers)
    racks = {broker: node.rack for broker, node in told.brokers.items()}
    return {
        "cluster_id": told.cluster_id,
        "controller_id": min(told.brokers, default=_NO_LEADER),
        "brokers": [
            {
                "broker_id": broker,
                "host": asked.addresses[broker][0],
                "port": asked.addresses[broker][1],
                "rack": racks.get(broker),
                "is_fenced": broker in fenced,
            }
            for broker in sorted({*told.brokers, *fenced})
        ],
    }


def _metadata(asked: Asked, request: Any) -> Values:
    # Before version 1, no topic meant all of them.
    is_all = request.topics is None or (request.API_VERSION == 0 and not request.topics)
    wanted = () if is_all else request.topics
    names = None if is_all else {topic.name for topic in wanted if topic.name}
    if any(not topic.name for topic in wanted):
        names = None  # by their ids
    told = asked.truth.told_by(_broker_of(asked), names)
    by_topic = _by_topic(told)
    if is_all:
        topics = [_topic(asked, told, name, by_topic[name]) for name in told.topic_ids if name in by_topic]
    else:
        by_id = {each: name for name, each in told.topic_ids.items()}
        topics = []
        for topic in wanted:
            name = topic.name or by_id.get(topic.topic_id.bytes, "")
            known = name in by_topic
            topics.append(_topic(asked, told, name, by_topic[name]) if known else _no_topic(topic))
    return {
        "brokers": [
            {
                "node_id": broker,
                "host": asked.addresses[broker][0],
                "port": asked.addresses[broker][1],
                "rack": node.rack,
            }
            for broker, node in told.brokers.items()
        ],
        "cluster_id": told.cluster_id,
        "controller_id": min(told.brokers, default=_NO_LEADER),
        "topics": topics,
    }


def _by_topic(told: BrokerAnswer) -> dict[str, list[tuple[TopicPartition, PartitionState]]]:
    found: dict[str, list[tuple[TopicPartition, PartitionState]]] = {}
    for name, state in told.partitions.items():
        found.setdefault(name.topic, []).append((name, state))
    return found


def _topic(
    asked: Asked, told: BrokerAnswer, name: str, partitions: list[tuple[TopicPartition, PartitionState]]
) -> Values:
    return {
        "error_code": NO_ERROR,
        "name": name,
        "topic_id": uuid.UUID(bytes=told.topic_ids[name]),
        "is_internal": name.startswith("__"),
        "partitions": [
            {
                "error_code": kafka_errors.LeaderNotAvailableError.errno if state.leader == _NO_LEADER else NO_ERROR,
                "partition_index": each.partition,
                "leader_id": state.leader,
                "leader_epoch": state.leader_epoch,
                "replica_nodes": list(state.replicas),
                "isr_nodes": list(state.isr),
                "offline_replicas": asked.truth.offline_replicas(each),
            }
            for each, state in partitions
        ],
    }


def _no_topic(topic: Any) -> Values:
    error = kafka_errors.UnknownTopicOrPartitionError if topic.name else kafka_errors.UnknownTopicIdError
    return {
        "error_code": error.errno,
        "name": topic.name,
        "topic_id": topic.topic_id or uuid.UUID(int=0),
        "is_internal": False,
        "partitions": [],
    }


def _described(asked: Asked, request: Any) -> Values:
    """All partitions of the topics in one answer, with the replicas that may lead though not in sync."""
    names = [topic.name for topic in request.topics]
    told = asked.truth.told_by(_broker_of(asked), names)
    by_topic = _by_topic(told)
    eligible = asked.truth.eligible_leaders(names).partitions if asked.hears_controllers else {}
    topics = []
    for name in names:
        if name not in by_topic:
            topics.append({"error_code": kafka_errors.UnknownTopicOrPartitionError.errno, "name": name} | _NOTHING)
            continue
        topic = _topic(asked, told, name, by_topic[name])
        for partition in topic["partitions"]:
            found = eligible.get(TopicPartition(name, partition["partition_index"]))
            partition["eligible_leader_replicas"] = list(found.replicas) if found is not None else []
            partition["last_known_elr"] = []
        topics.append(topic)
    return {"topics": topics, "next_cursor": None}


_NOTHING: Values = {"topic_id": uuid.UUID(int=0), "is_internal": False, "partitions": []}


def _unregister(asked: Asked, request: Any) -> Values:
    if not asked.hears_controllers:
        return _NOT_ANSWERED
    if request.broker_id not in asked.truth.known_brokers():
        return {"error_code": kafka_errors.BrokerIdNotRegisteredError.errno}
    return coded(asked.truth.unregister_broker(request.broker_id), kafka_errors.InvalidRequestError)


def _update(asked: Asked, request: Any) -> Values:
    if not asked.hears_controllers:
        return _NOT_ANSWERED
    for each in request.feature_updates:
        why = asked.truth.raise_metadata_version(each.max_version_level, request.validate_only)
        if why or each.feature != _FEATURE:
            return coded(why or f"no feature {each.feature}", kafka_errors.FeatureUpdateFailedError) | {"results": []}
    return {"error_code": NO_ERROR, "error_message": None, "results": []}


def _broker_of(asked: Asked) -> int:
    """Return the broker whose answer it is; a controller knows what brokers do that hear of it."""
    if not asked.is_controller:
        return asked.node
    truth = asked.truth
    return next(each for each in truth.known_brokers() if truth.lives(each) and truth.hears_controllers(each))


HANDLERS: Handlers = {
    MetadataRequest: _metadata,
    DescribeQuorumRequest: _quorum,
    UpdateFeaturesRequest: _update,
    DescribeClusterRequest: _describe,
    UnregisterBrokerRequest: _unregister,
    DescribeTopicPartitionsRequest: _described,
}

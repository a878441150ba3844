"""Where replicas are and go: reassignments, log dirs, elections of leaders."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from deploy.local.fleet.host import DIR_BYTES
from deploy.local.fleet.protocol.asked import NO_ERROR, Asked, Handlers, Values, by_topic, coded, names_of
from guardian.kafka.kafka_python import (
    AlterPartitionReassignmentsRequest,
    AlterReplicaLogDirsRequest,
    DescribeLogDirsRequest,
    ElectLeadersRequest,
    ListPartitionReassignmentsRequest,
    kafka_errors,
)
from guardian.model.cluster_state import LogDir
from guardian.model.effects import names_brokers
from guardian.model.topology import TopicPartition

_NOT_ANSWERED = {"error_code": kafka_errors.RequestTimedOutError.errno}


def _reassign(asked: Asked, request: Any) -> Values:
    if not asked.hears_controllers:
        return _NOT_ANSWERED | {"responses": []}
    targets = {
        TopicPartition(topic.name, each.partition_index): None if each.replicas is None else tuple(each.replicas)
        for topic in request.topics
        for each in topic.partitions
    }
    in_flight = asked.truth.list_reassignments()
    refused = asked.truth.alter_reassignments(targets, bool(request.allow_replication_factor_change))
    told: list[tuple[TopicPartition, Values]] = []
    for name, target in targets.items():
        why, error = refused.get(name, ""), kafka_errors.InvalidReplicationFactorError
        if not asked.truth.exists(name):
            error = kafka_errors.UnknownTopicOrPartitionError
        elif target is None and not why and name not in in_flight:
            why, error = "nothing is in flight", kafka_errors.NoReassignmentInProgressError
        elif target is None or names_brokers(why):
            error = kafka_errors.InvalidReplicationAssignmentError
        told.append((name, coded(why, error)))
    return {
        "error_code": NO_ERROR,
        "error_message": None,
        "responses": [
            {"name": topic, "partitions": [{"partition_index": number, **code} for number, code in each]}
            for topic, each in by_topic(told).items()
        ],
    }


def _list(asked: Asked, request: Any) -> Values:
    if not asked.hears_controllers:
        return _NOT_ANSWERED | {"topics": []}
    wanted = None
    if request.topics is not None:
        wanted = set(names_of((topic.name, topic.partition_indexes) for topic in request.topics))
    found = by_topic(
        (name, each) for name, each in asked.truth.list_reassignments().items() if wanted is None or name in wanted
    )
    return {
        "error_code": NO_ERROR,
        "error_message": None,
        "topics": [
            {
                "name": topic,
                "partitions": [
                    {
                        "partition_index": number,
                        "replicas": list(each.replicas),
                        "adding_replicas": list(each.adding),
                        "removing_replicas": list(each.removing),
                    }
                    for number, each in moving
                ],
            }
            for topic, moving in found.items()
        ],
    }


def _describe_log_dirs(asked: Asked, request: Any) -> Values:
    if request.topics is None:
        found: Iterable[LogDir] = asked.truth.all_log_dirs(asked.node)
    else:
        wanted = names_of((topic.topic, topic.partitions) for topic in request.topics)
        found = asked.truth.describe_log_dirs([asked.node], wanted)
    return {
        "error_code": NO_ERROR,
        "results": [_log_dir(each, asked.truth.used_bytes(asked.node, each.path)) for each in found],
    }


def _log_dir(log_dir: LogDir, used_bytes: int) -> Values:
    held = [*log_dir.replicas.items(), *log_dir.future_replicas.items()]
    code = coded(log_dir.error, kafka_errors.KafkaStorageError)["error_code"]
    return {
        "error_code": code,
        "log_dir": log_dir.path,
        "topics": [
            {
                "name": topic,
                "partitions": [
                    {
                        "partition_index": number,
                        "partition_size": each.size_bytes,
                        "offset_lag": each.lag,
                        "is_future_key": each.is_future,
                    }
                    for number, each in replicas
                ],
            }
            for topic, replicas in by_topic(held).items()
        ],
        "total_bytes": -1 if code else DIR_BYTES,
        "usable_bytes": -1 if code else max(0, DIR_BYTES - used_bytes),
    }


def _move(asked: Asked, request: Any) -> Values:
    broker = asked.node
    told: list[tuple[TopicPartition, int]] = []
    for log_dir in request.dirs:
        names = names_of((topic.name, topic.partitions) for topic in log_dir.topics)
        refused = asked.truth.alter_replica_log_dirs({(name, broker): log_dir.path for name in names})
        for name in names:
            error = kafka_errors.ReplicaNotAvailableError
            if log_dir.path not in asked.truth.log_dirs_of(broker):
                error = kafka_errors.LogDirNotFoundError
            told.append((name, coded(refused.get((name, broker), ""), error)["error_code"]))
    return {
        "results": [
            {
                "topic_name": topic,
                "partitions": [{"partition_index": number, "error_code": code} for number, code in each],
            }
            for topic, each in by_topic(told).items()
        ]
    }


def _elect(asked: Asked, request: Any) -> Values:
    if not asked.hears_controllers:
        return _NOT_ANSWERED | {"replica_election_results": []}
    names = names_of((topic.topic, topic.partitions) for topic in request.topic_partitions)
    refused = asked.truth.elect_preferred_leaders(names)
    told: list[tuple[TopicPartition, Values]] = []
    for name in names:
        error = kafka_errors.PreferredLeaderNotAvailableError
        if not asked.truth.exists(name):
            error = kafka_errors.UnknownTopicOrPartitionError
        told.append((name, coded(refused.get(name, ""), error)))
    return {
        "error_code": NO_ERROR,
        "replica_election_results": [
            {"topic": topic, "partition_result": [{"partition_id": number, **code} for number, code in each]}
            for topic, each in by_topic(told).items()
        ],
    }


HANDLERS: Handlers = {
    AlterPartitionReassignmentsRequest: _reassign,
    ListPartitionReassignmentsRequest: _list,
    DescribeLogDirsRequest: _describe_log_dirs,
    AlterReplicaLogDirsRequest: _move,
    ElectLeadersRequest: _elect,
}

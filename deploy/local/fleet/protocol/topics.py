"""Topics and partitions that are made, and topics that are deleted."""

from __future__ import annotations

import uuid
from typing import Any

from deploy.local.fleet.protocol.asked import NO_ERROR, Asked, Handlers, Values, coded
from guardian.kafka.kafka_python import CreatePartitionsRequest, CreateTopicsRequest, DeleteTopicsRequest, kafka_errors
from guardian.model.effects import NewTopic
from guardian.model.topology import TopicPartition


def _create(asked: Asked, request: Any) -> Values:
    """Create topics with the replicas that each partition is given: a simulated controller chooses none by itself."""
    return {"topics": [_created(asked, each, request.validate_only) for each in request.topics]}


def _created(asked: Asked, wanted: Any, is_tried: bool) -> Values:
    name, truth = wanted.name, asked.truth
    assignments = {each.partition_index: tuple(each.broker_ids) for each in wanted.assignments}
    error = kafka_errors.InvalidReplicationAssignmentError
    why = "" if assignments else "name the brokers of each partition"
    if truth.partitions_of_topic(name):
        why, error = f"topic {name} exists", kafka_errors.TopicAlreadyExistsError
    if not why:
        topic = NewTopic(assignments, {each.name: each.value for each in wanted.configs})
        why = truth.create_topics({name: topic}, is_tried).get(name, "")
    topic_id = truth.topic_ids([name]).get(name, bytes(16))
    return {"name": name, "topic_id": uuid.UUID(bytes=topic_id), **coded(why, error)}


def _grow(asked: Asked, request: Any) -> Values:
    return {"results": [{"name": each.name, **_grown(asked, each, request.validate_only)} for each in request.topics]}


def _grown(asked: Asked, wanted: Any, is_tried: bool) -> Values:
    there = asked.truth.partitions_of_topic(wanted.name)
    if there and wanted.count <= there:
        return coded(f"topic {wanted.name} has {there} partitions", kafka_errors.InvalidPartitionsError)
    brokers = [tuple(each.broker_ids) for each in wanted.assignments or ()]
    first = wanted.count - len(brokers)
    added = {TopicPartition(wanted.name, first + number): each for number, each in enumerate(brokers)}
    if not added:
        return coded("name the brokers of each partition", kafka_errors.InvalidReplicationAssignmentError)
    refused = asked.truth.create_partitions(added, is_tried)
    return coded(refused.get(wanted.name, ""), kafka_errors.InvalidReplicationAssignmentError)


def _delete(asked: Asked, request: Any) -> Values:
    """Delete topics by id, or by name as before version 6."""
    ids = asked.truth.told_by(asked.truth.known_brokers()[0], ()).topic_ids
    names = {each: name for name, each in ids.items()}
    wanted = [(each.name, each.topic_id.bytes) for each in request.topics or ()]
    wanted += [(name, bytes(16)) for name in request.topic_names or ()]
    told = []
    for name, topic_id in wanted:
        found = name if name in ids else names.get(topic_id)
        code = NO_ERROR
        if found is None:
            error = kafka_errors.UnknownTopicOrPartitionError if name else kafka_errors.UnknownTopicIdError
            code = error.errno
        else:
            asked.truth.delete_topics({found: ids[found]})
        told.append({"name": found or name, "topic_id": uuid.UUID(bytes=topic_id), "error_code": code})
    return {"responses": told}


HANDLERS: Handlers = {
    CreateTopicsRequest: _create,
    CreatePartitionsRequest: _grow,
    DeleteTopicsRequest: _delete,
}

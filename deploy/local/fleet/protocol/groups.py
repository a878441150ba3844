"""Consumer groups: each is told by the broker that coordinates it, chosen by the group's name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from zlib import crc32

from deploy.local.fleet.protocol.asked import NO_ERROR, Asked, Handlers, Values, by_topic
from guardian.kafka.kafka_python import (
    ConsumerGroupDescribeRequest,
    ConsumerProtocolAssignment,
    DescribeGroupsRequest,
    ListGroupsRequest,
    OffsetFetchRequest,
    kafka_errors,
)
from guardian.model.quota import GroupMember
from guardian.model.topology import TopicPartition

_NOT_HERE = kafka_errors.NotCoordinatorError.errno
_LAST_BY_NAME = 9  # of OffsetFetch: later versions name topics by their ids


def _list(asked: Asked, _: Any) -> Values:
    groups = asked.truth.committed_offsets().by_group
    return {
        "error_code": NO_ERROR,
        "groups": [
            {"group_id": group, "protocol_type": "consumer", "group_state": "Stable", "group_type": "classic"}
            for group in groups
            if _coordinates(asked, group)
        ],
    }


def _coordinates(asked: Asked, group: str) -> bool:
    alive = [each for each in asked.truth.known_brokers() if asked.truth.lives(each)]
    return bool(alive) and alive[crc32(group.encode()) % len(alive)] == asked.node


def _offsets(asked: Asked, request: Any) -> Values:
    committed = asked.truth.committed_offsets().by_group
    told = []
    for group in request.groups or ():
        is_here = _coordinates(asked, group.group_id)
        found = by_topic(committed.get(group.group_id, {}).items()) if is_here else {}
        topics = [
            {
                "name": topic,
                "partitions": [
                    {"partition_index": number, "committed_offset": offset, "metadata": "", "error_code": NO_ERROR}
                    for number, offset in each
                ],
            }
            for topic, each in found.items()
        ]
        told.append({"group_id": group.group_id, "topics": topics, "error_code": NO_ERROR if is_here else _NOT_HERE})
    return {"groups": told}


def _describe(asked: Asked, request: Any) -> Values:
    members = asked.truth.group_members().members
    return {
        "groups": [
            {
                "error_code": NO_ERROR if _coordinates(asked, group) else _NOT_HERE,
                "group_id": group,
                "group_state": "Stable",
                "protocol_type": "consumer",
                "protocol_data": "range",
                "members": [_member(each) for each in members if each.group == group],
            }
            for group in request.groups
        ]
    }


def _member(member: GroupMember) -> Values:
    held = by_topic((TopicPartition(topic, number), None) for topic, number in member.partitions)
    return {
        "member_id": f"{member.client_id}-1",
        "client_id": member.client_id,
        "client_host": f"/{member.host}",
        "member_metadata": b"",
        "member_assignment": _assignment((topic, [number for number, _ in each]) for topic, each in held.items()),
    }


def _assignment(held: Iterable[tuple[str, list[int]]]) -> bytes:
    assigned = ConsumerProtocolAssignment(assigned_partitions=list(held), user_data=None, version=0)
    return bytes(assigned.encode())


def _describe_new(_: Asked, request: Any) -> Values:
    """There is no group of the new protocol."""
    return {
        "groups": [
            {
                "error_code": kafka_errors.GroupIdNotFoundError.errno,
                "group_id": group,
                "group_state": "Dead",
                "assignor_name": "",
                "members": [],
            }
            for group in request.group_ids
        ]
    }


HANDLERS: Handlers = {
    ListGroupsRequest: _list,
    OffsetFetchRequest: _offsets,
    DescribeGroupsRequest: _describe,
    ConsumerGroupDescribeRequest: _describe_new,
}
MOST_VERSIONS = {OffsetFetchRequest: _LAST_BY_NAME}

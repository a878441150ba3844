"""Members of consumer groups, as their coordinators know them: which client reads which partitions.

Groups of the classic protocol are told by DescribeGroups, those of KIP-848 by ConsumerGroupDescribe, for which
kafka-python has no class: its schemas are Kafka's own (guardian/kafka/schemas).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

from kafka.coordinator.assignors.abstract import ConsumerProtocolAssignment
from kafka.protocol.admin import DescribeGroupsRequest
from kafka.protocol.api_message import ApiMessage

from guardian.model.quota import GroupMember

_NO_ERROR = 0


class ConsumerGroupDescribeRequest(ApiMessage, load_json="guardian.kafka.schemas"):  # type: ignore[call-arg,misc]
    """Of Kafka's protocol since 3.7."""


class ConsumerGroupDescribeResponse(ApiMessage, load_json="guardian.kafka.schemas"):  # type: ignore[call-arg,misc]
    """Of Kafka's protocol since 3.7."""


def describe_request(groups: Iterable[str]) -> Any:
    return DescribeGroupsRequest(groups=list(groups), include_authorized_operations=False, max_version=5)


def read_members(response: Any) -> Iterator[GroupMember]:
    """Of stable groups; a group that rebalances has nobody assigned."""
    for group in response.groups:
        if group.error_code != _NO_ERROR:
            continue
        for member in group.members:
            # "/10.0.0.7" as Java writes an address.
            host = member.client_host.lstrip("/")
            yield GroupMember(group.group_id, member.client_id, host, _assigned(member.member_assignment))


def describe_new_request(groups: Iterable[str]) -> Any:
    return ConsumerGroupDescribeRequest(group_ids=list(groups), include_authorized_operations=False, max_version=0)


def read_new_members(response: Any) -> Iterator[GroupMember]:
    """Of groups of the new protocol; a classic one is answered with an error."""
    for group in response.groups:
        if group.error_code != _NO_ERROR:
            continue
        for member in group.members:
            partitions = tuple(
                (topic.topic_name, number)
                for topic in member.assignment.topic_partitions
                for number in topic.partitions
            )
            yield GroupMember(group.group_id, member.client_id, member.client_host.lstrip("/"), partitions)


def _assigned(assignment: bytes) -> tuple[tuple[str, int], ...]:
    if not assignment:
        return ()
    # What a foreign client library puts there is its own affair: one that can't be read says nothing.
    with suppress(Exception):
        decoded = ConsumerProtocolAssignment.decode(bytes(assignment))
        return tuple((topic.topic, number) for topic in decoded.assigned_partitions for number in topic.partitions)
    return ()

"""Consumer groups, as their coordinators know them: which client reads which partitions, and how far it has come.

Members of the classic protocol are told by DescribeGroups, those of KIP-848 by ConsumerGroupDescribe, for which
kafka-python has no class: its schemas are Kafka's own (guardian/kafka/schemas).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from guardian.kafka.kafka_python import (
    ConsumerGroupDescribeRequest,
    ConsumerProtocolAssignment,
    DescribeClusterRequest,
    DescribeGroupsRequest,
    ListGroupsRequest,
    OffsetFetchRequest,
    kafka_errors,
)
from guardian.kafka.reasons import NO_ERROR
from guardian.kafka.session import BrokerSession
from guardian.kafka.slices import slices
from guardian.model.quota import GroupMember, GroupMembers, GroupOffsets
from guardian.model.topology import TopicPartition

_GROUPS_AT_ONCE = 8  # the first version of OffsetFetchRequest that takes several groups
_TOPICS_BY_NAME = 9  # the last one; from 10 on topics have ids
_WITHOUT_MEMBERS = ("Empty", "Dead")
_OFFSETS_AT_ONCE = 100  # groups of a broker: each may have committed on each partition of many topics
_MEMBERS_AT_ONCE = 500  # groups of a broker
_CONSUMERS = ("", "consumer")  # kinds of group protocols; the first where offsets are committed without members


async def committed_offsets(session: BrokerSession) -> GroupOffsets:
    """Return what each group that has members has committed. Raises KafkaError when a broker refuses us."""
    names, silent = await _groups_by_coordinator(session)
    found: dict[str, dict[TopicPartition, int]] = {}
    for part in _in_slices(names, _OFFSETS_AT_ONCE):
        answers, _ = await session.ask_each(part, _asking(_offsets_request, part))
        found |= {group: offsets for answer in answers.values() for group, offsets in _read_offsets(answer)}
    partly = {broker for broker, each in names.items() if not found.keys() >= set(each)}
    return GroupOffsets(found, frozenset(silent | partly))


async def group_members(session: BrokerSession) -> GroupMembers:
    """Return who is in the groups that have members. Raises KafkaError when a broker refuses us."""
    names, silent = await _groups_by_coordinator(session)
    found: list[GroupMember] = []
    for part in _in_slices(names, _MEMBERS_AT_ONCE):
        answers, mute = await session.ask_each(part, _asking(_describe_request, part))
        silent |= mute.keys()
        found += [member for answer in answers.values() for member in _read_members(answer)]
    told = {member.group for member in found}
    rest = {broker: [name for name in each if name not in told] for broker, each in names.items()}
    # Brokers before 4.0 have no groups of the new protocol.
    with suppress(kafka_errors.IncompatibleBrokerVersion):
        for part in _in_slices(rest, _MEMBERS_AT_ONCE):
            more, mute = await session.ask_each(part, _asking(_describe_new_request, part))
            found += [member for answer in more.values() for member in _read_new_members(answer)]
            silent |= mute.keys()
    return GroupMembers(tuple(found), frozenset(silent))


async def _groups_by_coordinator(session: BrokerSession) -> tuple[dict[int, list[str]], set[int]]:
    """Return the groups that have members, by broker: each lists those that it coordinates. And who gave no answer."""
    cluster = await session.ask_recent(DescribeClusterRequest)
    lists, silent = await session.ask_each(
        [broker.broker_id for broker in cluster.brokers], lambda _: ListGroupsRequest()
    )
    return {broker: _active_groups(answer) for broker, answer in lists.items()}, set(silent)


def _asking(request: Callable[[list[str]], Any], names: Mapping[int, list[str]]) -> Callable[[int], Any]:
    """Return what makes the request of a broker about its groups."""
    return lambda broker: request(names[broker])


def _in_slices(names: Mapping[int, Sequence[str]], most: int) -> Iterator[dict[int, list[str]]]:
    """Yield the groups to ask each broker about next, at most so many of each; brokers without any are left out."""
    parts = {broker: list(slices(each, most)) for broker, each in names.items()}
    for number in range(max(map(len, parts.values()), default=0)):
        yield {broker: each[number] for broker, each in parts.items() if number < len(each)}


def _active_groups(response: Any) -> list[str]:
    """Return the consumer groups that have members."""
    return [
        group.group_id
        for group in response.groups
        if group.protocol_type in _CONSUMERS and group.group_state not in _WITHOUT_MEMBERS
    ]


def _offsets_request(groups: Iterable[str]) -> Any:
    return OffsetFetchRequest(
        groups=[OffsetFetchRequest.OffsetFetchRequestGroup(group_id=group, topics=None) for group in groups],
        require_stable=False,
        min_version=_GROUPS_AT_ONCE,
        max_version=_TOPICS_BY_NAME,
    )


def _read_offsets(response: Any) -> Iterator[tuple[str, dict[TopicPartition, int]]]:
    """Yield what groups have committed. One that has moved to another coordinator, or may not be described, is left
    out."""
    for group in response.groups:
        if group.error_code == NO_ERROR:
            yield (
                group.group_id,
                {
                    TopicPartition(topic.name, partition.partition_index): partition.committed_offset
                    for topic in group.topics
                    for partition in topic.partitions
                    if partition.error_code == NO_ERROR and partition.committed_offset >= 0
                },
            )


def _describe_request(groups: Iterable[str]) -> Any:
    return DescribeGroupsRequest(groups=list(groups), include_authorized_operations=False, max_version=5)


def _read_members(response: Any) -> Iterator[GroupMember]:
    """Yield the members of stable groups; in a group that rebalances nobody has anything assigned."""
    for group in response.groups:
        if group.error_code != NO_ERROR:
            continue
        for member in group.members:
            # "/10.0.0.7" as Java writes an address.
            host = member.client_host.lstrip("/")
            yield GroupMember(group.group_id, member.client_id, host, _assigned(member.member_assignment))


def _describe_new_request(groups: Iterable[str]) -> Any:
    return ConsumerGroupDescribeRequest(group_ids=list(groups), include_authorized_operations=False, max_version=0)


def _read_new_members(response: Any) -> Iterator[GroupMember]:
    """Yield the members of groups of the new protocol; a classic one is answered with an error."""
    for group in response.groups:
        if group.error_code != NO_ERROR:
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

"""Requests that name much go out in slices: 60,000 partitions against a controller that takes what Kafka's takes."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.errors import KafkaTimeoutError

from guardian.kafka import configs, elections, groups, log_dirs, reassignments, topics
from guardian.kafka.slices import MAX_DESCRIBED, MAX_NAMED, mapping_slices, slices
from guardian.model.effects import NewTopic
from guardian.model.topology import TopicPartition

MOST_RECORDS = 10_000  # QuorumController.MAX_RECORDS_PER_USER_OP
PARTITIONS = [TopicPartition(f"orders.{number % 600}", number // 600) for number in range(60_000)]
REFUSED = TopicPartition("orders.599", 99)  # in the last slice
SIZE = 7


class Kafka:
    """Counts the records that each request makes, and refuses as a whole what makes too many."""

    attempt_ms = 1000

    def __init__(self) -> None:
        self.records: list[int] = []
        self.asked: Counter[int] = Counter()
        self.at = 0
        self.silent_from: dict[int, int] = {}  # by broker, the question that it no longer answers

    async def ask_any(self, make: Callable[[], Any]) -> Any:
        request = _sent(make())
        name = type(request).__name__.removesuffix("Request")
        records, answer = getattr(self, f"_{name}")(request)
        assert 0 < records <= MOST_RECORDS, f"{name} makes {records} records"
        self.records.append(records)
        return answer

    async def ask_recent(self, _: object) -> Any:
        return SimpleNamespace(brokers=[SimpleNamespace(broker_id=1), SimpleNamespace(broker_id=2)])

    async def ask_each(
        self, brokers: Iterable[int], make: Callable[[int], Any], _patience: object = None
    ) -> tuple[dict[int, Any], dict[int, Any]]:
        answers, failures = {}, {}
        for broker in brokers:
            request = _sent(make(broker))
            self.asked[broker] += 1
            self.at = broker
            if self.asked[broker] >= self.silent_from.get(broker, 1 << 30):
                failures[broker] = KafkaTimeoutError()
            else:
                answers[broker] = getattr(self, f"_{type(request).__name__.removesuffix('Request')}")(request)
        return answers, failures

    @staticmethod
    def _AlterPartitionReassignments(request: Any) -> tuple[int, Any]:  # noqa: N802  as Kafka calls it
        asked = [(topic.name, each.partition_index) for topic in request.topics for each in topic.partitions]
        told = [
            SimpleNamespace(
                name=name,
                partitions=[SimpleNamespace(partition_index=n, error_code=_code(name, n), error_message="no")],
            )
            for name, n in asked
        ]
        return len(asked), SimpleNamespace(responses=told)

    @staticmethod
    def _ElectLeaders(request: Any) -> tuple[int, Any]:  # noqa: N802
        asked = [(topic.topic, n) for topic in request.topic_partitions for n in topic.partitions]
        told = [
            SimpleNamespace(
                topic=name,
                partition_result=[SimpleNamespace(partition_id=n, error_code=_code(name, n), error_message="no")],
            )
            for name, n in asked
        ]
        return len(asked), SimpleNamespace(replica_election_results=told)

    @staticmethod
    def _IncrementalAlterConfigs(request: Any) -> tuple[int, Any]:  # noqa: N802
        told = [
            SimpleNamespace(resource_name=each.resource_name, error_code=_code(each.resource_name), error_message="no")
            for each in request.resources
        ]
        return sum(len(each.configs) for each in request.resources), SimpleNamespace(responses=told)

    @staticmethod
    def _CreateTopics(request: Any) -> tuple[int, Any]:  # noqa: N802
        told = [
            SimpleNamespace(name=each.name, error_code=_code(each.name), error_message="no") for each in request.topics
        ]
        return sum(1 + len(each.assignments) + len(each.configs) for each in request.topics), SimpleNamespace(
            topics=told
        )

    @staticmethod
    def _CreatePartitions(request: Any) -> tuple[int, Any]:  # noqa: N802
        told = [
            SimpleNamespace(name=each.name, error_code=_code(each.name), error_message="no") for each in request.topics
        ]
        return sum(len(each.assignments) for each in request.topics), SimpleNamespace(results=told)

    @staticmethod
    def _DeleteTopics(request: Any) -> tuple[int, Any]:  # noqa: N802
        told = [SimpleNamespace(topic_id=each.topic_id, error_code=0, error_message="") for each in request.topics]
        return len(request.topics), SimpleNamespace(responses=told)

    @staticmethod
    def _AlterReplicaLogDirs(request: Any) -> Any:  # noqa: N802
        asked = [(topic.name, n) for log_dir in request.dirs for topic in log_dir.topics for n in topic.partitions]
        assert len(asked) <= MAX_NAMED
        told = [
            SimpleNamespace(topic_name=name, partitions=[SimpleNamespace(partition_index=n, error_code=_code(name, n))])
            for name, n in asked
        ]
        return SimpleNamespace(results=told)

    @staticmethod
    def _DescribeLogDirs(request: Any) -> Any:  # noqa: N802
        asked = [(topic.topic, n) for topic in request.topics for n in topic.partitions]
        assert len(asked) <= MAX_DESCRIBED
        held = [
            SimpleNamespace(
                name=name,
                partitions=[
                    SimpleNamespace(partition_index=n, partition_size=SIZE, offset_lag=0, is_future_key=n == 0)
                ],
            )
            for name, n in asked
        ]
        dirs = [held[::2], held[1::2]]
        return SimpleNamespace(
            results=[
                SimpleNamespace(error_code=0, log_dir=f"/d{at}", topics=each, total_bytes=10, usable_bytes=5)
                for at, each in enumerate(dirs)
            ]
        )

    def _ListGroups(self, _: object) -> Any:  # noqa: N802
        return SimpleNamespace(
            groups=[
                SimpleNamespace(group_id=f"g{self.at}.{n}", protocol_type="consumer", group_state="Stable")
                for n in range(1050)
            ]
        )

    @staticmethod
    def _OffsetFetch(request: Any) -> Any:  # noqa: N802
        assert len(request.groups) <= 100
        return SimpleNamespace(
            groups=[SimpleNamespace(group_id=each.group_id, error_code=0, topics=[]) for each in request.groups]
        )


def _sent(request: Any) -> Any:
    """As a broker reads it from the wire."""
    kind, version = type(request), min(type(request).max_version, 9)
    return kind.decode(request.encode(version=version), version=version)


def _code(name: str, number: int = 99) -> int:
    return 42 if (name, number) == (REFUSED.topic, REFUSED.partition) else 0


@pytest.fixture
def kafka() -> Any:
    return Kafka()


def test_a_reassignment_of_60000_partitions_is_several_requests(kafka: Any) -> None:
    targets: dict[TopicPartition, tuple[int, ...] | None] = dict.fromkeys(PARTITIONS, (1, 2, 3))
    refused = asyncio.run(reassignments.alter_reassignments(kafka, targets, guarded=False))
    assert sum(kafka.records) == len(PARTITIONS)
    assert list(refused) == [REFUSED], "what one slice is refused is told, also of the last one"


def test_an_election_of_60000_leaders_is_several_requests(kafka: Any) -> None:
    refused = asyncio.run(elections.elect(kafka, PARTITIONS))
    assert sum(kafka.records) == len(PARTITIONS)
    assert list(refused) == [REFUSED]


def test_configurations_are_sliced_by_keys(kafka: Any) -> None:
    changes = {f"orders.{n}": {f"key.{k}": "1" for k in range(20)} for n in range(3000)}
    refused = asyncio.run(configs.alter(kafka, {("TOPIC", name): values for name, values in changes.items()}))
    assert sum(kafka.records) == 60_000
    assert list(refused) == [("TOPIC", REFUSED.topic)]


def test_topics_are_created_expanded_and_deleted_in_slices(kafka: Any) -> None:
    new = {f"orders.{n}": NewTopic(dict.fromkeys(range(99), (1, 2)), {"a": "1"}) for n in range(600)}
    assert list(asyncio.run(topics.create_topics(kafka, new, False))) == [REFUSED.topic]
    assert sum(kafka.records) == 600 * 101
    kafka.records.clear()
    grown = dict.fromkeys(PARTITIONS, (1, 2))
    assert list(asyncio.run(topics.create_partitions(kafka, grown, False))) == [REFUSED.topic]
    assert sum(kafka.records) == len(PARTITIONS)
    kafka.records.clear()
    ids = {f"t{n}": n.to_bytes(16, "big") for n in range(1, 12_001)}
    assert asyncio.run(topics.delete_topics(kafka, ids)) == {}
    assert sum(kafka.records) == 12_000


def test_replicas_change_their_log_dirs_in_slices(kafka: Any) -> None:
    refused = asyncio.run(log_dirs.alter(kafka, {(each, 1): "/d1" for each in PARTITIONS}))
    assert list(refused) == [(REFUSED, 1)]


def test_log_dirs_of_60000_partitions_are_asked_for_in_slices_and_told_as_one(kafka: Any) -> None:
    found = asyncio.run(log_dirs.describe(kafka, [1, 2], PARTITIONS, None))
    assert [(each.broker, each.path) for each in found] == [(1, "/d0"), (1, "/d1"), (2, "/d0"), (2, "/d1")]
    for broker in (1, 2):
        held = [each for each in found if each.broker == broker]
        assert sum(len(each.replicas) for each in held) == 59_400
        assert sum(len(each.future_replicas) for each in held) == 600
        assert {p for each in held for p in (*each.replicas, *each.future_replicas)} == set(PARTITIONS)
    assert kafka.asked == {1: 6, 2: 6}


def test_a_broker_that_tells_only_a_part_of_its_log_dirs_tells_nothing(kafka: Any) -> None:
    """Else what it did not come to would look as if it were not there."""
    kafka.silent_from = {2: 3}
    found = asyncio.run(log_dirs.describe(kafka, [1, 2], PARTITIONS, None))
    assert {each.broker for each in found} == {1}
    assert kafka.asked == {1: 6, 2: 3}


def test_offsets_of_many_groups_are_asked_for_in_slices(kafka: Any) -> None:
    offsets = asyncio.run(groups.committed_offsets(kafka))
    assert len(offsets.by_group) == 2100
    assert offsets.silent == frozenset()
    kafka.silent_from = {2: kafka.asked[2] + 5}
    assert asyncio.run(groups.committed_offsets(kafka)).silent == {2}


@given(st.lists(st.integers(0, 30), max_size=60), st.integers(1, 40))
def test_slices_united_are_all_in_their_order_and_none_is_too_heavy(items: list[int], most: int) -> None:
    parts = list(slices(items, most, lambda each: each))
    assert [each for part in parts for each in part] == items
    assert all(parts)
    assert all(sum(part) <= most or len(part) == 1 for part in parts)
    mapping = dict(enumerate(items))
    again = {key: value for part in mapping_slices(mapping, most, lambda each: each) for key, value in part.items()}
    assert again == mapping

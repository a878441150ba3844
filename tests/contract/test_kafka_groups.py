"""How a KafkaAdmin tells of consumer groups: one suite, on the fake, on simulated brokers and on real brokers."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing

import confluent_kafka
import pytest

from guardian.kafka import data
from guardian.kafka.admin import KafkaAdmin
from guardian.kafka.control import KafkaControl
from guardian.kafka.fake import FakeKafka
from guardian.model.topology import Cluster, TopicPartition
from tests.patience import CALL_S, PATIENCE_S, until, wait_for
from tests.simulated import simulated


class Bench:
    """`join(group, topic, offset)` makes a member that commits so much of partition 0; calling what it returns ends
    the member."""

    def __init__(self, admin: KafkaAdmin, join: Callable[[str, str, int], Callable[[], None]]) -> None:
        self.admin = admin
        self.join = join
        # The shared cluster has other tests' groups.
        self.topic, self.first, self.second = (f"groups-{uuid.uuid4().hex[:8]}" for _ in range(3))

    def committed(self) -> dict[str, dict[TopicPartition, int]]:
        found = self.admin.committed_offsets().by_group
        return {group: dict(offsets) for group, offsets in found.items() if group in (self.first, self.second)}

    def until(self, expected: dict[str, dict[TopicPartition, int]]) -> None:
        """A group changes a moment after its members do."""
        wait_for(f"{expected}", lambda: self.committed() == expected, story=self.committed)


@pytest.fixture(params=["fake", "simulated", pytest.param("real", marks=pytest.mark.integration)])
def bench(request: pytest.FixtureRequest) -> Iterator[Bench]:
    if request.param in ("fake", "simulated"):
        with ExitStack() as stack:
            yield _in_memory(stack, is_served=request.param == "simulated")
        return
    cluster = request.getfixturevalue("kafka_cluster").to_cluster(sasl=False)
    with ExitStack() as stack:
        control = stack.enter_context(closing(KafkaControl(cluster, timeout_s=CALL_S)))
        bench = Bench(control, lambda group, topic, offset: _join(cluster, stack, group, topic, offset))
        data.create_topics(cluster, {bench.topic: {0: (1, 2)}}, {}, PATIENCE_S)
        yield bench


def _in_memory(stack: ExitStack, *, is_served: bool) -> Bench:
    """A cluster of one broker in memory: itself, or behind Kafka's protocol."""
    fake = FakeKafka({1: "a"}, {1: ("/disk",)})
    admin: KafkaAdmin = fake
    if is_served:
        fake, admin = stack.enter_context(simulated({1: "a"}, 1))

    def join(group: str, topic: str, offset: int) -> Callable[[], None]:
        fake.commit(group, {TopicPartition(topic, 0): offset})
        return lambda: fake.commit(group, {})

    return Bench(admin, join)


def _join(cluster: Cluster, stack: ExitStack, group: str, topic: str, offset: int) -> Callable[[], None]:
    member = data.consumer(cluster, group, enable_auto_commit=False, session_timeout_ms=60_000)
    ending = stack.enter_context(ExitStack())
    ending.callback(member.close)
    member.subscribe([topic])
    until(member.assignment, meanwhile=lambda: member.poll(0.1))
    member.commit(offsets=[confluent_kafka.TopicPartition(topic, 0, offset)], asynchronous=False)
    return ending.close


def test_what_groups_with_members_have_committed_is_told(bench: Bench) -> None:
    assert bench.committed() == {}
    leave = bench.join(bench.first, bench.topic, 7)
    bench.join(bench.second, bench.topic, 9)
    partition = TopicPartition(bench.topic, 0)
    bench.until({bench.first: {partition: 7}, bench.second: {partition: 9}})
    leave()
    bench.until({bench.second: {partition: 9}})

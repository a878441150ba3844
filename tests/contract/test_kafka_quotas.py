"""Client quotas and members of consumer groups: one suite, on the fake, on simulated brokers and on real brokers."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing

import pytest

from guardian.errors import InvalidInput
from guardian.kafka import data
from guardian.kafka.admin import KafkaAdmin
from guardian.kafka.control import KafkaControl
from guardian.kafka.fake import FakeKafka
from guardian.model.quota import CONSUMER_BYTE_RATE, EVERY, PRODUCER_BYTE_RATE, GroupMember, QuotaEntity
from guardian.model.topology import Cluster, TopicPartition
from tests.patience import CALL_S, PATIENCE_S, until
from tests.simulated import simulated


class Bench:
    """`join(group, topic, client id, protocol)` makes a member that is assigned partition 0 of the topic."""

    def __init__(self, admin: KafkaAdmin, join: Callable[[str, str, str, str], None]) -> None:
        self.admin = admin
        self.join = join
        # The shared cluster has other tests' quotas and groups.
        self.name = f"quotas-{uuid.uuid4().hex[:8]}"

    def quotas(self) -> dict[QuotaEntity, dict[str, float]]:
        found = self.admin.describe_client_quotas()
        return {entity: values for entity, values in found.items() if self.name in str(entity)}


@pytest.fixture(params=["fake", "simulated", pytest.param("real", marks=pytest.mark.integration)])
def bench(request: pytest.FixtureRequest) -> Iterator[Bench]:
    if request.param in ("fake", "simulated"):
        with ExitStack() as stack:
            yield _in_memory(stack, is_served=request.param == "simulated")
        return
    cluster = request.getfixturevalue("kafka_cluster").to_cluster(sasl=False)
    with ExitStack() as stack:
        control = stack.enter_context(closing(KafkaControl(cluster, timeout_s=CALL_S)))
        bench = Bench(
            control,
            lambda group, topic, client_id, protocol: _join(cluster, stack, group, topic, client_id, protocol),
        )
        yield bench
        left = {entity: dict.fromkeys(values) for entity, values in bench.quotas().items()}
        assert control.alter_client_quotas(left) == {}


def _in_memory(stack: ExitStack, *, is_served: bool) -> Bench:
    """A cluster of one broker in memory: itself, or behind Kafka's protocol."""
    fake = FakeKafka({1: "a"}, {1: ("/disk",)})
    admin: KafkaAdmin = fake
    if is_served:
        fake, admin = stack.enter_context(simulated({1: "a"}, 1))

    def join(group: str, topic: str, client_id: str, _protocol: str = "classic") -> None:
        fake.commit(group, {TopicPartition(topic, 0): 0})
        fake.join(group, client_id)

    return Bench(admin, join)


def _join(cluster: Cluster, stack: ExitStack, group: str, topic: str, client_id: str, protocol: str) -> None:
    data.create_topics(cluster, {topic: {0: (1,)}}, {}, PATIENCE_S)
    member = data.consumer(cluster, group, client_id=client_id, group_protocol=protocol)
    stack.callback(member.close)
    member.subscribe([topic])
    until(member.assignment, meanwhile=lambda: member.poll(0.1))


def test_quotas_are_set_changed_and_deleted_key_by_key(bench: Bench) -> None:
    both = QuotaEntity(bench.name, "etl, nightly=yes")
    user, client = QuotaEntity(bench.name), QuotaEntity(None, bench.name)
    of_any_client = QuotaEntity(bench.name, EVERY)
    assert bench.quotas() == {}
    changes = {
        both: {CONSUMER_BYTE_RATE: 1_000_000.0, PRODUCER_BYTE_RATE: 2_000_000.0},
        user: {CONSUMER_BYTE_RATE: 3_000_000.0},
        client: {CONSUMER_BYTE_RATE: 4_000_000.0},
        of_any_client: {PRODUCER_BYTE_RATE: 5_000_000.0},
    }
    assert bench.admin.alter_client_quotas(changes) == {}
    until(lambda: bench.quotas() == changes)

    assert bench.admin.alter_client_quotas({both: {CONSUMER_BYTE_RATE: None}, user: {CONSUMER_BYTE_RATE: 75.0}}) == {}
    expected = changes | {both: {PRODUCER_BYTE_RATE: 2_000_000.0}, user: {CONSUMER_BYTE_RATE: 75.0}}
    until(lambda: bench.quotas() == expected)

    assert bench.admin.alter_client_quotas({entity: dict.fromkeys(values) for entity, values in expected.items()}) == {}
    until(lambda: bench.quotas() == {})


def test_deleting_what_is_not_set_is_no_error(bench: Bench) -> None:
    entity = QuotaEntity(None, bench.name)
    assert bench.admin.alter_client_quotas({entity: {CONSUMER_BYTE_RATE: None}}) == {}
    assert bench.quotas() == {}


@pytest.mark.parametrize(("key", "value"), [("consumer_byte_rat", 1.0), ("request_percentage", 1.0)])
def test_a_key_that_guardian_never_sets_is_refused(bench: Bench, key: str, value: float) -> None:
    with pytest.raises(InvalidInput, match=f"quota of user .* is '{key}': use one of consumer_byte_rate"):
        bench.admin.alter_client_quotas({QuotaEntity(bench.name): {key: value}})
    assert bench.quotas() == {}


@pytest.mark.parametrize("rate", [0.0, -1.0, 7.5])
def test_a_rate_that_kafka_refuses_is_refused(bench: Bench, rate: float) -> None:
    with pytest.raises(InvalidInput, match="use whole bytes/s, at least 1"):
        bench.admin.alter_client_quotas({QuotaEntity(bench.name): {CONSUMER_BYTE_RATE: rate}})


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_members_of_groups_are_told_with_their_client_and_what_they_read(bench: Bench, protocol: str) -> None:
    group = topic = bench.name
    bench.join(group, topic, "etl-7", protocol)

    def member() -> GroupMember | None:
        found = [each for each in bench.admin.group_members().members if each.group == group]
        return found[0] if found and found[0].partitions else None

    until(member)
    found = member()
    assert found is not None
    assert (found.client_id, found.partitions) == ("etl-7", ((topic, 0),))
    assert found.host

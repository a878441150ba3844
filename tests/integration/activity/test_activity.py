"""Who does what in a real broker: counted by the plugin's authorizer, read with the reporter's one call."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field

import grpc
import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._acl import AclBinding, AclOperation, AclPermissionType
from confluent_kafka.admin._resource import ResourcePatternType, ResourceType
from confluent_kafka.cimpl import NewTopic
from kafka.admin import KafkaAdminClient
from kafka.protocol.admin import AlterClientQuotasRequest

from deploy.local.kafka_cluster import ClusterSpec, KafkaCluster
from protos.guardian.v1 import reporter_pb2 as pb
from protos.guardian.v1 import reporter_pb2_grpc
from tests.patience import PATIENCE_S, wait_for

pytestmark = pytest.mark.integration

USER = "User:guardian"
ADDRESS = "127.0.0.1"
SETTINGS = {
    "authorizer.class.name": "guardian.kafka.GuardianAuthorizer",
    # Who comes over the listener without a login: the brokers, the controllers and the test's admin.
    "super.users": "User:ANONYMOUS",
    "guardian.activity.slice.s": "1",
}


@dataclass(frozen=True, slots=True)
class Access:
    principal: str
    client_id: str
    address: str
    resource_type: str
    resource: str
    operation: str


@dataclass(slots=True)
class Reader:
    """Reads slices as a collector does: always those after the last one that it has."""

    endpoint: str
    life_ms: int = 0
    slices: list[pb.ActivitySlice] = field(default_factory=list)
    allowed: Counter[Access] = field(default_factory=Counter)
    denied: Counter[Access] = field(default_factory=Counter)
    produced: Counter[tuple[str, str]] = field(default_factory=Counter)
    fetched: Counter[tuple[str, str]] = field(default_factory=Counter)

    def read(self) -> None:
        batch = call(self.endpoint, self.life_ms, self.slices[-1].number if self.slices else 0)
        self.life_ms = batch.broker_started_at_ms
        for one in batch.activity:
            self._take(one)

    def until(self, condition: Callable[[], object], what: str, meanwhile: Callable[[], object] = lambda: None) -> None:
        def read_on() -> None:
            meanwhile()
            self.read()

        wait_for(what, condition, meanwhile=read_on, story=lambda: self)

    def _take(self, one: pb.ActivitySlice) -> None:
        self.slices.append(one)
        parts = (one.principals, one.client_ids, one.addresses, one.resource_types, one.resources, one.operations)
        for allowed, denied, *positions in zip(one.allowed, one.denied, *parts, strict=True):
            access = Access(*(one.strings[position] for position in positions))
            self.allowed[access] += allowed
            self.denied[access] += denied
        rows = zip(one.byte_users, one.byte_client_ids, one.bytes_produced, one.bytes_fetched, strict=True)
        for user, client_id, produced, fetched in rows:
            owner = (one.strings[user], one.strings[client_id])
            self.produced[owner] += int(produced)
            self.fetched[owner] += int(fetched)


def call(endpoint: str, life_ms: int, after: int) -> pb.MetricBatch:
    request = pb.CollectRequest(
        with_activity=True, activity_life_ms=life_ms, activity_after=after, name_prefixes=["kafka.server:type=app-info"]
    )
    with grpc.insecure_channel(endpoint, options=[("grpc.enable_http_proxy", 0)]) as channel:
        batch: pb.MetricBatch = reporter_pb2_grpc.BrokerReporterStub(channel).Collect(request, timeout=PATIENCE_S)
        return batch


def allow(admin: AdminClient, kind: ResourceType, name: str, *operations: AclOperation) -> None:
    bindings = [
        AclBinding(kind, name, ResourcePatternType.LITERAL, USER, "*", operation, AclPermissionType.ALLOW)
        for operation in operations
    ]
    for result in admin.create_acls(bindings).values():
        result.result(PATIENCE_S)


def measure_all_clients(kafka: KafkaCluster) -> None:
    """A quota for each user and client that is out of reach: Kafka counts bytes only of clients that have one."""
    entity = AlterClientQuotasRequest.EntryData.EntityData
    operation = AlterClientQuotasRequest.EntryData.OpData
    entry = AlterClientQuotasRequest.EntryData(
        entity=[entity(entity_type=kind, entity_name=None) for kind in ("user", "client-id")],
        ops=[operation(key=key, value=1e15, remove=False) for key in ("producer_byte_rate", "consumer_byte_rate")],
    )
    with closing(KafkaAdminClient(bootstrap_servers=kafka.bootstrap)) as admin:
        manager = admin._manager
        answer = manager.run(manager.send, AlterClientQuotasRequest(entries=[entry], validate_only=False))
    assert [one.error_code for one in answer.entries] == [0]


def login(kafka: KafkaCluster, client_id: str) -> dict[str, object]:
    return {
        "bootstrap.servers": kafka.sasl_bootstrap,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.username": kafka.sasl_username,
        "sasl.password": kafka.sasl_password_file.read_text().strip(),
        "client.id": client_id,
    }


def is_refused(producer: Producer, topic: str) -> bool:
    """Whether the brokers keep the client from the topic, rather than not knowing it yet."""
    try:
        producer.list_topics(topic, timeout=PATIENCE_S)
        codes: list[int] = []
        producer.produce(topic, b"x", on_delivery=lambda error, _: codes.append(error.code() if error else 0))
        producer.flush(PATIENCE_S)
        return codes == [KafkaError.TOPIC_AUTHORIZATION_FAILED]
    except KafkaException as error:
        return bool(error.args[0].code() == KafkaError.TOPIC_AUTHORIZATION_FAILED)


@pytest.fixture(scope="module", params=["4.3", pytest.param("3.9", marks=pytest.mark.long)])
def audited(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaCluster]:
    """One broker, whose authorizer counts, with slices of a second."""
    spec = ClusterSpec("audited", brokers=1, log_dirs=1, sasl=True, kafka=request.param, settings=SETTINGS)
    with KafkaCluster.start(spec, tmp_path_factory.mktemp("audited")) as cluster:
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
        for result in admin.create_topics([NewTopic("orders", 2, 1), NewTopic("secrets", 1, 1)]).values():
            result.result(PATIENCE_S)
        allow(admin, ResourceType.TOPIC, "orders", AclOperation.READ, AclOperation.WRITE)
        allow(admin, ResourceType.GROUP, "billing", AclOperation.READ)
        measure_all_clients(cluster)
        yield cluster


def test_slices_tell_who_wrote_and_read_what_and_who_was_denied(audited: KafkaCluster) -> None:
    reader = Reader(audited.brokers[0].reporter)
    producer = Producer({**login(audited, "shop"), "linger.ms": 0})
    consumer = Consumer({**login(audited, "billing-app"), "group.id": "billing", "auto.offset.reset": "earliest"})

    def trade() -> None:
        with suppress(BufferError):
            for _ in range(20):
                producer.produce("orders", b"x" * 1000)
        producer.poll(0)
        consumer.poll(0.1)

    def orders(client_id: str, operation: str) -> Access:
        return Access(USER, client_id, ADDRESS, "TOPIC", "orders", operation)

    consumer.subscribe(["orders"])
    try:
        reader.until(lambda: reader.allowed[orders("shop", "WRITE")] >= 3, "writer", trade)
        reader.until(lambda: reader.allowed[orders("billing-app", "READ")] >= 3, "reader", trade)
        group = Access(USER, "billing-app", ADDRESS, "GROUP", "billing", "READ")
        reader.until(lambda: reader.allowed[group] > 0, "member of the group", trade)
        # Kafka knows rates only: who moves bytes is certain at once, and how many within a minute.
        reader.until(lambda: reader.produced["guardian", "shop"] > 10_000, "bytes produced", trade)
        reader.until(lambda: reader.fetched["guardian", "billing-app"] > 10_000, "bytes fetched", trade)
    finally:
        consumer.close()
    assert reader.allowed[orders("billing-app", "WRITE")] == 0
    assert reader.fetched["guardian", "shop"] == 0
    assert reader.produced["guardian", "billing-app"] == 0

    intruder = Producer(login(audited, "intruder"))
    reader.until(lambda: is_refused(intruder, "secrets"), "refusal")
    secret = Access(USER, "intruder", ADDRESS, "TOPIC", "secrets", "DESCRIBE")
    reader.until(lambda: reader.denied[secret] > 0, "refused access")
    assert all(access.resource != "secrets" for access in +reader.allowed if access.principal == USER)


def test_a_slice_that_is_read_again_is_the_same(audited: KafkaCluster) -> None:
    reader, again = Reader(audited.brokers[0].reporter), Reader(audited.brokers[0].reporter)
    reader.until(lambda: len(reader.slices) >= 3, "slices")
    again.until(lambda: len(again.slices) >= len(reader.slices), "slices")
    assert [one.number for one in again.slices] == list(range(1, len(again.slices) + 1))
    assert again.slices[: len(reader.slices)] == reader.slices
    assert {one.lost_slices for one in again.slices} == {0}

    # Whoever read an earlier life of the broker gets this one from its beginning.
    assert call(reader.endpoint, reader.life_ms - 1, 1000).activity[0].number == 1


def test_a_call_that_asks_for_none_gets_none(audited: KafkaCluster) -> None:
    with grpc.insecure_channel(audited.brokers[0].reporter, options=[("grpc.enable_http_proxy", 0)]) as channel:
        batch = reporter_pb2_grpc.BrokerReporterStub(channel).Collect(pb.CollectRequest(), timeout=PATIENCE_S)
    assert batch.values
    assert not batch.activity

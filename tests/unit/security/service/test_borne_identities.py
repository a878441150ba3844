"""Brokers with real certificates, over TLS: what one of them did is nobody else's answer, and each speaks for itself.

Cluster "live" is Kafka's "fake", and "other-1" is "OTHERID"; kafka-1 is a broker of the one, kafka-2 of the other.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import grpc
import pytest

from guardian.config import TlsConfig
from guardian.model.topology import Broker, Cluster
from guardian.model.wire.federation import cluster_to_proto
from guardian.model.wire.metadata import SESSION
from guardian.security.certificates.authority import Wanted
from guardian.security.certificates.folder import CertificateFolder
from guardian.security.service.tls import GrpcTls, PemFiles
from protos.guardian.v1 import (
    federation_pb2,
    federation_pb2_grpc,
    sessions_pb2,
    sessions_pb2_grpc,
    tiering_pb2,
    tiering_pb2_grpc,
)
from tests.unit.member.guarded import ROLES, Guarded

TIMEOUT_S = 30.0
LIVE = tiering_pb2.TopicIdPartition(cluster_id="fake", topic_id=b"A" * 16)
OTHER = tiering_pb2.TopicIdPartition(cluster_id="OTHERID", topic_id=b"B" * 16)
MORE_ROLES = ROLES.replace(
    """[[grants]]
who = ["kafka-*"]
role = "broker"
""",
    """[[grants]]
who = ["certificate:kafka-1", "certificate:bare"]
role = "broker"
clusters = ["live"]
[[grants]]
who = ["certificate:kafka-2"]
role = "broker"
[[grants]]
who = ["certificate:tom"]
role = "operator"
""",
)


class World:
    """A guarded member behind TLS; `as_one(name)` is what somebody with that certificate calls it through."""

    def __init__(self, path: Path) -> None:
        self.folder = CertificateFolder(path / "certs")
        now_ms = int(time.time() * 1000)
        self.folder.init("tests", 30, now_ms)
        self.folder.issue(Wanted("g1", ("127.0.0.1", "localhost")), now_ms)
        for name, uris in (
            ("kafka-1", ("broker:live/1",)),
            ("kafka-2", ("broker:other-1/2",)),
            ("bare", ()),
            ("tom", ()),
        ):
            self.folder.issue(Wanted(name, is_person=True, uris=uris), now_ms)
        config = TlsConfig(self.folder.authority, self.folder.certificate("g1"), self.folder.key("g1"), None)
        self.guarded = Guarded(path, credentials=GrpcTls(PemFiles("grpc_tls", config)).credentials())
        self.guarded.roles.write_text(MORE_ROLES)
        store = self.guarded.member.store
        for cluster in (Cluster("live", "h:9092", "fake"), Cluster("other-1", "h:9093", "OTHERID")):
            with_brokers = replace(cluster, brokers=(Broker(1), Broker(2)))
            store.put_cluster(cluster_to_proto(with_brokers))
        self.channels: list[grpc.Channel] = []

    def as_one(self, name: str) -> grpc.Channel:
        shown = grpc.ssl_channel_credentials(
            self.folder.authority.read_bytes(),
            self.folder.key(name).read_bytes(),
            self.folder.certificate(name).read_bytes(),
        )
        self.channels.append(grpc.secure_channel(self.guarded.member.endpoint, shown))
        return self.channels[-1]

    def stop(self) -> None:
        for channel in self.channels:
            channel.close()
        self.guarded.stop()


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path)
    yield world
    world.stop()


def opened(channel: grpc.Channel) -> int:
    request = sessions_pb2.OpenSessionRequest(owner="broker 2 of OTHERID")
    return sessions_pb2_grpc.SessionsStub(channel).OpenSession(request, timeout=TIMEOUT_S).session_id


def message(
    session_id: int, sequence: int, partition: tiering_pb2.TopicIdPartition, segment: int, below: int = 1
) -> tiering_pb2.StreamSegmentEventsRequest:
    event = tiering_pb2.SegmentEvent(
        segment_id=segment.to_bytes(16, "big"),
        state=tiering_pb2.COPY_SEGMENT_STARTED,
        end_offset=5,
        segment_leader_epochs={1: 0},
    )
    part = tiering_pb2.PartitionEvents(partition=partition, events=[event])
    return tiering_pb2.StreamSegmentEventsRequest(
        session=sessions_pb2.SessionRef(id=session_id, sequence=sequence, answered_below=below),
        append=tiering_pb2.AppendSegmentEventsRequest(partitions=[part]),
    )


def streamed(
    channel: grpc.Channel, *messages: tiering_pb2.StreamSegmentEventsRequest
) -> list[tiering_pb2.StreamSegmentEventsReply]:
    return list(tiering_pb2_grpc.TieringStub(channel).StreamSegmentEvents(iter(messages), timeout=TIMEOUT_S))


def stored(channel: grpc.Channel, partition: tiering_pb2.TopicIdPartition) -> int:
    request = tiering_pb2.PullSegmentEventsRequest(partition=partition)
    groups = tiering_pb2_grpc.TieringStub(channel).PullSegmentEvents(request, timeout=TIMEOUT_S).groups
    return sum(len(group.events) for group in groups)


def change(channel: grpc.Channel, name: str, session_id: int, sequence: int, below: int = 1) -> grpc.StatusCode:
    topic = federation_pb2.FederationEntry(topic=federation_pb2.Topic(cluster="live", name=name))
    request = federation_pb2.ChangeFederationRequest(changes=[federation_pb2.FederationChange(put=topic)])
    ref = sessions_pb2.SessionRef(id=session_id, sequence=sequence, answered_below=below)
    try:
        federation_pb2_grpc.FederationStub(channel).ChangeFederation(
            request, metadata=((SESSION, ref.SerializeToString()),), timeout=TIMEOUT_S
        )
    except grpc.RpcError as error:
        return error.code()
    return grpc.StatusCode.OK


def test_what_a_broker_is_told_was_stored_was_stored_whoever_uses_its_session_id(world: World) -> None:
    victim, attacker, operator = world.as_one("kafka-2"), world.as_one("kafka-1"), world.as_one("tom")
    session_id = opened(victim)
    lost = grpc.StatusCode.DATA_LOSS.value[0]
    used = streamed(attacker, message(session_id, 1, LIVE, 7), message(session_id, 1 << 40, LIVE, 8, below=1 << 40))
    assert [(reply.code, reply.HasField("append")) for reply in used] == [(lost, False), (lost, False)]
    assert change(operator, "junk", session_id, 1) is grpc.StatusCode.DATA_LOSS
    reply = streamed(victim, message(session_id, 1, OTHER, 1))[0]
    assert (reply.code, reply.append.results[0].error, reply.append.results[0].partition) == (0, "", OTHER)
    assert stored(victim, OTHER) == 1
    assert stored(attacker, LIVE) == 0


def test_a_sequence_is_one_request_and_its_answer_is_that_ones(world: World) -> None:
    broker = world.as_one("kafka-2")
    session_id = opened(broker)
    first, other, again = (streamed(broker, message(session_id, 1, OTHER, segment))[0] for segment in (1, 2, 1))
    assert (first.code, again) == (0, first)
    assert (other.code, other.HasField("append")) == (grpc.StatusCode.INVALID_ARGUMENT.value[0], False)
    assert stored(broker, OTHER) == 1
    beyond = streamed(broker, message(session_id, 1 << 40, OTHER, 3, below=1 << 40))[0]
    assert (beyond.code, stored(broker, OTHER)) == (grpc.StatusCode.DATA_LOSS.value[0], 1)
    assert streamed(broker, message(session_id, 2, OTHER, 3, below=2))[0].code == 0


def test_ids_of_sessions_are_drawn_and_not_counted(world: World) -> None:
    broker = world.as_one("kafka-2")
    ids = [opened(broker) for _ in range(64)]
    assert len(set(ids)) == 64
    for bit in range(64):
        assert len({drawn >> bit & 1 for drawn in ids}) == 2, f"bit {bit} is the same in 64 of 64 ids"


def claim(channel: grpc.Channel, cluster_id: str, broker_id: int) -> None:
    partition = tiering_pb2.TopicIdPartition(cluster_id=cluster_id, topic_id=b"C" * 16)
    request = tiering_pb2.ClaimPartitionsRequest(partitions=[partition], broker_id=broker_id)
    tiering_pb2_grpc.TieringStub(channel).ClaimPartitions(request, timeout=TIMEOUT_S)


def register(channel: grpc.Channel, cluster_id: str, broker_id: int) -> None:
    request = federation_pb2.RegisterReporterRequest(
        cluster_id=cluster_id, broker_id=broker_id, reporter="127.0.0.1:9999", metrics_url="http://127.0.0.1:9998"
    )
    federation_pb2_grpc.FederationStub(channel).RegisterReporter(request, timeout=TIMEOUT_S)


@pytest.mark.parametrize("speak", [register, claim])
@pytest.mark.parametrize(
    ("name", "cluster_id", "broker_id"),
    [
        ("kafka-1", "fake", 2),  # a neighbour
        ("kafka-2", "fake", 2),  # the same id in a cluster that its role names and its certificate does not
        ("kafka-2", "OTHERID", 1),
        ("bare", "fake", 1),  # the role, and a certificate that bears no broker
        ("kafka-1", "nowhere", 1),
    ],
)
def test_a_broker_speaks_for_no_other(world: World, speak: object, name: str, cluster_id: str, broker_id: int) -> None:
    before = world.guarded.member.store.read_local().clusters()
    with pytest.raises(grpc.RpcError) as refused:
        speak(world.as_one(name), cluster_id, broker_id)  # type: ignore[operator]
    assert refused.value.code() is grpc.StatusCode.PERMISSION_DENIED
    assert world.guarded.member.store.read_local().clusters() == before


def test_a_broker_speaks_for_itself(world: World) -> None:
    for name, cluster_id, broker_id in (("kafka-1", "fake", 1), ("kafka-2", "OTHERID", 2)):
        channel = world.as_one(name)
        register(channel, cluster_id, broker_id)
        claim(channel, cluster_id, broker_id)
        cluster = world.guarded.member.store.read_local().cluster_by_id(cluster_id)
        assert cluster is not None
        assert [broker.registered_reporter for broker in cluster.brokers if broker.id == broker_id] == [
            "127.0.0.1:9999"
        ]

"""Members share the brokers out: nothing moves at a restart, a death moves one share, nobody reads for two."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import grpc
import pyarrow.dataset as ds
import pytest
from typer.testing import CliRunner

from deploy.local import federation, members
from deploy.local.answering import register
from deploy.local.federation import Federation
from deploy.local.kafka_cluster import KafkaCluster
from guardian.client import GuardianClient
from guardian.errors import GuardianError
from guardian.model.collection import BrokerKey
from guardian.model.topology import Broker
from protos.guardian.v1 import reporter_pb2 as pb
from protos.guardian.v1 import reporter_pb2_grpc
from tests.command_line import app
from tests.freezing import kill
from tests.integration.leading import who_leads
from tests.patience import CALL_S, wait_for

pytestmark = pytest.mark.integration

BROKERS = (1, 2, 3)


class Reporter(reporter_pb2_grpc.BrokerReporterServicer):
    """What the collectors need of a broker's plugin."""

    def __init__(self, cluster_id: str, broker_id: int) -> None:
        self._cluster_id = cluster_id
        self._broker_id = broker_id

    def Collect(self, _request: pb.CollectRequest, _: grpc.ServicerContext) -> pb.MetricBatch:  # noqa: N802
        return pb.MetricBatch(
            cluster_id=self._cluster_id,
            broker_id=self._broker_id,
            collected_at_ms=time.time_ns() // 1_000_000,
            broker_started_at_ms=1,
            dictionary_id=1,
        )


@pytest.fixture(scope="module")
def reporters(kafka_cluster: KafkaCluster) -> Iterator[Mapping[int, str]]:
    """Endpoints by broker."""
    servers, endpoints = [], {}
    for broker in BROKERS:
        server = grpc.server(ThreadPoolExecutor(2))
        reporter_pb2_grpc.add_BrokerReporterServicer_to_server(Reporter(kafka_cluster.cluster_id, broker), server)
        endpoints[broker] = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
        server.start()
        servers.append(server)
    yield endpoints
    for server in servers:
        server.stop(None).wait()


@contextmanager
def group(
    home: Path, kafka: KafkaCluster, reporters: Mapping[int, str], delay_s: float, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Federation]:
    """Three members that collect the three brokers."""
    monkeypatch.setattr(members, "COLLECT", {"interval_s": 0.5, "flush_s": 0.5, "delay_s": delay_s})
    cluster = kafka.to_cluster(sasl=False)
    brokers = tuple(Broker(broker, reporter=reporters[broker]) for broker in BROKERS)
    try:
        started = federation.up(members=3, clusters=0, home=home)
        with client_of(started) as client:
            # Whoever joins later takes over what another one has collected already.
            names = {member.name for member in started.members}
            wait_for("a seat for each member", lambda: seated(client) == names)
            register(client, type(cluster)(cluster.name, cluster.bootstrap, brokers=brokers))
        yield started
    finally:
        federation.wipe(home)


def seated(client: GuardianClient) -> set[str]:
    return {name for name, seat in client.collection().seats.items() if not seat.gone_since_ms}


def client_of(started: Federation) -> GuardianClient:
    return GuardianClient(started.endpoints, timeout_s=CALL_S)


def collected(home: Path) -> dict[int, list[str]]:
    """By broker: who collected it, in the order of time."""
    if not any((home / "lake/broker_samples").glob("*/*/[!.]*")):
        return {}
    table = ds.dataset(home / "lake/broker_samples", format="parquet", partitioning="hive").to_table()
    found: dict[int, list[str]] = {}
    for row in sorted(table.to_pylist(), key=lambda row: (row["at_ms"], row["member"])):
        if not row["error"]:
            found.setdefault(row["broker"], []).append(row["member"])
    return found


def owners(started: Federation) -> dict[int, str]:
    with client_of(started) as client:
        found = client.collection()
    return {key.broker: owner for key, owner in found.owners.items() if key not in found.moves}


def is_shared_out(started: Federation) -> bool:
    try:
        return sorted(owners(started).values()) == ["g1", "g2", "g3"]
    except GuardianError:
        return False


def changes(readers: list[str]) -> list[str]:
    """Consecutive readers, each named once."""
    return [reader for i, reader in enumerate(readers) if i == 0 or readers[i - 1] != reader]


def test_a_restart_moves_nothing(
    tmp_path: Path, kafka_cluster: KafkaCluster, reporters: Mapping[int, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with group(tmp_path, kafka_cluster, reporters, 3000.0, monkeypatch) as started:
        wait_for("a broker for each member", lambda: is_shared_out(started))
        wait_for("rows of all", lambda: collected(tmp_path).keys() == set(BROKERS))
        before = owners(started)
        victim = started.members[0]
        assert victim.pid is not None
        kill(victim.pid)
        [broker] = [broker for broker, owner in before.items() if owner == victim.name]
        with client_of(started) as client:
            wait_for("the death to be noticed", lambda: bool(client.collection().seats[victim.name].gone_since_ms))
        table = CliRunner().invoke(app, ["collection", "--endpoints", ",".join(started.endpoints)]).output
        assert "gone for" in next(line for line in table.splitlines() if line.startswith(victim.name))
        seen = len(collected(tmp_path)[broker])
        federation.up(members=3, clusters=0, home=tmp_path)
        wait_for("rows of the restarted member", lambda: len(collected(tmp_path)[broker]) > seen)
        assert owners(started) == before
        assert {broker: set(readers) for broker, readers in collected(tmp_path).items()} == {
            broker: {owner} for broker, owner in before.items()
        }


def test_the_leaders_death_moves_its_share_alone_and_its_return_moves_one_broker(
    tmp_path: Path, kafka_cluster: KafkaCluster, reporters: Mapping[int, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with group(tmp_path, kafka_cluster, reporters, 3.0, monkeypatch) as started:
        wait_for("a broker for each member", lambda: is_shared_out(started))
        wait_for("rows of all", lambda: collected(tmp_path).keys() == set(BROKERS))
        before = owners(started)
        with client_of(started) as client:
            leader = who_leads(client)
        victim = next(member for member in started.members if member.name == leader)
        assert victim.pid is not None
        kill(victim.pid)
        [orphan] = [broker for broker, owner in before.items() if owner == leader]
        wait_for("another member's rows", lambda: collected(tmp_path)[orphan][-1] != leader)
        after = owners(started)
        assert {broker: after[broker] for broker in BROKERS if broker != orphan} == {
            broker: before[broker] for broker in BROKERS if broker != orphan
        }
        federation.up(members=3, clusters=0, home=tmp_path)
        wait_for("a broker for each member again", lambda: is_shared_out(started))
        given_back = next(broker for broker, owner in owners(started).items() if owner == leader)
        wait_for("rows of the one that is back", lambda: collected(tmp_path)[given_back][-1] == leader)
        with client_of(started) as client:
            assert BrokerKey(kafka_cluster.name, given_back) in client.collection().owners
        # Nobody read what another one was reading: each broker's readers took turns.
        for broker, readers in collected(tmp_path).items():
            turns = changes(readers)
            assert len(turns) <= 3, (broker, turns)
            assert turns[0] == before[broker]
        kept = set(BROKERS) - {orphan, given_back}
        assert all(set(collected(tmp_path)[broker]) == {before[broker]} for broker in kept)

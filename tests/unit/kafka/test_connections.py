"""Connections to nodes that hang, and to brokers that say why they hang up."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import kafka.errors as kafka_errors
import pytest

from guardian.kafka import kafka_python as module
from guardian.kafka.controllers import Node
from guardian.kafka.credentials import SecretFolder
from guardian.kafka.gate import needs_no_proof
from guardian.kafka.kafka_python import Connections, DescribeClusterRequest, login_of
from guardian.kafka.session import BrokerSession
from guardian.model.topology import ClusterSecurity, SecurityProtocol

pytestmark = pytest.mark.slow


@pytest.fixture
def silent_port() -> Iterator[int]:
    """Takes connections and never says a word."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()[1]


def test_a_node_that_never_shakes_hands_costs_no_descriptor(silent_port: int) -> None:
    """A broker that hangs accepts connections: a probe every few seconds must not keep its socket."""
    security = ClusterSecurity(SecurityProtocol.SSL)
    connections = Connections(f"127.0.0.1:{silent_port}", login_of(security, 1.0, SecretFolder(None)))
    node = Node(1, "127.0.0.1", silent_port)

    async def probe() -> None:
        session = BrokerSession(connections, time.monotonic() + 10.0, 10.0, needs_no_proof)
        with pytest.raises(kafka_errors.KafkaError):
            await session._send_to(node, DescribeClusterRequest(), time.monotonic() + 0.1)

    try:
        connections.run(probe, time.monotonic() + 10.0)
        before = len(list(Path("/proc/self/fd").iterdir()))
        for _ in range(10):
            connections.run(probe, time.monotonic() + 10.0)
        assert len(list(Path("/proc/self/fd").iterdir())) <= before
    finally:
        connections.close()


def test_what_a_broker_says_before_it_hangs_up_is_heard() -> None:
    """A refused login is followed by the end of the stream, often in the same read."""
    end = kafka_errors.KafkaConnectionError("socket disconnected")
    reads = iter([(b"refused", end), (b"", end)])
    transport = SimpleNamespace(_sock_recv=lambda: next(reads))
    module._deliver_last_words(transport)
    assert transport._sock_recv() == (b"refused", None)
    assert transport._sock_recv() == (b"", end)

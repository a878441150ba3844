"""One DNS name for all brokers, and the first of its addresses does not answer: the next one is tried.

kafka-python #1227 and #838: the first is of a machine that is down, or an IPv6 address that the broker does not listen
on. A listener that only accepts stands for the broker.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from typing import Any

import pytest

from guardian.errors import ClusterUnavailable
from guardian.kafka.control import KafkaControl
from guardian.model.topology import Cluster

NAME = "kafka.example.test"


@dataclass
class Broker:
    """Accepts connections at 127.0.0.1 and counts them."""

    listener: socket.socket
    came: list[object] = field(default_factory=list)

    @property
    def port(self) -> int:
        port: int = self.listener.getsockname()[1]
        return port

    def accept(self) -> None:
        with suppress(OSError):
            while True:
                self.came.append(self.listener.accept())


@pytest.fixture
def broker() -> Iterator[Broker]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        broker = Broker(listener)
        threading.Thread(target=broker.accept, daemon=True).start()
        yield broker


def resolve_to(monkeypatch: pytest.MonkeyPatch, addresses: Sequence[str], port: int) -> None:
    """Let NAME have these addresses, in this order."""
    real = socket.getaddrinfo

    def getaddrinfo(host: str, *more: Any, **others: Any) -> Any:
        if host != NAME:
            return real(host, *more, **others)
        return [
            (socket.AF_INET6, socket.SOCK_STREAM, 6, "", (each, port, 0, 0))
            if ":" in each
            else (socket.AF_INET, socket.SOCK_STREAM, 6, "", (each, port))
            for each in addresses
        ]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)


def ask(port: int, timeout_s: float, times: int = 1) -> None:
    with closing(KafkaControl(Cluster("live", f"{NAME}:{port}"), timeout_s)) as control:
        for _ in range(times):
            with pytest.raises(ClusterUnavailable):
                control.describe_cluster()


@pytest.mark.slow
@pytest.mark.parametrize(
    "addresses",
    [["127.0.0.2", "127.0.0.1"], ["127.0.0.2", "127.0.0.3", "127.0.0.1"], ["::1", "127.0.0.1"]],
    ids=["one refuses", "two refuse", "IPv6 refuses"],
)
def test_an_address_that_refuses_is_left_for_the_next(
    broker: Broker, monkeypatch: pytest.MonkeyPatch, addresses: Sequence[str]
) -> None:
    resolve_to(monkeypatch, addresses, broker.port)
    ask(broker.port, 3.0)
    assert broker.came


@pytest.mark.integration
def test_an_address_that_swallows_packets_is_left_for_the_next(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    """A listener whose queue is full swallows them."""
    with socket.socket() as hole:
        hole.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        hole.bind(("127.0.0.2", broker.port))
        hole.listen(0)
        waiting = [socket.socket() for _ in range(8)]
        for each in waiting:
            each.setblocking(False)
            with suppress(BlockingIOError):
                each.connect(("127.0.0.2", broker.port))
        with pytest.raises(TimeoutError):
            socket.create_connection(("127.0.0.2", broker.port), timeout=1.0)
        resolve_to(monkeypatch, ["127.0.0.2", "127.0.0.1"], broker.port)
        ask(broker.port, 10.0, times=3)
        for each in waiting:
            each.close()
    assert broker.came

"""A look at thousands of connections: what it does between two pauses, and whom it asks about."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from guardian.serving import shedding
from guardian.serving.counting import PortCounters
from guardian.serving.rules.shares import PortShare
from guardian.serving.shedding import Shedding
from tests.patience import PATIENCE_S

ONE, OTHER = "127.0.0.1", "127.0.0.2"
_CONNECTIONS = 300
_AT_ONCE = 128


class Pauses(threading.Event):
    """Ends no wait, and counts them."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def wait(self, timeout: float | None = None) -> bool:
        assert timeout
        self.count += 1
        return False


@pytest.fixture
def port() -> Iterator[tuple[int, list[socket.socket]]]:
    """A port that has accepted many connections from ONE and three from OTHER, which have all said something."""
    with ExitStack() as stack:
        listener = stack.enter_context(socket.create_server((ONE, 0), backlog=512))
        accepted = []
        for address in (*[ONE] * _CONNECTIONS, *[OTHER] * 3):
            client = socket.create_connection(listener.getsockname(), PATIENCE_S, (address, 0))
            stack.enter_context(client).sendall(b"here")
            accepted.append(stack.enter_context(listener.accept()[0]))
        yield listener.getsockname()[1], accepted


def test_a_look_pauses_however_many_connections_there_are(
    port: tuple[int, list[socket.socket]], monkeypatch: pytest.MonkeyPatch
) -> None:
    number, accepted = port
    counters, pauses, seen = PortCounters(), Pauses(), list[int]()
    whole, shutdown = os.fstat, socket.socket.shutdown

    def counted(descriptor: int) -> os.stat_result:
        seen.append(pauses.count)
        return whole(descriptor)

    def counted_shutdown(self: socket.socket, how: int) -> None:
        seen.append(pauses.count)
        shutdown(self, how)

    looking = Shedding(number, PortShare(1000, 10), counters)
    monkeypatch.setattr(looking, "_stopping", pauses)
    monkeypatch.setattr(os, "fstat", counted)
    monkeypatch.setattr(socket.socket, "shutdown", counted_shutdown)
    looking.look()
    assert counters.connections == _CONNECTIONS + 3
    assert counters.refused == _CONNECTIONS - 10
    assert pauses.count >= 3 * _CONNECTIONS // _AT_ONCE  # found, put in order, shut down
    assert max(map(seen.count, set(seen))) <= 3 * _AT_ONCE
    assert all(connection.recv(4) == b"here" for connection in accepted[-3:])


def test_only_who_holds_too_much_is_asked_about(
    port: tuple[int, list[socket.socket]], monkeypatch: pytest.MonkeyPatch
) -> None:
    number, _ = port
    asked, has_sent = list[str](), shedding._has_sent

    def asking(connection: shedding._Connection) -> bool:
        asked.append(connection.holder)
        return has_sent(connection)

    monkeypatch.setattr(shedding, "_has_sent", asking)
    Shedding(number, PortShare(1000, 10), PortCounters()).look()
    assert asked == [ONE] * _CONNECTIONS

"""Several addresses of a name, on real sockets of loopback."""

from __future__ import annotations

import selectors
import socket
import time
from collections.abc import Coroutine, Iterator
from contextlib import ExitStack, suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardian.kafka.addresses import Address, connect_to_any, stagger_s

pytestmark = pytest.mark.slow

LONG_S = 60.0


def finished(work: Coroutine[Any, Any, socket.socket]) -> socket.socket:
    """Run what waits for nothing but `wait`."""
    try:
        work.send(None)
    except StopIteration as end:
        sock: socket.socket = end.value
        return sock
    raise AssertionError("it waits for something else")


async def wait(selector: selectors.BaseSelector, until_s: float) -> None:
    selector.select(max(0.0, until_s - time.monotonic()))


def connect(addresses: list[Address], left_s: float = LONG_S) -> socket.socket:
    return finished(connect_to_any(addresses, (), time.monotonic() + left_s, wait))


def address(host: str, port: int) -> Address:
    return (socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (host, port))


@pytest.fixture
def port() -> Iterator[int]:
    """Of a listener at 127.0.0.1, and of two that swallow packets at 127.0.0.2 and 127.0.0.3; 127.0.0.4 refuses."""
    with ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        port: int = listener.getsockname()[1]
        for host in ("127.0.0.2", "127.0.0.3"):
            hole = stack.enter_context(socket.socket())
            hole.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            hole.bind((host, port))
            hole.listen(0)
            for _ in range(8):
                caller = stack.enter_context(socket.socket())
                caller.setblocking(False)
                with suppress(BlockingIOError):
                    caller.connect((host, port))
            with pytest.raises(TimeoutError):
                socket.create_connection((host, port), timeout=0.5)
        yield port


@pytest.mark.parametrize(
    "hosts",
    [["127.0.0.1"], ["127.0.0.4", "127.0.0.1"], ["127.0.0.2", "127.0.0.1"], ["127.0.0.2", "127.0.0.3", "127.0.0.1"]],
)
def test_the_first_address_that_takes_the_connection_is_used(port: int, hosts: list[str]) -> None:
    with connect([address(host, port) for host in hosts]) as sock:
        assert sock.getpeername() == ("127.0.0.1", port)
        assert not sock.getblocking()


def test_an_address_of_a_family_that_is_not_there_is_passed_over(port: int) -> None:
    odd = (-5, socket.SOCK_STREAM, 0, "", ("::1", port))
    with connect([odd, address("127.0.0.1", port)]) as sock:
        assert sock.getpeername() == ("127.0.0.1", port)


def test_where_all_refuse_the_refusal_is_told(port: int) -> None:
    with pytest.raises(ConnectionRefusedError):
        connect([address("127.0.0.4", port), address("127.0.0.5", port)])
    with pytest.raises(OSError, match="no address"):
        connect([])


def test_where_all_swallow_packets_the_deadline_is_kept(port: int) -> None:
    with pytest.raises(TimeoutError):
        connect([address("127.0.0.2", port), address("127.0.0.3", port)], 0.3)


def test_no_socket_is_left_behind(port: int, recwarn: pytest.WarningsRecorder) -> None:
    for hosts in (["127.0.0.2", "127.0.0.1"], ["127.0.0.4", "127.0.0.2"]):
        with suppress(TimeoutError):
            connect([address(host, port) for host in hosts], 0.5).close()
    assert not [each for each in recwarn if issubclass(each.category, ResourceWarning)]


@given(st.floats(-1, 1e4), st.integers(1, 1000))
def test_the_last_address_begins_in_the_first_half_of_the_time(left_s: float, addresses: int) -> None:
    pause_s = stagger_s(left_s, addresses)
    assert 0 <= pause_s <= 0.25
    assert pause_s * (addresses - 1) <= max(0.0, left_s) / 2

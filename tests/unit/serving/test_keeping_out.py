"""The filter of a flooded port, run by the kernel on real connections; and for how long it stays."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import closing, suppress

import pytest

from guardian.serving.keeping_out import KeepingOut, listening_on
from guardian.serving.rules.keeping_out import gets_no_more
from guardian.serving.rules.shares import PortShare
from tests.patience import PATIENCE_S

FLOODS, OTHER = "127.0.0.7", "127.0.0.8"
SHARE = PortShare(connections=100, per_address=10)
MANY = 1000
_TRIES = 64  # of a connection that gets in one time in eight: none does in 0.02 % of the runs
_SOON_S = 0.05
_NOT_AGAIN_S = 0.9  # the kernel tries again after a second


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0), backlog=2 * _TRIES) as listening:
        yield listening


def reached(listener: socket.socket, address: str, tries: int = _TRIES, within_s: float = _SOON_S) -> int:
    """Return how many of so many connections are made at once."""
    made = 0
    for _ in range(tries):
        with closing(socket.socket(listener.family)) as connection, suppress(TimeoutError):
            connection.settimeout(within_s)
            connection.bind((address, 0))
            connection.connect(listener.getsockname()[:2])
            made += 1
    return made


def test_most_connections_of_who_floods_are_kept_out_and_all_others_get_in(listener: socket.socket) -> None:
    keeping = KeepingOut(lambda: [listener], SHARE)
    keeping.look(0, dict, 0.0)
    assert reached(listener, FLOODS, 5, PATIENCE_S) == 5
    there = socket.create_connection(listener.getsockname(), PATIENCE_S, (FLOODS, 0))
    with there, listener.accept()[0], closing(there):
        keeping.look(MANY, lambda: {FLOODS: 10, OTHER: 9}, 0.2)
        assert keeping.holders == [FLOODS]
        assert 0 < reached(listener, FLOODS) < _TRIES / 2
        assert reached(listener, OTHER, 5, PATIENCE_S) == 5


def test_a_connection_that_is_there_goes_on(listener: socket.socket) -> None:
    keeping = KeepingOut(lambda: [listener], SHARE)
    keeping.look(0, dict, -0.1)
    with socket.create_connection(listener.getsockname(), PATIENCE_S, (FLOODS, 0)) as client:
        accepted = listener.accept()[0]
        with accepted:
            keeping.look(MANY, lambda: {FLOODS: 10}, 0.0)
            for word in (b"one", b"two"):
                client.sendall(word)
                assert accepted.recv(3) == word
                accepted.sendall(word)
                assert client.recv(3) == word


def test_the_filter_stays_while_the_flood_does_and_some_seconds_longer(listener: socket.socket) -> None:
    keeping = KeepingOut(lambda: [listener], SHARE)
    keeping.look(0, dict, -0.1)
    keeping.look(MANY, lambda: {FLOODS: 10}, 0.0)
    keeping.look(MANY, lambda: {OTHER: 10}, 4.9)
    assert set(keeping.holders) == {FLOODS, OTHER}
    keeping.look(2 * MANY, dict, 5.0)
    keeping.look(2 * MANY, dict, 9.9)
    assert set(keeping.holders) == {FLOODS, OTHER}
    keeping.look(2 * MANY, dict, 10.1)
    assert keeping.holders == []
    assert reached(listener, FLOODS, 20, _NOT_AGAIN_S) == 20


def test_a_few_refusals_are_no_flood(listener: socket.socket) -> None:
    keeping = KeepingOut(lambda: [listener], SHARE)
    for step in range(20):
        keeping.look(5 * step, lambda: {FLOODS: 10}, 0.1 * step)
    assert keeping.holders == []


def test_networks_of_ipv6_are_kept_out_whole_and_their_neighbours_are_not() -> None:
    with socket.create_server(("::1", 0), family=socket.AF_INET6, backlog=2 * _TRIES) as listener:
        keeping = KeepingOut(lambda: [listener], SHARE)
        keeping.look(0, dict, -0.1)
        keeping.look(MANY, lambda: {"2001:db8:1:2::/64": 10}, 0.0)
        assert reached(listener, "::1", 20, _NOT_AGAIN_S) == 20
        keeping.look(2 * MANY, lambda: {"::/64": 10}, 0.2)
        assert 0 < reached(listener, "::1") < _TRIES / 2


def test_the_listening_sockets_of_a_port_are_found_among_the_open_files(listener: socket.socket) -> None:
    port = listener.getsockname()[1]
    with socket.create_connection(("127.0.0.1", port), PATIENCE_S):
        found = listening_on(port)
    try:
        assert [each.getsockname() for each in found] == [listener.getsockname()]
    finally:
        for each in found:
            each.close()


@pytest.mark.parametrize(
    ("held", "expected"),
    [
        ({"a": 10, "b": 9}, ["a"]),
        ({"a": 10, "b": 12}, ["b", "a"]),
        ({f"{number}": 9 for number in range(11)} | {"few": 1}, [f"{number}" for number in range(11)]),
        ({f"{number}": 9 for number in range(10)} | {"few": 1}, []),
        ({}, []),
    ],
    ids=["who has his share", "the heaviest first", "a full port", "nearly full", "nobody"],
)
def test_who_has_his_share_gets_no_more(held: dict[str, int], expected: list[str]) -> None:
    assert gets_no_more(held, SHARE) == expected

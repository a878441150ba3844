"""One turn of accepting: who asks behind a flood is reached in it, and what it takes is bounded."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager

import pytest

from guardian.serving import accepting
from guardian.serving.accepting import LimitedListener, Taken
from guardian.serving.counting import PortCounters
from guardian.serving.rules.shares import PortShare
from tests.patience import PATIENCE_S

ONE, OTHER = "127.0.0.1", "127.0.0.2"
_OF_ONE, _OF_ALL = 50, 100
_FLOOD = 300  # fewer than what is refused in a turn


@contextmanager
def listening(share: PortShare) -> Iterator[tuple[LimitedListener, Callable[[str], None]]]:
    """A listener, and what waits to be accepted from an address at its port."""
    with ExitStack() as stack:
        bound = socket.create_server((ONE, 0), backlog=1024)
        listener = stack.enter_context(closing(LimitedListener(bound, share, PortCounters())))
        listener.setblocking(False)

        def connect(address: str) -> None:
            stack.enter_context(socket.create_connection(listener.getsockname(), PATIENCE_S, (address, 0)))

        yield listener, connect


def turn(listener: LimitedListener) -> list[tuple[Taken, str]]:
    """What asyncio takes in a turn of its loop: until there is no more for now. Whose they are is told beside them."""
    taken: list[tuple[Taken, str]] = []
    while True:
        try:
            connection, (address, _) = listener.accept()
        except BlockingIOError:
            return taken
        taken.append((connection, address))


def test_who_asks_behind_a_flood_is_taken_in_the_same_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    with listening(PortShare(_OF_ALL, _OF_ONE)) as (listener, connect), ExitStack() as stack:
        for _ in range(_OF_ONE):
            connect(ONE)
        for connection, _ in turn(listener):
            stack.enter_context(connection)
        monkeypatch.setattr(accepting, "_MOMENT_S", 0.0)  # all of them have had theirs
        for _ in range(_FLOOD):
            connect(ONE)
        connect(OTHER)
        taken = turn(listener)
        for connection, _ in taken:
            stack.enter_context(connection)
        addresses = [address for _, address in taken]
        assert addresses[-1] == OTHER
        assert 0 < addresses.count(ONE) <= 8  # each costs a whole connection; the others cost a close


def test_many_who_have_a_place_are_taken_in_several_turns() -> None:
    with listening(PortShare(1000, 1000)) as (listener, connect), ExitStack() as stack:
        for _ in range(_FLOOD):
            connect(ONE)
        turns: list[int] = []
        while sum(turns) < _FLOOD:
            taken = turn(listener)
            for connection, _ in taken:
                stack.enter_context(connection)
            turns.append(len(taken))
        assert max(turns) <= 64
        assert len(turns) <= 1 + _FLOOD // 64


def test_one_who_comes_from_elsewhere_has_a_place_while_a_flood_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    with listening(PortShare(_OF_ONE, _OF_ONE)) as (listener, connect), ExitStack() as stack:
        for _ in range(_OF_ONE):
            connect(ONE)
        for connection, _ in turn(listener):
            stack.enter_context(connection)
        monkeypatch.setattr(accepting, "_MOMENT_S", 0.0)
        for _ in range(_FLOOD):
            connect(ONE)
        connect(OTHER)  # the port is full: somebody of the flood has to go for him as well
        taken = turn(listener)
        for connection, _ in taken:
            stack.enter_context(connection)
        assert [address for _, address in taken][-1] == OTHER


def test_one_with_few_connections_takes_the_place_of_a_flood_s_that_have_just_come(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(accepting, "_MOMENT_S", PATIENCE_S)  # nobody of the flood has had it
    with listening(PortShare(_OF_ONE, _OF_ONE)) as (listener, connect), ExitStack() as stack:
        for _ in range(_OF_ONE):
            connect(ONE)
        for connection, _ in turn(listener):
            stack.enter_context(connection)
        for address in (OTHER, OTHER, ONE):  # he has one already when the second comes
            connect(address)
        taken = turn(listener)
        for connection, _ in taken:
            stack.enter_context(connection)
        assert [address for _, address in taken] == [OTHER, OTHER]

"""Sessions of the console that were signed out: known on every member until they would be over, within bounds."""

from __future__ import annotations

import pytest

from metastore import keys
from metastore.tables import ended_sessions
from metastore.tables.ended_sessions import MAX_AHEAD_MS
from protos.guardian.v1 import records_pb2 as pb
from tests.unit.metastore.proposing import Group

START_MS = 1_800_000_000_000


@pytest.fixture
def group() -> Group:
    group = Group()
    at(group, START_MS)
    return group


def at(group: Group, now_ms: int) -> None:
    """Set the group's clock."""
    group.now_ms = now_ms
    while group.machine.read().clock_ms < now_ms:
        assert not group.propose(advance_clock=pb.AdvanceClock(clocks_ms=[now_ms])).error


def cookie(number: int) -> bytes:
    return bytes([number]) * 32


def end(group: Group, number: int, until_ms: int) -> pb.CommandReply:
    return group.propose(end_console_session=pb.EndConsoleSession(cookie_hash=cookie(number), until_ms=until_ms))


def stored(group: Group) -> int:
    return len(group.store.scan(keys.Table.ENDED_SESSION.prefix))


def test_an_ended_session_is_known_by_its_cookie_and_its_end(group: Group) -> None:
    assert not end(group, 1, START_MS + 5000).error
    views = group.machine.read()
    assert views.is_session_ended(cookie(1), START_MS + 5000)
    assert not views.is_session_ended(cookie(2), START_MS + 5000)
    assert end(group, 1, START_MS + 5000).swept == 0
    assert stored(group) == 1, "who signs out twice adds nothing"


def test_what_is_over_by_the_groups_clock_goes_with_the_next_one(group: Group) -> None:
    for number in (1, 2, 3):
        end(group, number, START_MS + number * 1000)
    group.now_ms = START_MS + 40_000  # a proposer's clock that runs ahead trims nothing
    assert end(group, 4, START_MS + 60_000).swept == 0
    at(group, START_MS + 2000)
    assert end(group, 5, START_MS + 60_000).swept == 2
    views = group.machine.read()
    known = [views.is_session_ended(cookie(n), START_MS + n * 1000) for n in (1, 2, 3)]
    assert known == [False, False, True]


def test_a_session_that_is_over_already_is_not_stored(group: Group) -> None:
    assert not end(group, 1, START_MS).error
    assert stored(group) == 0


def test_of_too_many_those_go_that_would_be_over_first(group: Group, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ended_sessions, "MAX_ENDED", 3)
    for number in (5, 1, 4, 2, 3):
        end(group, number, START_MS + number * 1000)
    views = group.machine.read()
    assert [n for n in range(1, 6) if views.is_session_ended(cookie(n), START_MS + n * 1000)] == [3, 4, 5]


@pytest.mark.parametrize(
    ("cookie_hash", "until_ms", "sentence"),
    [
        (b"short", START_MS + 1, "cookie_hash: wrong length (got 5 bytes); give 32"),
        (cookie(1), 0, "until_ms: not when a session would be over (got 0)"),
        (cookie(1), START_MS + MAX_AHEAD_MS + 60_000, "up to 90 days ahead"),
    ],
)
def test_what_is_no_session_is_refused(group: Group, cookie_hash: bytes, until_ms: int, sentence: str) -> None:
    reply = group.propose(end_console_session=pb.EndConsoleSession(cookie_hash=cookie_hash, until_ms=until_ms))
    assert sentence in reply.error
    assert stored(group) == 0

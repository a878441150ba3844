"""Turns: no more than so many at once, a bounded wait, and a turn that ends however its holder does."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from guardian.errors import Overloaded
from guardian.replication.store.state import Views
from guardian.serving.topics import stored_topics
from guardian.serving.turns import Turns
from protos.guardian.v1 import federation_pb2
from tests.counting_view import CountingView
from tests.patience import PATIENCE_S, until
from tests.unit.metastore.proposing import Group


def test_no_more_than_so_many_hold_a_turn_at_once() -> None:
    turns, lock = Turns(2), threading.Lock()
    together = threading.Barrier(2, timeout=30)
    now: list[int] = []
    most: list[int] = []

    def hold(number: int) -> None:
        with turns.one():
            with lock:
                now.append(number)
                most.append(len(now))
            together.wait()  # the second one of a pair is let in beside the first
            with lock:
                now.remove(number)

    with ThreadPoolExecutor(10) as pool:
        list(pool.map(hold, range(10)))
    assert max(most) == 2


def test_who_waits_too_long_is_told_to_come_again() -> None:
    turns = Turns(1, patience_s=0.01)
    with turns.one(), pytest.raises(Overloaded, match=r"lists: no turn within 0.01 s"), turns.one():
        pass


def test_a_turn_ends_with_its_holders_failure() -> None:
    turns = Turns(1, patience_s=0.01)
    with pytest.raises(ValueError, match="x"), turns.one():
        raise ValueError("x")
    with turns.one():
        pass


def test_who_had_a_turn_rests_while_others_wait_and_only_then() -> None:
    rested: list[float] = []
    has_turn, go_on = threading.Event(), threading.Event()
    turns = Turns(1, rest=rested.append)
    with turns.one():
        pass
    assert rested == [], "nobody waited"

    def hold() -> None:
        with turns.one():
            has_turn.set()
            assert go_on.wait(PATIENCE_S)

    def wait() -> None:
        with turns.one():
            pass

    with ThreadPoolExecutor(2) as pool:
        holds = pool.submit(hold)
        assert has_turn.wait(PATIENCE_S)
        waits = pool.submit(wait)
        until(lambda: turns.waiting == 1)
        go_on.set()
        holds.result()
        waits.result()
    assert len(rested) == 1
    assert rested[0] > 0


def test_who_walks_through_a_table_reads_a_page_in_each_turn_and_rests_between_them() -> None:
    """While it rests it has no turn: another one can be had."""
    rested: list[float] = []

    def rest(seconds: float) -> None:
        with turns.one():
            rested.append(seconds)

    def page(after: bytes) -> tuple[list[int], bytes]:
        with pytest.raises(Overloaded), turns.one():
            pass
        first = int(after or b"0")
        return [first, first + 1], b"%d" % (first + 2) if first < 4 else b""

    turns = Turns(1, patience_s=0.01, rest=rest)
    assert list(turns.walk(page)) == [0, 1, 2, 3, 4, 5]
    assert len(rested) == 2
    assert all(seconds > 0 for seconds in rested), "sleeping for nothing hands nothing over"


def test_the_directory_is_walked_through_by_pages() -> None:
    store = Group()
    store.register("live", "id")
    for numbers in (range(1000), range(1000, 2000)):
        topics = (federation_pb2.Topic(cluster="live", name=f"t{number}") for number in numbers)
        puts = [federation_pb2.FederationChange(put=federation_pb2.FederationEntry(topic=each)) for each in topics]
        assert not store.propose(change_federation=federation_pb2.ChangeFederationRequest(changes=puts)).error
    views = store.machine.read()
    view = CountingView(views.snapshot)
    read: list[int] = []
    turns = Turns(rest=lambda _: read.append(view.rows))
    found = stored_topics(Views(view), "live", turns)  # type: ignore[arg-type]  # it reads
    assert len({topic.name for topic in found}) == 2000
    assert read == [1001]
    assert view.rows == 2001

"""The store's promises towards the collector, on a database that can be away."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pyarrow as pa
import pytest

from guardian.activity.rules import questions, schema
from guardian.activity.rules.database import Question
from guardian.activity.store.store import ActivityStore, Position
from guardian.errors import Unavailable
from protos.guardian.v1.reporter_pb2 import ActivitySlice, MetricBatch
from tests.patience import until

AT_MS = 1_800_000_000_000
LIFE = 1_700_000_000_000


class FakeDatabase:
    """Remembers what was inserted, and answers the store's own questions by it. Stands for any Database."""

    def __init__(self) -> None:
        self.is_away = False
        self.inserts: list[list[dict[str, Any]]] = []
        self.lock = threading.Lock()
        self.closed = False

    def execute(self, statement: str) -> None:
        assert statement
        self._require()

    def query(self, question: Question) -> list[dict[str, Any]]:
        self._require()
        if "system.tables" in question.sql:
            return [{"comment": schema.comment()}]
        newest: dict[tuple[str, int], tuple[int, int]] = {}
        for row in self.rows():
            key = (row["cluster"], row["broker"])
            newest[key] = max(newest.get(key, (0, 0)), (row["life"], row["slice"]))
        if question.sql == questions.positions(0).sql:
            return [
                {"cluster": cluster, "broker": broker, "life_ms": life, "number": number}
                for (cluster, broker), (life, number) in newest.items()
            ]
        assert question.sql == questions.stored_slices("", 0, 0).sql
        return [
            {"broker": broker, "life": life, "last_slice": number}
            for (cluster, broker), (life, number) in newest.items()
            if cluster == question.parameters["cluster"]
        ]

    def insert(self, rows: pa.Table) -> None:
        self._require()
        with self.lock:
            self.inserts.append(rows.to_pylist())

    def close(self) -> None:
        self.closed = True

    def rows(self) -> list[dict[str, Any]]:
        with self.lock:
            return [row for insert in self.inserts for row in insert]

    def slices(self) -> list[int]:
        return [row["slice"] for row in self.rows() if not row["resource_type"]]

    def _require(self) -> None:
        if self.is_away:
            raise Unavailable("the database is away")


@pytest.fixture
def database() -> FakeDatabase:
    return FakeDatabase()


@pytest.fixture
def store(database: FakeDatabase) -> Iterator[ActivityStore]:
    with closing(ActivityStore(database, 30, flush_s=0.01)) as store:
        store.start()
        yield store


def batch(*numbers: int, broker: int = 1, life: int = LIFE, uses: int = 1) -> MetricBatch:
    slices = [
        ActivitySlice(
            number=number,
            from_ms=AT_MS + number * 60_000,
            to_ms=AT_MS + (number + 1) * 60_000,
            strings=["User:alice", "TOPIC", "READ"],
            principals=[0] * uses,
            client_ids=[0] * uses,
            addresses=[0] * uses,
            resource_types=[1] * uses,
            resources=[0] * uses,
            operations=[2] * uses,
            allowed=[1] * uses,
            denied=[0] * uses,
        )
        for number in numbers
    ]
    return MetricBatch(broker_id=broker, broker_started_at_ms=life, collected_at_ms=AT_MS, activity=slices)


def test_nothing_is_asked_for_until_the_database_answers(database: FakeDatabase, store: ActivityStore) -> None:
    database.is_away = True
    assert store.position("live", 1) is None
    until(lambda: store.status().failed_inserts)
    assert store.position("live", 1) is None


def test_a_position_moves_when_the_slices_are_stored(database: FakeDatabase, store: ActivityStore) -> None:
    until(lambda: store.position("live", 1) == Position(0, 0))
    store.write("live", batch(1, 2))
    until(lambda: store.position("live", 1) == Position(LIFE, 2))
    assert database.slices() == [1, 2]
    assert store.position("live", 2) == Position(0, 0)
    assert store.position("bulk", 1) == Position(0, 0)


def test_a_position_does_not_move_before(database: FakeDatabase) -> None:
    with closing(ActivityStore(database, 30, flush_s=3600.0)) as store:
        store.start()
        until(lambda: store.position("live", 1) is not None)
        store.write("live", batch(1))
        assert store.position("live", 1) == Position(0, 0)
        assert store.status().waiting_rows == 2
    assert database.slices() == [1]  # closing stores what waits
    assert database.closed


def test_a_slice_that_is_brought_again_is_stored_once(database: FakeDatabase, store: ActivityStore) -> None:
    store.write("live", batch(1, 2))
    store.write("live", batch(1, 2, 3))
    until(lambda: store.position("live", 1) == Position(LIFE, 3))
    store.write("live", batch(2, 3, 4))
    until(lambda: store.position("live", 1) == Position(LIFE, 4))
    assert database.slices() == [1, 2, 3, 4]
    assert store.status().repeated_slices == 4


def test_a_slice_that_another_member_has_stored_is_not_stored_again(
    database: FakeDatabase, store: ActivityStore
) -> None:
    until(lambda: store.position("live", 1) is not None)
    with closing(ActivityStore(database, 30, flush_s=0.01)) as other:
        other.start()
        other.write("live", batch(1, 2))
        until(lambda: other.position("live", 1) == Position(LIFE, 2))
    store.write("live", batch(1, 2, 3))
    until(lambda: store.position("live", 1) == Position(LIFE, 3))
    assert database.slices() == [1, 2, 3]


def test_a_restarted_member_goes_on_where_it_was(database: FakeDatabase, store: ActivityStore) -> None:
    store.write("live", batch(1, 2))
    until(lambda: store.position("live", 1) == Position(LIFE, 2))
    with closing(ActivityStore(database, 30)) as again:
        again.start()
        until(lambda: again.position("live", 1) == Position(LIFE, 2))


@pytest.mark.parametrize("life", [LIFE + 5, LIFE - 5])
def test_a_new_life_of_a_broker_begins_anew_even_when_its_clock_was_set_back(
    database: FakeDatabase, store: ActivityStore, life: int
) -> None:
    store.write("live", batch(7))
    until(lambda: store.position("live", 1) == Position(LIFE, 7))
    store.write("live", batch(1, life=life))
    until(lambda: store.position("live", 1) == Position(life, 1))


@pytest.mark.slow
def test_rows_wait_while_the_database_is_away_and_are_then_stored_in_order(
    database: FakeDatabase, store: ActivityStore
) -> None:
    until(lambda: store.position("live", 1) is not None)
    database.is_away = True
    store.write("live", batch(1))
    until(lambda: store.status().failed_inserts)
    store.write("live", batch(2, 3))
    database.is_away = False
    until(lambda: store.position("live", 1) == Position(LIFE, 3))
    assert database.slices() == [1, 2, 3]
    assert store.status().waiting_rows == 0


def test_beyond_the_bound_slices_are_dropped_counted_and_taken_when_they_come_again(database: FakeDatabase) -> None:
    with closing(ActivityStore(database, 30, flush_s=0.01, max_waiting_rows=10)) as store:
        store.start()
        until(lambda: store.position("live", 1) is not None)
        database.is_away = True
        store.write("live", batch(1, 2, 3, uses=4))  # five rows each
        assert store.status().dropped_slices == 1
        assert store.status().waiting_rows == 10
        assert store.position("live", 1) is None  # no more is asked for
        store.write("live", batch(4, broker=2, uses=0))
        database.is_away = False
        until(lambda: store.position("live", 1) == Position(LIFE, 2))
        store.write("live", batch(3, uses=4))
        until(lambda: store.position("live", 1) == Position(LIFE, 3))
    assert sorted(database.slices()) == [1, 2, 3]


def test_a_position_never_passes_a_slice_that_found_no_room(database: FakeDatabase) -> None:
    with closing(ActivityStore(database, 30, flush_s=0.01, max_waiting_rows=10)) as store:
        whole = batch(1)
        whole.activity.append(batch(2, uses=20).activity[0])
        whole.activity.append(batch(3).activity[0])
        store.write("live", whole)
        store.start()
        until(lambda: store.position("live", 1) == Position(LIFE, 1))
    assert database.slices() == [1]


def test_a_slice_larger_than_the_bound_is_taken_alone(database: FakeDatabase) -> None:
    with closing(ActivityStore(database, 30, flush_s=0.01, max_waiting_rows=10)) as store:
        store.start()
        store.write("live", batch(1, uses=50))
        until(lambda: store.position("live", 1) == Position(LIFE, 1))
    assert len(database.rows()) == 51


def test_garbage_is_marked_and_passed_and_the_rest_is_stored(database: FakeDatabase, store: ActivityStore) -> None:
    garbled = batch(1, 2, 3)
    garbled.activity[1].principals[0] = 99
    store.write("live", garbled)
    until(lambda: store.position("live", 1) == Position(LIFE, 3))
    assert store.status().refused_slices == 1
    assert [row["lost"] for row in database.rows() if row["slice"] == 2] == [1]


def test_a_large_backlog_is_stored_in_several_blocks_that_cut_no_slice(
    database: FakeDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("guardian.activity.store.store._MAX_INSERT_ROWS", 7)
    with closing(ActivityStore(database, 30, flush_s=0.01)) as store:
        store.write("live", batch(*range(1, 9), uses=2))
        store.start()
        until(lambda: store.position("live", 1) == Position(LIFE, 8))
    assert [sorted({row["slice"] for row in insert}) for insert in database.inserts] == [[1, 2], [3, 4], [5, 6], [7, 8]]


def test_a_member_that_collects_nothing_leaves_the_database_alone(database: FakeDatabase) -> None:
    database.is_away = True
    store = ActivityStore(database, 30, flush_s=0.01)
    store.start()
    store.close()
    assert store.status().failed_inserts == 0


def test_a_question_waits_for_the_database_to_be_ready(database: FakeDatabase, store: ActivityStore) -> None:
    assert store.ask(questions.positions(0)) == []
    assert store.status().is_ready

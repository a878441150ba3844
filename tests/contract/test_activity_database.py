"""What every Database of client activity does: one suite, on the embedded ClickHouse and on a server by URL."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest

from guardian.activity.rules import questions
from guardian.activity.rules.address import ServerAddress, parse_url
from guardian.activity.rules.database import Database, Question, prepare
from guardian.activity.rules.questions import HOUR_MS, Span
from guardian.activity.rules.rows import SliceName, slice_rows
from guardian.activity.store.embedded import EmbeddedDatabase
from guardian.activity.store.server import ServerDatabase
from guardian.errors import InvalidInput, Unavailable
from protos.guardian.v1 import reporter_pb2

pytestmark = pytest.mark.integration

NOON_MS = int(datetime(2040, 3, 4, 12, tzinfo=UTC).timestamp() * 1000)  # no retention ends it
MINUTE_MS = 60_000
NASTY = 'it\'s "a" \\ {x:String}\n\t%2A ü'


@pytest.fixture(scope="module", params=["embedded", "server"])
def opened(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    folder = tmp_path_factory.mktemp("activity")
    if request.param == "embedded":
        with closing(EmbeddedDatabase(folder, memory_mb=500)) as database:
            yield database
        return
    with clickhouse(folder) as address, closing(ServerDatabase(address, _password_file(folder))) as database:
        yield database


@contextmanager
def clickhouse(folder: Path) -> Iterator[ServerAddress]:
    """The stand-in of clickhouse_http.py."""
    command = [sys.executable, str(Path(__file__).with_name("clickhouse_http.py")), str(folder / "engine")]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        address = parse_url(f"clickhouse://ann@127.0.0.1:{int(process.stdout.readline())}/guardian")
        assert isinstance(address, ServerAddress)
        yield address
    finally:
        process.stdin.close()
        process.stdout.close()
        process.wait()


def _password_file(folder: Path, text: str = "s3cret\n") -> Path:
    file = folder / "password"
    file.write_text(text)
    return file


@pytest.fixture
def database(opened: Database) -> Database:
    opened.execute("DROP TABLE IF EXISTS activity SYNC")
    prepare(opened, retention_days=30)
    return opened


def slice_of(
    broker: int,
    number: int,
    from_ms: int,
    *uses: tuple[str, str, str, int],
    bytes_produced: float = 0.0,
    cluster: str = "live",
) -> pa.RecordBatch:
    """`uses` are (principal, topic, operation, how often)."""
    strings = ["TOPIC", "app", "10.0.0.1", "alice", *(text for use in uses for text in use[:3])]
    at = range(4, len(strings), 3)
    found = reporter_pb2.ActivitySlice(
        number=number,
        from_ms=from_ms,
        to_ms=from_ms + MINUTE_MS,
        strings=strings,
        principals=at,
        client_ids=[1] * len(uses),
        addresses=[2] * len(uses),
        resource_types=[0] * len(uses),
        resources=[n + 1 for n in at],
        operations=[n + 2 for n in at],
        allowed=[use[3] for use in uses],
        denied=[0] * len(uses),
    )
    if bytes_produced:
        found.byte_users.append(3)
        found.byte_client_ids.append(1)
        found.bytes_produced.append(bytes_produced)
        found.bytes_fetched.append(0)
    return slice_rows(SliceName(cluster, broker, 1000, number), found).rows


def insert(database: Database, *slices: pa.RecordBatch) -> None:
    database.insert(pa.Table.from_batches(list(slices)))


def hour_from(start_ms: int = NOON_MS) -> Span:
    return Span(start_ms, start_ms + HOUR_MS)


def test_preparing_twice_changes_nothing_but_the_retention(database: Database) -> None:
    insert(database, slice_of(1, 1, NOON_MS, ("User:alice", "orders", "WRITE", 5)))
    prepare(database, retention_days=7)
    table = database.query(Question("SELECT create_table_query AS text FROM system.tables WHERE name = 'activity'"))
    assert "TTL hour + toIntervalDay(7)" in table[0]["text"]
    assert len(database.query(questions.topic_users("live", "orders", hour_from(), 10))) == 1


def test_a_table_of_another_version_is_refused_in_one_sentence(database: Database) -> None:
    database.execute("ALTER TABLE activity MODIFY COMMENT 'guardian activity, schema 99'")
    with pytest.raises(InvalidInput, match="schema 99"):
        prepare(database, retention_days=30)


def test_who_used_a_topic_is_told_for_the_slices_that_touch_the_time(database: Database) -> None:
    insert(
        database,
        slice_of(1, 1, NOON_MS, ("User:alice", "orders", "WRITE", 5), bytes_produced=5000),
        slice_of(2, 1, NOON_MS, ("User:alice", "orders", "WRITE", 7), ("User:bob", "orders", "READ", 1)),
        slice_of(1, 2, NOON_MS + MINUTE_MS, ("User:carol", "orders", "READ", 9), ("User:dave", "other", "READ", 9)),
        slice_of(1, 3, NOON_MS + 2 * MINUTE_MS, ("User:erin", "orders", "READ", 9)),
        slice_of(1, 1, NOON_MS, ("User:mallory", "orders", "READ", 9), cluster="bulk"),
    )
    span = Span(NOON_MS + 30_000, NOON_MS + MINUTE_MS + 1)
    rows = database.query(questions.topic_users("live", "orders", span, 10))
    assert [(row["principal"], row["operation"], row["sum_allowed"], row["brokers"]) for row in rows] == [
        ("User:alice", "WRITE", 12, 2),
        ("User:carol", "READ", 9, 1),
        ("User:bob", "READ", 1, 1),
    ]
    assert (rows[0]["client_id"], rows[0]["address"], rows[0]["sum_produced"]) == ("app", "10.0.0.1", 5000)
    assert rows[0]["first_time"] == datetime(2040, 3, 4, 12, tzinfo=UTC)


def test_a_slice_that_began_in_the_hour_before_counts_when_it_touches_the_time(database: Database) -> None:
    insert(database, slice_of(1, 1, NOON_MS - 30_000, ("User:alice", "orders", "WRITE", 5)))
    assert len(database.query(questions.topic_users("live", "orders", hour_from(), 10))) == 1


def test_one_row_more_than_the_limit_tells_that_there_are_more(database: Database) -> None:
    insert(database, slice_of(1, 1, NOON_MS, *((f"User:u{n}", "orders", "READ", n + 1) for n in range(5))))
    rows = database.query(questions.topic_users("live", "orders", hour_from(), 2))
    assert [row["principal"] for row in rows] == ["User:u4", "User:u3", "User:u2"]


@pytest.mark.parametrize("days", [0, 2])
def test_what_a_broker_did_is_the_same_from_rows_and_from_sums_by_hour(database: Database, days: int) -> None:
    insert(
        database,
        slice_of(7, 1, NOON_MS, ("User:alice", "orders", "WRITE", 5), ("User:bob", "orders", "READ", 2)),
        slice_of(7, 2, NOON_MS + MINUTE_MS, ("User:alice", "orders", "WRITE", 5)),
        slice_of(8, 1, NOON_MS, ("User:alice", "orders", "WRITE", 100)),
    )
    span = Span(NOON_MS - days * 24 * HOUR_MS, NOON_MS + HOUR_MS)
    rows = database.query(questions.broker_activity("live", 7, span, 10))
    assert [(row["principal"], row["resource"], row["sum_allowed"]) for row in rows] == [
        ("User:alice", "orders", 10),
        ("User:bob", "orders", 2),
    ]


@pytest.mark.parametrize("days", [0, 2])
def test_what_a_principal_did(database: Database, days: int) -> None:
    insert(
        database,
        slice_of(1, 1, NOON_MS, ("User:alice", "orders", "WRITE", 5), ("User:bob", "orders", "READ", 2)),
        slice_of(2, 1, NOON_MS, ("User:alice", "clicks", "READ", 50)),
    )
    span = Span(NOON_MS - days * 24 * HOUR_MS, NOON_MS + HOUR_MS)
    rows = database.query(questions.principal_activity("live", "User:alice", span, 10))
    assert [row.get("client_id") for row in rows] == [None if days else "app"] * 2
    assert [(row["resource"], row["operation"], row["sum_allowed"]) for row in rows] == [
        ("clicks", "READ", 50),
        ("orders", "WRITE", 5),
    ]


def test_the_last_uses_and_the_sums_of_topics(database: Database) -> None:
    insert(
        database,
        slice_of(1, 1, NOON_MS, ("User:alice", "orders", "WRITE", 5), bytes_produced=700),
        slice_of(1, 2, NOON_MS + HOUR_MS, ("User:alice", "orders", "READ", 6)),
        slice_of(1, 3, NOON_MS + HOUR_MS, ("User:alice", "denied-only", "READ", 0)),
    )
    span = Span(NOON_MS, NOON_MS + 2 * HOUR_MS)
    uses = {row["resource"]: row for row in database.query(questions.topic_last_uses("live", NOON_MS))}
    assert uses["orders"]["last_write"] == datetime(2040, 3, 4, 12, tzinfo=UTC)
    assert uses["orders"]["last_read"] == datetime(2040, 3, 4, 13, tzinfo=UTC)
    assert uses["denied-only"]["last_read"].year == 1970
    sums = {row["resource"]: row for row in database.query(questions.topic_sums("live", span))}
    assert (sums["orders"]["sum_produced"], sums["orders"]["writes"], sums["orders"]["reads"]) == (700, 5, 6)
    allowed = database.query(questions.uses("live", NOON_MS))
    assert {(row["principal"], row["resource"], row["operation"]) for row in allowed} == {
        ("User:alice", "orders", "WRITE"),
        ("User:alice", "orders", "READ"),
    }
    later = database.query(questions.uses("live", NOON_MS + 1))
    assert [row["operation"] for row in later] == ["READ"]
    found = database.query(questions.uses_from("live", ["10.0.0.1", "10.0.0.2"], NOON_MS))
    assert [row["address"] for row in found] == ["10.0.0.1", "10.0.0.1"]
    assert database.query(questions.uses_from("live", ["10.0.0.2"], NOON_MS)) == []


def test_markers_tell_what_is_stored_and_what_the_answers_rest_on(database: Database) -> None:
    insert(
        database,
        slice_of(1, 4, NOON_MS),
        slice_of(1, 5, NOON_MS + MINUTE_MS),
        slice_of(2, 1, NOON_MS, ("User:alice", "orders", "WRITE", 5)),
    )
    stored = database.query(questions.stored_slices("live", NOON_MS, NOON_MS))
    assert {(row["broker"], row["life"], row["last_slice"]) for row in stored} == {(1, 1000, 5), (2, 1000, 1)}
    assert database.query(questions.stored_slices("live", NOON_MS + 9 * HOUR_MS, NOON_MS + 9 * HOUR_MS)) == []
    newest = {row["broker"]: (row["life_ms"], row["number"]) for row in database.query(questions.positions(0))}
    assert newest == {1: (1000, 5), 2: (1000, 1)}
    covered = database.query(questions.coverage("live", hour_from()))[0]
    assert (covered["slices"], covered["brokers"]) == (3, 2)
    assert database.query(questions.first_slice("live"))[0]["first_time"] == datetime(2040, 3, 4, 12, tzinfo=UTC)
    assert database.query(questions.first_slice("nowhere")) == []


def test_names_are_never_part_of_a_statement(database: Database) -> None:
    insert(database, slice_of(1, 1, NOON_MS, (NASTY, NASTY, "READ", 5), cluster=NASTY))
    assert database.query(questions.topic_users(NASTY, NASTY, hour_from(), 10))[0]["principal"] == NASTY
    assert database.query(questions.principal_activity(NASTY, NASTY, hour_from(), 10))[0]["resource"] == NASTY
    assert database.query(questions.topic_users("live' OR 1 = 1 --", "orders", hour_from(), 10)) == []


def test_rows_older_than_the_retention_are_not_kept(database: Database) -> None:
    insert(database, slice_of(1, 1, 1_000_000_000_000, ("User:alice", "orders", "WRITE", 5)))
    database.execute("OPTIMIZE TABLE activity FINAL")
    assert database.query(questions.first_slice("live")) == []


def test_a_question_that_takes_too_much_is_the_callers_to_narrow(database: Database) -> None:
    with pytest.raises(InvalidInput, match="ask for a shorter time"):
        database.query(Question("SELECT groupArray(number) AS all FROM numbers(1000000000)"))


def test_a_statement_that_is_wrong_is_told_in_one_sentence(database: Database) -> None:
    with pytest.raises(Unavailable, match="nothing_here") as caught:
        database.query(Question("SELECT nothing_here"))
    assert "\n" not in str(caught.value)


def test_questions_of_several_threads_are_answered_side_by_side(database: Database) -> None:
    insert(database, slice_of(1, 1, NOON_MS, ("User:alice", "orders", "WRITE", 5)))
    answers: list[int] = []

    def ask() -> None:
        for _ in range(5):
            answers.append(len(database.query(questions.topic_users("live", "orders", hour_from(), 10))))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [1] * 20


def test_a_server_that_is_away_or_refuses_the_password_is_told_in_one_sentence(tmp_path: Path) -> None:
    with clickhouse(tmp_path) as address:
        with (
            closing(ServerDatabase(address, _password_file(tmp_path, "wrong"))) as refused,
            pytest.raises(Unavailable, match="Authentication failed") as caught,
        ):
            refused.query(Question("SELECT 1"))
        assert "\n" not in str(caught.value)
        database = ServerDatabase(address, _password_file(tmp_path))
        assert database.query(Question("SELECT 1 AS one")) == [{"one": 1}]
    with pytest.raises(Unavailable, match=f"127.0.0.1:{address.port}") as away, closing(database):
        database.query(Question("SELECT 1"))
    assert "\n" not in str(away.value)
    with pytest.raises(InvalidInput, match="password_file"):
        ServerDatabase(address, tmp_path / "no-such-file").query(Question("SELECT 1"))

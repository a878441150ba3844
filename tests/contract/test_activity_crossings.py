"""Who crosses the lines between IDCs, asked of the embedded ClickHouse."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime

import pyarrow as pa
import pytest

from guardian.activity.rules import crossings
from guardian.activity.rules.crossings import Places
from guardian.activity.rules.database import Database, prepare
from guardian.activity.rules.questions import Span
from guardian.activity.rules.rows import SliceName, slice_rows
from guardian.activity.store.embedded import EmbeddedDatabase
from protos.guardian.v1 import reporter_pb2

pytestmark = pytest.mark.integration

NOON_MS = int(datetime(2040, 3, 4, 12, tzinfo=UTC).timestamp() * 1000)  # no retention ends it
MINUTE_MS = 60_000
SPAN = Span(NOON_MS, NOON_MS + 10 * MINUTE_MS)
NETWORKS = [
    (ipaddress.ip_network("10.1.7.0/24"), "sz"),
    (ipaddress.ip_network("10.1.0.0/16"), "sh"),
    (ipaddress.ip_network("2001:db8:1::/48"), "sh"),
]
PLACES = Places(["sh", "sz"], {1: "sh", 2: "sz", 3: ""}, NETWORKS)


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """Broker 2 in sz: clients of every kind read and write topic t, a minute each."""
    with closing(EmbeddedDatabase(tmp_path_factory.mktemp("activity"), memory_mb=500)) as opened:
        prepare(opened, retention_days=30)
        slices = [
            one_client(2, 1, "near", "10.1.7.9", "READ", 500.0),
            one_client(2, 2, "far", "10.1.8.9", "READ", 70.0),
            one_client(2, 3, "six", "2001:db8:1::5", "WRITE", 30.0),
            one_client(2, 4, "nowhere", "192.168.0.1", "READ", 9.0),
            one_client(2, 5, "strange", "no address", "READ", 1.0),
            one_client(2, 6, "blind", "10.1.8.9", "READ", 0.0),
            one_client(3, 7, "far", "10.1.8.9", "READ", 3.0),
        ]
        opened.insert(pa.Table.from_batches(slices))
        yield opened


def one_client(broker: int, number: int, client: str, address: str, operation: str, moved: float) -> pa.RecordBatch:
    from_ms = NOON_MS + number * MINUTE_MS
    found = reporter_pb2.ActivitySlice(
        number=number,
        from_ms=from_ms,
        to_ms=from_ms + MINUTE_MS,
        strings=["TOPIC", "t", operation, f"User:{client}", client, address],
        principals=[3],
        client_ids=[4],
        addresses=[5],
        resource_types=[0],
        resources=[1],
        operations=[2],
        allowed=[11],
        denied=[0],
    )
    if moved:
        found.strings.append(client)
        found.byte_users.append(6)
        found.byte_client_ids.append(4)
        found.bytes_produced.append(moved if operation == "WRITE" else 0)
        found.bytes_fetched.append(moved if operation == "READ" else 0)
    return slice_rows(SliceName("live", broker, 1000, number), found).rows


def test_bytes_by_slice_have_the_places_of_both_ends(database: Database) -> None:
    rows = database.query(crossings.by_slice("live", PLACES, SPAN))
    found = {
        (row["from_time"].minute, row["broker_idc"], row["client_idc"], row["operation"], row["sum_bytes"])
        for row in rows
    }
    assert found == {
        (1, 1, 1, "READ", 500),
        (2, 1, 0, "READ", 70),
        (3, 1, 0, "WRITE", 30),
        (4, 1, -1, "READ", 9),
        (5, 1, -1, "READ", 1),
        (7, -1, 0, "READ", 3),
    }
    assert {row["duration_ms"] for row in rows} == {MINUTE_MS}
    assert database.query(crossings.by_slice("dead", PLACES, SPAN)) == []
    minute = Span(NOON_MS + 2 * MINUTE_MS, NOON_MS + 3 * MINUTE_MS)
    assert [row["sum_bytes"] for row in database.query(crossings.by_slice("live", PLACES, minute))] == [70]


def test_topics_tell_bytes_and_requests_whose_bytes_nobody_counted(database: Database) -> None:
    rows = database.query(crossings.by_topic("live", PLACES, SPAN))
    found = {(row["broker_idc"], row["client_idc"], row["operation"]): (row["sum_bytes"], row["blind"]) for row in rows}
    assert found == {
        (1, 1, "READ"): (500, 0),
        (1, 0, "READ"): (70, 11),
        (1, 0, "WRITE"): (30, 0),
        (1, -1, "READ"): (10, 0),
        (-1, 0, "READ"): (3, 0),
    }
    assert {row["resource"] for row in rows} == {"t"}


def test_clients_that_cross_are_named_the_largest_first_and_so_many_of_a_line(database: Database) -> None:
    rows = database.query(crossings.crossers("live", PLACES, SPAN, 10))
    assert [(row["principal"], row["address"], row["sum_bytes"], row["blind"]) for row in rows] == [
        ("User:far", "10.1.8.9", 70, 0),
        ("User:six", "2001:db8:1::5", 30, 0),
        ("User:blind", "10.1.8.9", 0, 11),
    ]
    assert [row["client_id"] for row in database.query(crossings.crossers("live", PLACES, SPAN, 1))] == ["far"]


def test_without_networks_or_brokers_nobody_has_a_place(database: Database) -> None:
    rows = database.query(crossings.by_topic("live", Places([], {}, []), SPAN))
    assert {(row["broker_idc"], row["client_idc"]) for row in rows} == {(-1, -1)}
    assert database.query(crossings.crossers("live", Places([], {}, []), SPAN, 5)) == []

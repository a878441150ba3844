"""From slices to rows: bytes are divided, nothing is lost, and what contradicts itself is refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pytest

from guardian.activity.rules import rows as making
from guardian.activity.rules import schema
from guardian.activity.rules.rows import SCHEMA, SliceName, joined, refused_slice, rows_of_slices, slice_rows
from guardian.errors import InvalidInput
from protos.guardian.v1.reporter_pb2 import ActivitySlice

NAME = SliceName("live", 7, 1000, 3)
AT_MS = 1_800_000_000_000
STRINGS = ["", "User:alice", "alice", "app", "10.0.0.1", "TOPIC", "orders", "clicks", "READ", "WRITE", "GROUP", "other"]
ALICE, USER, APP, ADDRESS, TOPIC, ORDERS, CLICKS, READ, WRITE, GROUP, OTHER = range(1, 12)


def found(*uses: tuple[int, int, int], moved: tuple[tuple[int, int, float, float], ...] = ()) -> ActivitySlice:
    """`uses` are (topic, operation, how often), all of alice's app; `moved` (user, client, produced, fetched)."""
    count = len(uses)
    return ActivitySlice(
        number=NAME.number,
        from_ms=AT_MS,
        to_ms=AT_MS + 60_000,
        strings=STRINGS,
        principals=[ALICE] * count,
        client_ids=[APP] * count,
        addresses=[ADDRESS] * count,
        resource_types=[TOPIC] * count,
        resources=[use[0] for use in uses],
        operations=[use[1] for use in uses],
        allowed=[use[2] for use in uses],
        denied=[0] * count,
        byte_users=[each[0] for each in moved],
        byte_client_ids=[each[1] for each in moved],
        bytes_produced=[each[2] for each in moved],
        bytes_fetched=[each[3] for each in moved],
        dropped=4,
        lost_slices=5,
    )


def rows_of(activity: ActivitySlice, correction_ms: int = 0) -> list[Mapping[str, Any]]:
    rows: list[Mapping[str, Any]] = slice_rows(NAME, activity, correction_ms).rows.to_pylist()
    return rows


def test_rows_have_the_columns_of_the_table() -> None:
    assert SCHEMA.names == list(schema.COLUMNS)


def test_columns_in_another_order_have_the_same_values(monkeypatch: pytest.MonkeyPatch) -> None:
    activity = found((ORDERS, READ, 9), (CLICKS, WRITE, 2), moved=((USER, APP, 100.0, 70.0),))
    before = rows_of(activity)
    monkeypatch.setattr(making, "SCHEMA", pa.schema(reversed(SCHEMA)))
    assert slice_rows(NAME, activity).rows.schema == making.SCHEMA
    assert rows_of(activity) == before


def test_each_use_is_a_row_and_the_slice_has_a_marker() -> None:
    use, marker = rows_of(found((ORDERS, READ, 9)))
    assert (use["cluster"], use["broker"], use["life"], use["slice"]) == NAME
    assert (use["principal"], use["client_id"], use["address"]) == ("User:alice", "app", "10.0.0.1")
    assert (use["resource_type"], use["resource"], use["operation"]) == ("TOPIC", "orders", "READ")
    assert (use["allowed"], use["duration_ms"]) == (9, 60_000)
    assert (marker["resource_type"], marker["principal"], marker["allowed"]) == ("", "", 0)
    assert (marker["dropped"], marker["lost"], use["dropped"]) == (4, 5, 0)


def test_an_empty_slice_is_its_marker() -> None:
    assert len(rows_of(found())) == 1


def test_times_are_corrected_by_what_the_brokers_clock_lacks() -> None:
    early, late = rows_of(found())[0], rows_of(found(), correction_ms=-2500)[0]
    assert (early["from_time"] - late["from_time"]).total_seconds() == 2.5
    assert late["duration_ms"] == 60_000


def test_the_bytes_of_a_client_with_one_topic_are_that_topics() -> None:
    write, read, _ = rows_of(found((ORDERS, WRITE, 3), (ORDERS, READ, 5), moved=((USER, APP, 700.4, 90.0),)))
    assert (write["bytes_produced"], write["bytes_fetched"], write["bytes_shared"]) == (700, 0, False)
    assert (read["bytes_produced"], read["bytes_fetched"], read["bytes_shared"]) == (0, 90, False)


def test_the_bytes_of_a_client_with_several_topics_are_divided_by_requests_and_say_so() -> None:
    orders, clicks, marker = rows_of(found((ORDERS, READ, 3), (CLICKS, READ, 1), moved=((USER, APP, 0, 1000.0),)))
    assert (orders["bytes_fetched"], clicks["bytes_fetched"]) == (750, 250)
    assert orders["bytes_shared"]
    assert clicks["bytes_shared"]
    assert not marker["bytes_shared"]


@pytest.mark.parametrize("tags", [(USER, 0), (0, APP), (0, 0), (USER, APP)])
def test_a_quota_may_name_the_user_the_client_both_or_nobody(tags: tuple[int, int]) -> None:
    assert rows_of(found((ORDERS, READ, 3), moved=((*tags, 0, 1000.0),)))[0]["bytes_fetched"] == 1000


def test_a_quotas_user_is_escaped_as_in_a_url() -> None:
    activity = found((ORDERS, READ, 3), moved=((USER, APP, 0, 1000.0),))
    activity.strings[ALICE], activity.strings[USER] = "User:a b/*", "a%20b%2F%2A"
    assert rows_of(activity)[0]["bytes_fetched"] == 1000


def test_bytes_that_belong_to_no_topic_keep_their_client() -> None:
    rows = rows_of(found((ORDERS, READ, 3), moved=((OTHER, APP, 500.0, 0),)))
    assert [
        (row["principal"], row["client_id"], row["resource"], row["bytes_produced"])
        for row in rows
        if row["bytes_produced"]
    ] == [("User:other", "app", "", 500)]
    assert sum(row["bytes_produced"] for row in rows) == 500


def test_what_was_denied_moved_no_bytes() -> None:
    activity = found((ORDERS, READ, 0), (CLICKS, READ, 2), moved=((USER, APP, 0, 1000.0),))
    activity.denied[0] = 9
    denied, allowed, _ = rows_of(activity)
    assert (denied["bytes_fetched"], allowed["bytes_fetched"], denied["denied"]) == (0, 1000, 9)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"to_ms": AT_MS - 1}, "lasts from"),
        ({"from_ms": 0}, "lasts from"),
        ({"to_ms": AT_MS + 3_600_001}, "lasts from"),
        ({"from_ms": 1 << 62, "to_ms": 1 << 62}, "lasts from"),
        ({"principals": [99]}, "principals.*outside"),
        ({"client_ids": []}, "client_ids.*0 entries"),
        ({"operations": [1, 2]}, "operations.*2 entries"),
        ({"allowed": [1 << 63]}, "allowed"),
        ({"bytes_fetched": [float("nan")]}, "bytes_fetched.*nan"),
        ({"bytes_produced": [-1.0]}, "bytes_produced.*-1.0"),
        ({"byte_users": [99]}, "byte_users.*outside"),
        ({"byte_client_ids": []}, "byte_client_ids.*0 entries"),
    ],
)
def test_a_slice_that_contradicts_itself_is_refused(change: Mapping[str, Any], told: str) -> None:
    activity = found((ORDERS, READ, 3), moved=((USER, APP, 0, 1000.0),))
    for field, value in change.items():
        if isinstance(value, list):
            del getattr(activity, field)[:]
            getattr(activity, field).extend(value)
        else:
            setattr(activity, field, value)
    with pytest.raises(InvalidInput, match=told):
        slice_rows(NAME, activity)


def test_bytes_that_are_too_many_together_are_refused() -> None:
    with pytest.raises(InvalidInput, match=r"bytes_fetched of slice 3 .* in all"):
        slice_rows(NAME, found((ORDERS, READ, 3), moved=((USER, APP, 0, 2.0**59),) * 40))


def test_a_slice_that_is_refused_leaves_a_marker_that_says_so() -> None:
    marker = refused_slice(NAME, AT_MS)
    assert (marker.rows.num_rows, marker.rows.to_pylist()[0]["lost"]) == (1, 1)


def test_slices_that_are_read_together_have_the_rows_that_each_has_alone() -> None:
    """Texts are at other positions in each of them, and none may take another's bytes."""
    one = found((ORDERS, READ, 3), (CLICKS, READ, 1), moved=((USER, APP, 0, 1000.0),))
    two = found((CLICKS, WRITE, 2), (CLICKS, READ, 2), moved=((USER, APP, 70.0, 80.0), (OTHER, APP, 5.0, 0)))
    for texts in ("principals", "client_ids", "addresses", "resource_types", "resources", "operations"):
        moved_by_one = [position + 1 for position in getattr(two, texts)]
        del getattr(two, texts)[:]
        getattr(two, texts).extend(moved_by_one)
    for texts in ("byte_users", "byte_client_ids"):
        moved_by_one = [position + 1 for position in getattr(two, texts)]
        del getattr(two, texts)[:]
        getattr(two, texts).extend(moved_by_one)
    strings = ["another", *two.strings]
    del two.strings[:]
    two.strings.extend(strings)
    names = [NAME, NAME._replace(number=4), NAME._replace(number=5)]
    given = [one, two, found()]
    together = rows_of_slices(names, given, 7)
    alone = [slice_rows(name, each, 7) for name, each in zip(names, given, strict=True)]
    assert [each.rows.to_pylist() for each in together] == [each.rows.to_pylist() for each in alone]
    assert [(each.name, each.from_ms, each.count) for each in together] == [
        (each.name, each.from_ms, each.count) for each in alone
    ]
    everything = [row for each in alone for row in each.rows.to_pylist()]
    assert joined(together).to_pylist() == everything
    assert joined(alone).to_pylist() == everything
    assert joined(together).column("broker").num_chunks == 1


def test_a_client_that_is_told_of_twice_has_moved_both() -> None:
    activity = found((ORDERS, READ, 3), (CLICKS, READ, 1), moved=((USER, APP, 0, 1000.0),) * 2)
    assert [row["bytes_fetched"] for row in rows_of(activity)] == [1500, 500, 0]


def test_a_slice_that_repeats_one_client_a_hundred_thousand_times_takes_no_more_than_it_says() -> None:
    """Garbage: pairs of uses and amounts would be as many as there are of both, multiplied."""
    many = 100_000
    activity = found(*(((ORDERS, READ, 1),) * many), moved=((USER, APP, 0, 1.0),) * many)
    assert sum(row["bytes_fetched"] for row in rows_of(activity)) == many

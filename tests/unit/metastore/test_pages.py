"""Pages of a table by its keys."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardian.errors import InvalidInput
from metastore.memory import MemoryStore
from metastore.records import Put, Record
from metastore.tables.pages import rows_behind
from tests.counting_view import CountingView

PREFIX = b"\x05"


@given(
    st.dictionaries(st.binary(max_size=2), st.binary(max_size=9), max_size=30), st.integers(1, 5), st.integers(1, 20)
)
def test_pages_together_are_the_table_and_none_reads_beyond_its_own(
    table: dict[bytes, bytes], limit: int, max_bytes: int
) -> None:
    records: list[Record] = [Put(PREFIX + key, value) for key, value in table.items()]
    store, after, seen = MemoryStore(), b"", []
    store.write([*records, Put(b"\x04", b"before"), Put(b"\x06", b"behind")], 1)
    while True:
        view = CountingView(store.snapshot())
        rows, after = rows_behind(view, PREFIX, after, limit, max_bytes)
        assert view.rows <= limit + 1
        assert len(rows) <= limit
        assert len(rows) <= 1 or sum(len(value) for _, value in rows) <= max_bytes
        seen += rows
        if not after:
            break
    assert seen == sorted((PREFIX + key, value) for key, value in table.items())


def test_a_key_of_another_list_is_refused() -> None:
    with pytest.raises(InvalidInput, match="page_token is another list's"):
        rows_behind(MemoryStore(), PREFIX, b"\x06x", 1, 1)

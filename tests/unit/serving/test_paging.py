"""Pages: as many rows as are asked for, within what the server gives, and tokens that are checked."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardian.errors import InvalidInput
from guardian.serving.paging import DEFAULT_PAGE, MAX_PAGE, decode_token, encode_token, page_size


def test_a_page_has_as_many_rows_as_are_asked_for_but_no_more_than_the_server_gives() -> None:
    assert [page_size(asked) for asked in (0, 1, MAX_PAGE, MAX_PAGE + 1, 1 << 31)] == [
        DEFAULT_PAGE,
        1,
        MAX_PAGE,
        MAX_PAGE,
        MAX_PAGE,
    ]


@given(st.binary(max_size=50))
def test_a_token_is_its_position(position: bytes) -> None:
    assert decode_token(encode_token(position)) == position


@pytest.mark.parametrize("token", ["t-1", "a", "é"])
def test_what_no_page_gave_is_refused(token: str) -> None:
    with pytest.raises(InvalidInput, match=r"page_token is .*: use the next_page_token of the page before"):
        decode_token(token)

"""Lists by pages: searched, sorted and cut on the server."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardian.console.paging import Asked, Page, page_of
from guardian.errors import InvalidInput


def page(rows: list[tuple[str, int | None]], asked: Asked, default: str = "name") -> Page[tuple[str, int | None]]:
    columns = {"name": lambda row: row[0], "size": lambda row: row[1]}
    return page_of(rows, asked, lambda row: row[0], columns, default)


def test_what_is_not_known_comes_last_in_either_direction() -> None:
    rows: list[tuple[str, int | None]] = [("a", None), ("b", 2), ("c", 1)]
    assert [name for name, _ in page(rows, Asked(sort="size")).rows] == ["c", "b", "a"]
    assert [name for name, _ in page(rows, Asked(sort="-size")).rows] == ["b", "c", "a"]


def test_a_page_behind_the_last_one_is_the_last_one() -> None:
    found = page([(str(number), number) for number in range(5)], Asked(page=9, size=2))
    assert (found.number, found.pages, found.first, found.last) == (3, 3, 5, 5)


def test_all_words_of_a_search_must_be_found() -> None:
    found = page([("Red Broker", 1), ("red disk", 2), ("blue", 3)], Asked(q="RED b"))
    assert [name for name, _ in found.rows] == ["Red Broker"]
    assert (found.found, found.in_all) == (1, 3)


def test_nothing_found_is_a_page_too() -> None:
    found = page([], Asked(q="x"))
    assert (found.rows, found.first, found.last, found.pages) == ((), 0, 0, 1)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Asked(page=0), "page is 0"),
        (lambda: Asked(size=501), "size is 501: use 1 to 500"),
        (lambda: Asked(q="x" * 201), "q has 201 characters"),
        (lambda: page([], Asked(sort="-height")), "sort is '-height': use one of name, size"),
    ],
)
def test_what_can_not_be_asked_is_said_so(make: object, sentence: str) -> None:
    assert callable(make)
    with pytest.raises(InvalidInput, match=sentence):
        make()


@given(
    st.lists(st.tuples(st.text("ab", max_size=3), st.none() | st.integers(0, 3)), max_size=30),
    st.integers(1, 7),
    st.sampled_from(["name", "-name", "size", "-size"]),
    st.sampled_from(["", "a", "b a"]),
)
def test_the_pages_together_are_the_list(rows: list[tuple[str, int | None]], size: int, sort: str, search: str) -> None:
    first = page(rows, Asked(search, 1, sort, size))
    pages = [page(rows, Asked(search, number, sort, size)) for number in range(1, first.pages + 1)]
    together = [row for each in pages for row in each.rows]
    assert len(together) == first.found
    assert sorted(together, key=repr) == sorted(
        (row for row in rows if all(word in row[0] for word in search.split())), key=repr
    )

"""Long lists by pages, searched on the server: a thousand brokers are no browser's business."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Generic, TypeVar

from fastapi import Depends

from guardian.errors import InvalidInput

Row = TypeVar("Row")
Other = TypeVar("Other")
# What a list can be sorted by, and a row's value there; None: not known.
Columns = Mapping[str, Callable[[Row], object]]
PAGE_ROWS = 50
_MOST_ROWS = 500
_LONGEST_SEARCH = 200


@dataclass(frozen=True, slots=True)
class Page(Generic[Row]):
    """Rows `first` (from 1) to `last` of `found`, which are those of `in_all` that match the search."""

    rows: tuple[Row, ...]
    number: int
    pages: int
    found: int
    in_all: int
    search: str
    sort: str
    is_descending: bool
    size: int = PAGE_ROWS

    @property
    def first(self) -> int:
        return (self.number - 1) * self.size + 1 if self.rows else 0

    @property
    def last(self) -> int:
        return self.first + len(self.rows) - 1 if self.rows else 0

    @property
    def order(self) -> str:
        """Return the order as the query has it: "-name" is from the highest to the lowest."""
        return f"-{self.sort}" if self.is_descending else self.sort

    def shown_as(self, made: Callable[[Row], Other]) -> Page[Other]:
        """Make only the rows that are shown: where rows are dear to make, lists are of something plainer."""
        return Page(
            tuple(map(made, self.rows)),
            self.number,
            self.pages,
            self.found,
            self.in_all,
            self.search,
            self.sort,
            self.is_descending,
            self.size,
        )


@dataclass(frozen=True, slots=True)
class Asked:
    """What a list's query says: q=, page=, sort= and size=."""

    q: str = ""
    page: int = 1
    sort: str = ""
    size: int = PAGE_ROWS

    def __post_init__(self) -> None:
        if not 1 <= self.page <= 1_000_000:
            raise InvalidInput(f"page is {self.page}: use 1 to 1000000")
        if not 1 <= self.size <= _MOST_ROWS:
            raise InvalidInput(f"size is {self.size}: use 1 to {_MOST_ROWS}")
        if len(self.q) > _LONGEST_SEARCH:
            raise InvalidInput(f"q has {len(self.q)} characters: use at most {_LONGEST_SEARCH}")


def asked_of(q: str = "", page: int = 1, sort: str = "", size: int = PAGE_ROWS) -> Asked:
    """Return what the query asks for, as a dependency of a list's route."""
    return Asked(q, page, sort, size)


List = Annotated[Asked, Depends(asked_of)]


def page_of(
    rows: Sequence[Row],
    asked: Asked,
    text: Callable[[Row], str],
    columns: Columns[Row],
    default: str,
) -> Page[Row]:
    """The page that is asked for; a number behind the last page gives the last one.

    `text` is what the search looks at, each of its words must be in it. `columns` are what can be sorted by, where None
    comes last in either direction. `default` is a column, with "-" in front from the highest. Raises InvalidInput.
    """
    order = asked.sort or default
    is_descending, column = order.startswith("-"), order.removeprefix("-")
    if column not in columns:
        raise InvalidInput(f"sort is {asked.sort!r}: use one of {', '.join(sorted(columns))}")
    wanted = asked.q.casefold().split()
    found = [row for row in rows if all(word in text(row).casefold() for word in wanted)] if wanted else list(rows)
    ordered = _sorted(found, columns[column], is_descending=is_descending)
    pages = max(1, -(-len(ordered) // asked.size))
    number = min(asked.page, pages)
    begin = (number - 1) * asked.size
    return Page(
        tuple(ordered[begin : begin + asked.size]),
        number,
        pages,
        len(ordered),
        len(rows),
        asked.q,
        column,
        is_descending,
        asked.size,
    )


def _sorted(rows: Sequence[Row], key: Callable[[Row], object], *, is_descending: bool) -> list[Row]:
    """Sort the rows; what is not known comes last."""
    keyed = [(key(row), row) for row in rows]
    known = [each for each in keyed if each[0] is not None]
    known.sort(key=_value, reverse=is_descending)
    return [row for _, row in known] + [row for value, row in keyed if value is None]


def _value(keyed: tuple[object, object]) -> Any:
    """Values of one column can be compared."""
    return keyed[0]

"""Lists that may be long: so many rows, and a last line that says how to see the next ones."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from itertools import dropwhile, islice
from typing import Annotated, TypeVar

import typer

from guardian.cli.options import Output
from guardian.errors import InvalidInput

_ROWS = 100
_Row = TypeVar("_Row")

LimitOption = Annotated[
    int | None,
    typer.Option("--limit", min=1, help="Show so many rows.", show_default=f"{_ROWS}; with -o json and yaml all"),
]
AfterOption = Annotated[
    str, typer.Option("--after", help="Go on behind this row, as the last line of the page before says.")
]


class Page:
    """A page of a list: so many rows, of which programs get all unless they say how many."""

    def __init__(self, limit: int | None, output: Output) -> None:
        self._limit = limit or (0 if output is Output.JSON else _ROWS)
        self._stream = sys.stderr if output is Output.JSON else sys.stdout
        self._next = ""

    @property
    def size(self) -> int:
        """Return how many rows to ask for: one more than are shown, so that the last line is known; 0 for all."""
        return self._limit + 1 if self._limit else 0

    def of(self, rows: Iterable[_Row], name_of: Callable[[_Row], str] | None = None) -> list[_Row]:
        """Return the rows of the page. Without names the next page is a longer one."""
        found = list(islice(rows, self.size or None))
        if not self._limit or len(found) <= self._limit:
            return found
        shown = found[: self._limit]
        self._next = f"--after {name_of(shown[-1])}" if name_of else f"--limit {2 * self._limit}"
        return shown

    def say_more(self) -> None:
        """Say how to see the rows behind the page; on stderr where a program reads the others."""
        if self._next:
            print(f"There are more: {self._next}", file=self._stream)


def behind(rows: Iterable[_Row], after: str, name_of: Callable[[_Row], str]) -> Iterable[_Row]:
    """Return the rows behind the one of that name, or all for none. Raises InvalidInput where there is no such row."""
    if not after:
        return rows
    rest = dropwhile(lambda row: name_of(row) != after, rows)
    if next(rest, None) is None:
        raise InvalidInput(f"--after is {after!r}, which is no row of the list: begin without it")
    return rest

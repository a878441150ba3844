"""Lists that may be long: so many rows, and a last line that says how to see the next ones."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import dropwhile, islice
from typing import Annotated, TypeVar

import typer

from guardian.cli.options import EndpointsOption, Output, OutputOption
from guardian.cli.shared import made_of
from guardian.errors import InvalidInput

_ROWS = 100
_Row = TypeVar("_Row")
_Made = TypeVar("_Made")


@dataclass(slots=True)
class Page:
    """Hold the options of a list, and what its last line says. Programs get all rows unless they say how many."""

    limit: int
    after: str
    endpoints: str
    output: Output
    _next: str = field(default="", init=False)

    @property
    def size(self) -> int:
        """Return how many rows to ask for: one more than are shown, so that the last line is known; 0 for all."""
        return self.limit + 1 if self.limit else 0

    def of(self, rows: Iterable[_Row], name_of: Callable[[_Row], str] | None = None) -> list[_Row]:
        """Return the rows of the page. Without names the next page is a longer one."""
        found = list(islice(rows, self.size or None))
        if not self.limit or len(found) <= self.limit:
            return found
        shown = found[: self.limit]
        self._next = f"--after {name_of(shown[-1])}" if name_of else f"--limit {2 * self.limit}"
        return shown

    def behind(self, rows: Iterable[_Row], name_of: Callable[[_Row], str]) -> Iterable[_Row]:
        """Return the rows behind the one that --after names. Raises InvalidInput where there is no such row."""
        rest = dropwhile(lambda row: name_of(row) != self.after, rows) if self.after else rows
        if self.after and next(iter(rest), None) is None:
            raise InvalidInput(f"--after is {self.after!r}, which is no row of the list: begin without it")
        return rest

    def say_more(self) -> None:
        """Say how to see the rows behind the page; on stderr where a program reads the others."""
        if self._next:
            print(f"There are more: {self._next}", file=sys.stderr if self.output is Output.JSON else sys.stdout)


def paged(command: Callable[..., _Made]) -> Callable[..., _Made]:
    """Return the command with the options of a list, of which its first parameter is made. Below typer's decorator."""
    return made_of(_page, command)


def _page(
    limit: Annotated[
        int | None,
        typer.Option("--limit", min=1, help="Show so many rows.", show_default=f"{_ROWS}; with -o json and yaml all"),
    ] = None,
    after: Annotated[
        str, typer.Option("--after", help="Go on behind this row, as the last line of the page before says.")
    ] = "",
    endpoints: EndpointsOption = "",
    output: OutputOption = Output.TABLE,
) -> Page:
    return Page(limit or (0 if output is Output.JSON else _ROWS), after, endpoints, output)

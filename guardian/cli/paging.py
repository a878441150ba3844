"""Lists that may be long: so many rows, and a last line that says how to see the next ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, TypeVar

import typer

from guardian.cli.options import EndpointsOption, Output, OutputOption
from guardian.cli.printing import echo
from guardian.cli.shared import made_of

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

    def rows(self, ask: Callable[[str, int], tuple[Sequence[_Row], str]]) -> list[_Row]:
        """Return the rows of the page, of as many answers as it takes. Each is asked for by a token and a number of
        rows, 0 for any, and comes with the token of the next one, empty for none.
        """
        found: list[_Row] = []
        token = self.after
        while True:
            more, token = ask(token, self.limit - len(found) if self.limit else 0)
            found += more
            if not token or (self.limit and len(found) >= self.limit):
                self._next = f"--after {token}" if token else ""
                return found

    def say_more(self) -> None:
        """Say how to see the rows behind the page; on stderr where a program reads the others."""
        if self._next:
            echo(f"There are more: {self._next}", err=self.output is Output.JSON)


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

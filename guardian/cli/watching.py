"""--watch: a command that reads is carried out again and again, until Ctrl-C.

On a terminal the screen is drawn anew. Into a pipe or a file an answer is written when it differs from the one before,
so that a log of it tells what changed. An answer that fails is told on stderr and asked for again: a member that is
restarted must not end the watch of whoever restarts it.
"""

from __future__ import annotations

import functools
import io
import sys
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from datetime import datetime
from typing import Annotated, Any

import typer

from guardian.cli.shared import options_of, signed
from guardian.errors import ClusterUnavailable, Overloaded, Unavailable
from guardian.model.text import escaped
from guardian.model.units import parse_duration_ms

WatchOption = Annotated[
    bool, typer.Option("--watch", "-w", help="Show it again and again, until Ctrl-C; into a pipe: when it changes.")
]
EveryOption = Annotated[str, typer.Option("--every", help="How often with --watch, such as 5s.")]

_CLEAR = "\x1b[H\x1b[2J\x1b[3J"
_PASSING = (Unavailable, Overloaded, ClusterUnavailable)


def watchable(command: Callable[..., None]) -> Callable[..., None]:
    """The command with --watch and --every. Put it between typer's decorator and the function."""

    @functools.wraps(command)
    def run(*, watch: bool, every: str, **given: Any) -> None:
        if watch:
            again_and_again(lambda: command(**given), parse_duration_ms("--every", every) / 1000)
        else:
            command(**given)

    return signed(run, [*options_of(command), *options_of(_watch)])


def _watch(watch: WatchOption = False, every: EveryOption = "2s") -> None:
    """The options of a watch."""


def again_and_again(
    show: Callable[[], None],
    every_s: float,
    pause: Callable[[float], None] = time.sleep,
    now: Callable[[], datetime] = lambda: datetime.now().astimezone(),
) -> None:
    """Returns on Ctrl-C. Raises what asking again would not mend."""
    said = ""
    try:
        while True:
            answer, is_answer = _answer(show)
            if sys.stdout.isatty():
                print(f"{_CLEAR}{answer}\n{now():%H:%M:%S}, every {every_s:g} s, until Ctrl-C", flush=True)
            elif is_answer and answer != said:
                print(answer, end="", flush=True)
                said = answer
            elif not is_answer:
                print(answer, end="", file=sys.stderr, flush=True)
            pause(every_s)
    except KeyboardInterrupt:
        return


def _answer(show: Callable[[], None]) -> tuple[str, bool]:
    """Return what the command prints and True, or why it failed and False. --fail does not end a watch: what it would
    say is on the screen.
    """
    written = io.StringIO()
    try:
        with redirect_stdout(written):
            show()
    except typer.Exit:
        pass
    except _PASSING as error:
        return f"{escaped(str(error))}\n", False
    return written.getvalue(), True

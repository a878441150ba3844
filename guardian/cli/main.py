"""`guardian`: the front door for people."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from guardian import tracing
from guardian.cli.exits import DONE, INTERRUPTED, WRONG, exit_code_of
from guardian.cli.outline import help_text
from guardian.cli.printing import echo, echo_text
from guardian.errors import GuardianError

_FOR_THE_OUTLINE = ((), ("--help",), ("-h",))


@contextmanager
def _traces() -> Iterator[None]:
    """Spans of what the command does, for whoever sets OpenTelemetry's own variable. `guardian server` has its file."""
    endpoint = os.environ.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") or os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT")
    if not endpoint or sys.argv[1:2] == ["server"]:
        yield
        return
    stop = tracing.start("guardian-cli", endpoint)
    try:
        yield
    finally:
        stop()


def _run(arguments: Sequence[str]) -> None:
    if tuple(arguments) in _FOR_THE_OUTLINE and "_GUARDIAN_COMPLETE" not in os.environ:
        echo_text(help_text())
        sys.exit(DONE if arguments else WRONG)
    from guardian.cli.tree import tree_for  # after what needs no Typer, which takes longer to import than to print

    tree_for(arguments)()


def main() -> None:
    """Exit codes: guardian.cli.exits."""
    try:
        with _traces():
            _run(sys.argv[1:])
    except GuardianError as error:
        echo(f"Error: {error}", err=True)
        sys.exit(exit_code_of(error))
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except BrokenPipeError:  # of `guardian … | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    main()

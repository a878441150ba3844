"""Where the CLI writes to a terminal: everything else prints through this, so that no text from others moves a cursor,
forges a line or turns the direction of reading.
"""

from __future__ import annotations

import sys

from guardian.model.text import escaped, json_escaped

_LAYOUT = "\n\t"


def echo(line: object = "", *, err: bool = False) -> None:
    """Print one line, whatever it holds: on standard error with `err`. Flushes it."""
    print(escaped(str(line)), file=sys.stderr if err else sys.stdout, flush=True)


def echo_json(document: str) -> None:
    """Print a document of JSON, which stays the same value, and flush it."""
    print(json_escaped(document), flush=True)


def echo_text(text: str, *, err: bool = False) -> None:
    """Print lines that are Guardian's own, such as a file of YAML: as they are, but for unsafe characters."""
    print(escaped(text, _LAYOUT), end="", file=sys.stderr if err else sys.stdout, flush=True)

"""Results that go to a file."""

from __future__ import annotations

from pathlib import Path

from guardian.cli.printing import echo
from guardian.errors import InvalidInput


def write_file(path: Path, content: str) -> None:
    """Writes it and says so on stderr. Raises InvalidInput when the file can't be written."""
    try:
        path.write_text(content, encoding="utf-8")
    except OSError as error:
        raise InvalidInput(f"{path} can't be written: {error.strerror}") from None
    echo(f"Wrote {path}", err=True)

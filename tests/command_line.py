"""The whole tree of commands, for a CliRunner: made once in a process."""

from functools import cache
from typing import Any

import typer.main
import typer.testing

from guardian.cli.tree import tree

app = tree()
# A CliRunner makes click's commands of the tree at each call, which takes longer than most tests of the command line.
_get_command = cache(typer.main.get_command)
typer.testing._get_command = _get_command  # type: ignore[attr-defined]
COMMAND: Any = _get_command(app)

"""The whole tree of commands, for a CliRunner: made once in a process."""

import re
import shlex
from functools import cache
from typing import Any

import typer.main
import typer.testing
from typer.core import TyperGroup
from typer.exceptions import TyperException

from guardian.cli.output import Output, choose
from guardian.cli.tree import tree

app = tree()
# A CliRunner makes click's commands of the tree at each call, which takes longer than most tests of the command line.
_get_command = cache(typer.main.get_command)
typer.testing._get_command = _get_command  # type: ignore[attr-defined]
COMMAND: Any = _get_command(app)

_OPTIONAL = re.compile(r"\{\{ (?:with .*?|end) \}\}|\[.*?\]|\s>.*")
_INCOMPLETE = ("MissingParameter", "BadOptionUsage")  # it names a command, or an option, and no value
_PLACEHOLDER = re.compile(r"\{\{.*?\}\}|\{[^{}]*\}|\b[A-Z][A-Z_-]*\b(?![:a-z])")


def mistake_in(line: str) -> str:
    """Return why a command line can't be typed, by the real parser; empty when it can. {...} and CAPITALS stand for any
    value, [...] may be left out, and a command may be named without what it requires."""
    command, words = COMMAND, shlex.split(_PLACEHOLDER.sub("1", _OPTIONAL.sub("", line)))[1:]
    while isinstance(command, TyperGroup) and words and not words[0].startswith("-"):
        word = words.pop(0)
        if word == "1":
            return ""  # it stands for any of them
        alternatives = word.split("|")
        if unknown := [each for each in alternatives if each not in command.commands]:
            return f"{unknown[0]} is no command"
        command = command.commands[alternatives[0]]
    if not words or "--help" in words:
        return ""
    command = getattr(command, "by_default", command)  # guardian apply -f FILE
    try:
        command.make_context(command.name, words)
    except TyperException as error:
        return "" if type(error).__name__ in _INCOMPLETE else str(error)
    finally:
        choose(Output.TABLE)
    return ""

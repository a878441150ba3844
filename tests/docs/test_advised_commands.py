"""Commands that our messages, docstrings and pages of the console advise can be typed as they stand."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.site.pages import ROOT
from tests.command_line import mistake_in

FOLDERS = ("deploy", "guardian", "metastore", "raft", "spark_analytics")
SOURCES = sorted(
    path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py") if "guardian " in path.read_text()
)
TEMPLATES = sorted((ROOT / "guardian").rglob("*.html"))
# Between backquotes or brackets, after words that lead to a command, or all of the text.
_ADVICE = re.compile(
    r"`(guardian [a-z][^`]*)`|\((guardian [a-z][^()]*)\)|(?:Next|Example|and|or): (guardian [a-z][^\n]*)"
    r"|^(guardian [a-z -]+ (?:--|\{)[^\n`;:,]*)$"
)
_PROSE = re.compile(r"…|\.\.\.|[;:,]\s|\\$")


def texts_of(source: str) -> Iterator[str]:
    """Return the string literals, with {} for what is put in."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.JoinedStr():
                yield "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
            case ast.Constant(value=str() as text):
                yield text


def advised(text: str) -> set[str]:
    found = (next(filter(None, match.groups())) for match in _ADVICE.finditer(text))
    return {line.strip().rstrip(".") for line in found if not _PROSE.search(line)}


@pytest.mark.parametrize("path", SOURCES, ids=[path.relative_to(ROOT).as_posix() for path in SOURCES])
def test_a_command_in_a_message_can_be_typed(path: Path) -> None:
    lines = {line for text in texts_of(path.read_text()) for line in advised(text)}
    assert {line: mistake for line in sorted(lines) if (mistake := mistake_in(line))} == {}


@pytest.mark.parametrize("path", TEMPLATES, ids=[path.name for path in TEMPLATES])
def test_a_command_on_a_page_of_the_console_can_be_typed(path: Path) -> None:
    lines = re.findall(r"<code>(guardian [a-z][^<]*)</code>", path.read_text())
    assert {line: mistake for line in lines if (mistake := mistake_in(line))} == {}


def test_advice_is_found() -> None:
    lines = {line for path in SOURCES for text in texts_of(path.read_text()) for line in advised(text)}
    assert "guardian durability --cluster {}" in lines
    assert "guardian broker remove {} --cluster {}" in lines
    assert "guardian raft transfer-leader g2" in lines
    assert len(lines) > 250
    assert advised("run `guardian durability live`") == {"guardian durability live"}

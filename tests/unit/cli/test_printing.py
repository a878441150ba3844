"""What the CLI prints is what it was given, but for what moves a cursor or forges a line."""

from __future__ import annotations

import json
import sys

import pytest
import yaml

from guardian.cli import main, output, render
from guardian.cli.output import Output
from guardian.cli.printing import echo, echo_text
from guardian.errors import InvalidInput
from guardian.model.text import is_printable

EVIL = "a\x1b[2Jb\u202ec\nFORGED\x9b\x7f"


def test_a_line_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    echo(f"Note: {EVIL}")
    echo(EVIL, err=True)
    out, err = capsys.readouterr()
    assert out == "Note: a\\x1b[2Jb\\u202ec\\nFORGED\\x9b\\x7f\n"
    assert err.count("\n") == 1


def test_own_text_keeps_its_lines(capsys: pytest.CaptureFixture[str]) -> None:
    echo_text("a:\n\tb\x1b\n")
    assert capsys.readouterr().out == "a:\n\tb\\x1b\n"


def test_cells_of_tables_stay_in_their_row_and_column(capsys: pytest.CaptureFixture[str]) -> None:
    render.print_table(("NAME", "SIZE"), [(EVIL, "1"), ("b", "22")], right=("SIZE",))
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert {len(line) for line in lines} == {len(lines[0])}


@pytest.mark.parametrize("show", [render.print_json, render.print_json_line])
@pytest.mark.parametrize("kind", [Output.JSON, Output.YAML])
def test_programs_get_the_same_value_printable(
    show: object, kind: Output, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output, "_chosen", kind)
    show({"é": [EVIL]})  # type: ignore[operator]
    shown = capsys.readouterr().out
    assert is_printable(shown, keep="\n")
    assert (json.loads if kind is Output.JSON else yaml.safe_load)(shown) == {"é": [EVIL]}


def test_yaml_without_such_text_stays_readable(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output, "_chosen", Output.YAML)
    render.print_json({"name": "Zoë"})
    assert capsys.readouterr().out == "name: Zoë\n"


def test_an_error_s_sentence_is_one_line(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_: object) -> object:
        raise InvalidInput(EVIL)

    monkeypatch.setattr("guardian.cli.tree.tree_for", fails)
    monkeypatch.setattr(sys, "argv", ["guardian", "status"])
    with pytest.raises(SystemExit):
        main.main()
    assert capsys.readouterr().err == "Error: a\\x1b[2Jb\\u202ec\\nFORGED\\x9b\\x7f\n"

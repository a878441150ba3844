"""`guardian --help` and TAB say what the commands themselves say, without importing them."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections import Counter
from typing import Any

import pytest
import typer.main
from typer._click.shell_completion import ShellComplete

from guardian.cli import main
from guardian.cli.outline import ABOUT, OUTLINE, help_text
from guardian.cli.tree import tree_for
from tests.command_line import COMMAND

ENTRIES = [entry for group in OUTLINE for entry in group.entries]


class Completion(ShellComplete):
    """A shell of which the words are given."""

    name = "test"
    source_template = ""

    def source_vars(self) -> dict[str, Any]:
        raise NotImplementedError

    def get_completion_args(self) -> tuple[list[str], str]:
        raise NotImplementedError

    def format_completion(self, item: Any) -> str:
        return f"{item.value}\t{item.help}"

    def offers(self, *words: str) -> list[str]:
        *before, incomplete = words
        return [self.format_completion(item) for item in self.get_completions(before, incomplete)]


def first_paragraph(text: str) -> str:
    return " ".join(text.split("\n\n", maxsplit=1)[0].split())


def test_the_outline_names_every_command_with_its_own_help() -> None:
    assert {each.name: each.help for each in ENTRIES} == {
        name: first_paragraph(command.help) for name, command in COMMAND.commands.items()
    }
    assert max(Counter(each.name for each in ENTRIES).values()) == 1


def test_help_has_the_outline_and_the_root_s_own_options() -> None:
    text = " ".join(help_text(80).split())
    assert ABOUT in text
    for entry in ENTRIES:
        assert f" {entry.name} {entry.help}" in text
    context = COMMAND.make_context("guardian", ["--help"], resilient_parsing=True)
    for option in COMMAND.get_params(context):
        assert f"{', '.join(sorted(option.opts, key=len))} {option.help}" in text


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_help_fits(columns: int) -> None:
    lines = help_text(columns).splitlines()
    assert max(map(len, lines[2:])) <= max(columns, 46)
    assert max(map(len, help_text(30).splitlines())) < 50  # names are never cut


@pytest.mark.parametrize(
    "words",
    [
        ("",),
        ("t",),
        ("ticket", "s"),
        ("topic", ""),  # with requests
        ("broker", "remove", "--d"),
        ("ticket", "list", "-o", ""),
        ("--i",),
    ],
)
def test_completion_is_that_of_all_commands(words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_GUARDIAN_COMPLETE", "complete_bash")
    outline = typer.main.get_command(tree_for([]))
    found = offers(outline, words)
    assert found
    assert sorted(found) == sorted(offers(COMMAND, words))


def offers(command: Any, words: tuple[str, ...]) -> list[str]:
    return Completion(command, {}, "guardian", "_GUARDIAN_COMPLETE").offers(*words)


def test_a_mistyped_command_is_told_without_importing_commands() -> None:
    done = guardian("tickt", "list")
    assert done.returncode == 2
    assert "Did you mean" in done.stderr
    assert "'ticket'" in done.stderr


def test_without_arguments_it_is_help_and_wrong(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["guardian"])
    with pytest.raises(SystemExit) as ended:
        main.main()
    assert ended.value.code == 2
    assert capsys.readouterr().out == help_text()


def test_help_takes_less_than_300_ms_of_a_processor() -> None:
    assert guardian("--help").stdout == help_text(80)  # and Python's caches of bytecode are there
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    guardian("--help")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime) < 0.3


def test_help_imports_neither_typer_nor_a_command() -> None:
    program = (
        "import sys\n"
        "from guardian.cli import main\n"
        "sys.argv = ['guardian', '-h']\n"
        "try: main.main()\n"
        "except SystemExit as ended: assert not ended.code\n"
        "print(*(name for name in sys.modules if name.split('.')[0] in ('typer', 'rich', 'grpc', 'guardian')))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.splitlines()[-1].split())
    assert "guardian.cli.outline" in loaded
    assert not {"typer", "rich", "grpc", "guardian.client", "guardian.cli.everywhere"} & loaded


def guardian(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "guardian.cli.main", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "COLUMNS": "80"},
    )

"""Every command says what it does, shows an example, and needs no more than the base install to do so."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from importlib import metadata
from typing import Any

import pytest
import typer.main
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from typer.core import TyperCommand, TyperGroup, TyperOption

from tests.command_line import app


def commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, TyperCommand]]:
    if isinstance(command, TyperGroup):
        for name, child in command.commands.items():
            yield from commands(child, (*path, name))
    else:
        yield " ".join(path), command


ALL = list(commands(typer.main.get_command(app)))


@pytest.mark.parametrize(("name", "command"), ALL, ids=[name for name, _ in ALL])
def test_a_command_has_help_and_an_example(name: str, command: TyperCommand) -> None:
    assert command.help
    if name != "version":
        assert f"Example: guardian {name}" in command.help
    undocumented = [
        parameter.name
        for parameter in command.params
        if isinstance(parameter, TyperOption) and not parameter.help and not parameter.hidden
    ]
    assert not undocumented


def test_every_group_is_covered() -> None:
    assert {name.split()[0] for name, _ in ALL} >= {"server", "status", "cluster", "plan", "ticket", "local"}


def base_install() -> set[str]:
    """The packages that pip brings with kafka-guardian and no extra, by what their own metadata ask for."""
    found: set[str] = set()
    to_see = {"kafka-guardian"}
    while to_see:
        name = to_see.pop()
        found.add(name)
        asked = map(Requirement, metadata.requires(name) or ())
        needed = {
            canonicalize_name(each.name) for each in asked if not each.marker or each.marker.evaluate({"extra": ""})
        }
        to_see |= needed - found
    return found


def not_in_the_base_install() -> list[str]:
    """Names that can be imported here and not there."""
    base = base_install()
    return sorted(
        module
        for module, packages in metadata.packages_distributions().items()
        if not base & set(map(canonicalize_name, packages))
    )


@pytest.mark.slow
def test_the_base_install_is_enough_for_the_cli() -> None:
    """Whatever only an extra brings, or another package of ours, such as click, must not be imported by a thin client:
    `--help` imports the modules of all commands."""
    lacking = not_in_the_base_install()
    assert {"pyspark", "numpy", "pandas", "pyarrow", "rocksdict", "kafka", "click", "structlog"} <= set(lacking)
    program = (
        "import sys\n"
        f"for name in {lacking!r}: sys.modules[name] = None\n"
        "import guardian.cli.main as main\n"
        "sys.argv = ['guardian', '--help']\n"
        "main.main()\n"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert "federation" in result.stdout


def test_a_command_imports_no_other_ones() -> None:
    program = (
        "import sys\n"
        "from guardian.cli.tree import tree_for\n"
        "tree_for(['ticket', 'list'])\n"
        "print(*(name for name in sys.modules if name.startswith('guardian.')))\n"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "guardian.tickets.commands.ticket" in result.stdout.split()
    assert not {"guardian.tiering.commands.tiering", "guardian.member.commands.server", "guardian.cli.local"} & set(
        result.stdout.split()
    )


@pytest.mark.slow
def test_a_member_does_without_pandas() -> None:
    program = (
        "import sys\n"
        "from guardian.cli.leaving_out import leave_out\n"
        "leave_out('pandas')\n"
        "import guardian.member.app\n"
        "assert 'pandas' not in sys.modules\n"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr

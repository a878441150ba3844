"""Every command says what it does, shows an example, and needs no more than the base install to do so."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import typer.main
from typer.core import TyperCommand, TyperGroup, TyperOption

from guardian.cli.main import app


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


def test_the_base_install_is_enough_for_the_cli() -> None:
    """pyproject's extras: pyspark, rocksdict, kafka-python and their like must not be imported by a thin client."""
    heavy = ["pyspark", "numpy", "pandas", "pyarrow", "rocksdict", "pysyncobj", "kafka", "confluent_kafka", "psutil"]
    heavy += ["chdb", "clickhouse_connect"]
    program = (
        "import sys\n"
        f"for name in {heavy!r}: sys.modules[name] = None\n"
        "import guardian.cli.main as main\n"
        "sys.argv = ['guardian', '--help']\n"
        "main.main()\n"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert "federation" in result.stdout

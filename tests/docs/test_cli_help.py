"""Every command says what it does, shows an example, and needs no more than the base install to do so."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import click
import pytest
import typer.main

from guardian.cli.main import app


def commands(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    if isinstance(command, click.Group):
        for name, child in command.commands.items():
            yield from commands(child, (*path, name))
    else:
        yield path, command


ALL = list(commands(typer.main.get_command(app)))


@pytest.mark.parametrize(("path", "command"), ALL, ids=[" ".join(path) for path, _ in ALL])
def test_a_command_has_help_and_an_example(path: tuple[str, ...], command: click.Command) -> None:
    assert command.help
    if path != ("version",):
        assert f"Example: guardian {' '.join(path)}" in command.help
    undocumented = [
        parameter.name
        for parameter in command.params
        if isinstance(parameter, click.Option | typer.core.TyperOption) and not parameter.help
    ]
    assert not undocumented


def test_the_base_install_is_enough_for_the_cli() -> None:
    """pyproject's extras: pyspark, rocksdict, kafka-python and their like must not be imported by a thin client."""
    heavy = ["pyspark", "numpy", "pandas", "pyarrow", "rocksdict", "pysyncobj", "kafka", "confluent_kafka", "psutil"]
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

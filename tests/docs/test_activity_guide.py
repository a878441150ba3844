"""What the guide to client activity tells people to type, to configure and to ask works."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import typer.main
from typer.core import TyperGroup

from guardian import config
from guardian.activity.model import load_prices
from guardian.activity.rules import schema
from guardian.activity.rules.database import Database, Question, prepare
from guardian.activity.store.embedded import EmbeddedDatabase
from tests.command_line import app

GUIDE = Path(__file__).parents[2] / "guardian" / "activity" / "README.md"
TEXT = GUIDE.read_text()
COMMANDS = sorted({line.partition("#")[0].strip() for line in TEXT.splitlines() if line.startswith("guardian ")})
STATEMENTS = re.findall(r"```sql\n(.*?)```", TEXT, re.DOTALL)
TOML = re.findall(r"```toml\n(.*?)```", TEXT, re.DOTALL)


@pytest.mark.slow
@pytest.mark.parametrize("line", COMMANDS)
def test_a_command_of_the_guide_can_be_typed(line: str) -> None:
    command = typer.main.get_command(app)
    words = shlex.split(line)[1:]
    while isinstance(command, TyperGroup):
        command = command.commands[words.pop(0)]
    known = {option for parameter in command.params for option in parameter.opts}
    assert {word for word in words if word.startswith("--")} <= known
    arguments = [parameter for parameter in command.params if parameter.param_type_name == "argument"]
    assert len(words) >= len(arguments)


def test_the_guide_shows_every_command_of_the_group() -> None:
    group = typer.main.get_command(app).commands["audit"]  # type: ignore[attr-defined]
    assert {line.split()[2] for line in COMMANDS} == set(group.commands)


def test_the_price_list_and_the_configuration_are_read(tmp_path: Path) -> None:
    prices, audit = TOML
    (tmp_path / "prices.toml").write_text(prices)
    assert load_prices(tmp_path / "prices.toml").of("payments").fetched_gb == 0.005
    own = 'name = "g1"\ndata = "/d"\ngrpc = "127.0.0.1:1"\nhttp = "127.0.0.1:2"\nraft = "127.0.0.1:3"\nlake = "/l"\n'
    (tmp_path / "g1.toml").write_text(own + audit)
    assert config.load(tmp_path / "g1.toml").audit_url == "/var/lib/guardian/activity"


def test_every_column_is_explained() -> None:
    section = TEXT.partition("## The table")[2].partition("\n## ")[0]
    explained = re.findall(r"^\| ([a-z_, ]+) \|", section, re.MULTILINE)
    names = {name.strip() for cell in explained for name in cell.split(",")} - {"column"}
    assert names == {*schema.COLUMNS, "hour", "day", "to_time"}


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    with closing(EmbeddedDatabase(tmp_path_factory.mktemp("guide") / "activity", memory_mb=500)) as database:
        prepare(database, retention_days=30)
        yield database


@pytest.mark.integration
@pytest.mark.parametrize("statement", STATEMENTS)
def test_a_statement_of_the_guide_is_answered(database: Database, statement: str) -> None:
    assert database.query(Question(statement)) == []


@pytest.mark.parametrize("link", re.findall(r"\]\((?!http)([^)#]+)", TEXT))
def test_a_link_of_the_guide_leads_somewhere(link: str) -> None:
    assert (GUIDE.parent / link).resolve().exists()

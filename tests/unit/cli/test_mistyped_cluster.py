"""Whatever is asked of a cluster that is not registered is refused: an empty list would pass for an answer."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from typer.core import TyperGroup
from typer.testing import CliRunner

from guardian.errors import NotFound
from tests.command_line import COMMAND, app
from tests.unit.member.member import Member

# Others want more than a cluster before they ask.
LISTS = {
    "audit acls", "audit idle-topics", "audit costs", "disk queue", "disk show", "durability", "events",
    "exclusion cordons", "exclusion list", "findings", "group disk-reads", "healing policy", "healing status", "links",
    "ticket list", "tiering orphans", "tiering topics", "topic list",
}  # fmt: skip
WITH_SPARK = {"forecast", "plan balance", "plan heal", "plan leaders", "plan relieve", "what-if grow"}


@pytest.fixture(scope="module")
def member() -> Iterator[Member]:
    member = Member()
    yield member
    member.stop()


def without_arguments(group: TyperGroup, path: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield the commands that take a cluster, ask a member and need nothing else."""
    for name, command in group.commands.items():
        if isinstance(command, TyperGroup):
            yield from without_arguments(command, (*path, name))
            continue
        options = {option for parameter in command.params for option in parameter.opts}
        if {"--cluster", "--endpoints"} <= options and not any(parameter.required for parameter in command.params):
            yield " ".join((*path, name))


def test_all_lists_are_tried() -> None:
    assert set(without_arguments(COMMAND)) >= LISTS


@pytest.mark.parametrize("words", sorted(LISTS | WITH_SPARK))
def test_a_cluster_that_is_not_registered_is_named_before_anything_is_read(
    member: Member, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spark_analytics.jobs.session.local_session", lambda *_: pytest.fail("Spark was started"))
    result = CliRunner().invoke(app, [*words.split(), "--cluster", "nope", "--endpoints", member.endpoint])
    assert isinstance(result.exception, NotFound), result.output
    assert "nope" in str(result.exception)
    assert "registered" in str(result.exception)

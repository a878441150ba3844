"""`guardian status`: each member as it sees itself, and what its configuration leaves open."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from typer.testing import CliRunner

from tests.command_line import app
from tests.unit.member.member import Member

CAUTION = "every certificate may do everything: add [security]"


@pytest.fixture
def member() -> Iterator[Member]:
    member = Member(cautions=(CAUTION,))
    yield member
    member.stop()


def test_what_a_member_leaves_open_is_told_beside_the_table(member: Member) -> None:
    result = CliRunner().invoke(app, ["status"], env={"GUARDIAN_ENDPOINTS": member.endpoint})
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[1].split()[:3] == [member.endpoint, "g1", "g1"]
    assert result.stderr == f"Caution, g1: {CAUTION}\n"
    (shown,) = json.loads(
        CliRunner().invoke(app, ["status", "-o", "json"], env={"GUARDIAN_ENDPOINTS": member.endpoint}).stdout
    )
    assert shown["member"]["cautions"] == [CAUTION]

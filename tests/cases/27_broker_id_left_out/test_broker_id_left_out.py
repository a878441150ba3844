"""Broker 0 is what many have (Strimzi's first): `machine put m1 --cluster live` without --broker must not claim it."""

from __future__ import annotations

from typer.testing import CliRunner

from guardian.errors import GuardianError
from tests.command_line import app
from tests.unit.member.member import Member


def test_a_machine_of_a_cluster_needs_the_brokers_id(member: Member) -> None:
    line = ["machine", "put", "m1", "--cluster", "live", "--cores", "8", "--dry-run", "--endpoints", member.endpoint]
    result = CliRunner().invoke(app, line)
    assert isinstance(result.exception, GuardianError) or result.exit_code != 0

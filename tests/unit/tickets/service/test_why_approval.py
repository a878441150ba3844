"""A member tells who asks why he may approve a ticket, or may not; the CLI shows it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from guardian.client import GuardianClient
from guardian.client.bearing import bearer
from guardian.errors import NotAllowed, NotFound
from tests.command_line import app
from tests.unit.member.guarded import ROLES, Guarded
from tests.unit.member.member import plan


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[Guarded]:
    guarded = Guarded(tmp_path)
    yield guarded
    guarded.stop()


@pytest.fixture
def ticket_id(guarded: Guarded) -> str:
    with client(guarded, "ann") as ann:
        return ann.create_ticket(plan(2, 3), author="ann", submit=True)[0].id


def client(guarded: Guarded, name: str) -> GuardianClient:
    return GuardianClient([guarded.member.endpoint], 10.0, bearing=bearer(guarded.token[name]))


def refusal(guarded: Guarded, ticket_id: str, name: str) -> str:
    with client(guarded, name) as somebody:
        found = somebody.explain_approval(ticket_id, "root")
    assert found.actor == name, "who was proven, whatever the request says"
    return found.refusal


def test_each_reason_is_told_as_approving_would_tell_it(guarded: Guarded, ticket_id: str) -> None:
    assert refusal(guarded, ticket_id, "eve") == ""
    assert refusal(guarded, ticket_id, "root") == ""
    for name in ("vic", "ben", "ann"):
        told = refusal(guarded, ticket_id, name)
        assert told.startswith(f"{name} is not approver on cluster live")
        with client(guarded, name) as somebody, pytest.raises(NotAllowed) as refused:
            somebody.approve(ticket_id, actor=name)
        assert str(refused.value) == told


def test_an_approver_is_not_the_author_and_a_tenants_approver_is_none_of_others(
    guarded: Guarded, ticket_id: str
) -> None:
    tenant = '\n[[grants]]\nwho = ["ben"]\nrole = "approver"\ntenants = ["payments"]\n'
    guarded.roles.write_text(f'{ROLES}\n[[grants]]\nwho = ["ann"]\nrole = "approver"\n{tenant}')
    assert "the author of ticket" in refusal(guarded, ticket_id, "ann")
    assert "ben is not approver on cluster live for what belongs to nobody" in refusal(guarded, ticket_id, "ben")


def test_what_is_given_is_told(guarded: Guarded, ticket_id: str) -> None:
    with client(guarded, "eve") as eve:
        eve.approve(ticket_id, actor="", reason="fine")
        found = eve.explain_approval(ticket_id, "")
    assert [(given.actor, given.reason) for given in found.given] == [("eve", "fine")]
    assert (found.needed, "is APPROVED: only a PENDING ticket" in found.refusal) == (0, True)


def test_who_does_not_see_the_ticket_is_told_nothing(guarded: Guarded, ticket_id: str) -> None:
    with client(guarded, "olga") as olga, pytest.raises(NotFound, match=f"ticket '{ticket_id}' does not exist"):
        olga.explain_approval(ticket_id, "")
    for name in ("olga", "vic"):
        with client(guarded, name) as somebody, pytest.raises(NotFound, match="ticket 't-ffffffff' does not exist"):
            somebody.explain_approval("t-ffffffff", "")


def test_the_cli_says_it_in_sentences_and_in_json(guarded: Guarded, ticket_id: str) -> None:
    arguments = ["ticket", "why-approval", ticket_id, "--endpoints", guarded.member.endpoint]
    environment = {"GUARDIAN_TOKEN": guarded.token["vic"]}
    told = CliRunner().invoke(app, arguments, env=environment).stdout
    assert f"Ticket {ticket_id} of ann is PENDING. It needs 1 approval, by any one of the rules below." in told
    assert "You are vic: vic is not approver on cluster live" in told
    assert "everybody" in told
    assert "* (not the author)" in told
    shown = json.loads(CliRunner().invoke(app, [*arguments, "-o", "json"], env=environment).stdout)
    assert (shown["ticket_id"], shown["needed"], shown["actor"]) == (ticket_id, 1, "vic")
    given = CliRunner().invoke(app, arguments, env={"GUARDIAN_TOKEN": guarded.token["eve"]}).stdout
    assert "You are eve: you may approve it now." in given

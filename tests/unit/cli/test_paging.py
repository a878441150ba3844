"""Lists that may be long: a page of rows, a last line that leads to the next page, and filters by state and kind."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count

import pytest
from typer.testing import CliRunner

from guardian.cli.output import Output
from guardian.cli.paging import Page
from guardian.client import GuardianClient
from guardian.errors import InvalidInput, NotFound
from tests.command_line import app
from tests.unit.server.member import Member, plan


@pytest.fixture(scope="module")
def member() -> Iterator[Member]:
    member = Member()
    yield member
    member.stop()


@pytest.fixture(scope="module")
def tickets(member: Member) -> list[str]:
    """Ids, newest first: drafts but for the second and the fourth, which wait for approval."""
    with GuardianClient([member.endpoint]) as client:
        for number in range(5):
            client.create_ticket(plan(3, 2), author="ann", submit=number in (1, 3), idempotency_key=str(number))
        return [ticket.id for ticket in client.tickets()]


def run(member: Member, line: str) -> str:
    result = CliRunner().invoke(app, line.split(), env={"GUARDIAN_ENDPOINTS": member.endpoint}, catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout


def ids(shown: str) -> list[str]:
    return [line.split()[0] for line in shown.splitlines() if line.startswith("t-")]


def test_pages_follow_each_other_by_what_their_last_lines_say(member: Member, tickets: list[str]) -> None:
    seen, more = [], ""
    for _ in range(3):
        shown = run(member, f"ticket list --limit 2 {more}")
        seen += ids(shown)
        last = shown.splitlines()[-1]
        more = last.removeprefix("There are more: ")
    assert seen == tickets
    assert "There are more" not in last
    assert ids(run(member, "ticket list")) == tickets


def test_tickets_are_filtered_by_state_and_kind(member: Member, tickets: list[str]) -> None:
    waiting = json.loads(run(member, "ticket list --state pending --state running -o json"))
    assert {ticket["state"] for ticket in waiting} == {"PENDING"}
    assert len(waiting) == 2
    assert len(ids(run(member, f"ticket list --kind {waiting[0]['kind']}"))) == 5
    assert ids(run(member, "ticket list --kind leaders")) == []
    first = run(member, "ticket list --state draft --limit 2")
    rest = run(member, f"ticket list --state draft --limit 2 --after {ids(first)[-1]}")
    assert len(ids(first) + ids(rest)) == 3
    with pytest.raises(InvalidInput, match=r"--state is 'open': use one of draft, pending, "):
        run(member, "ticket list --state open")
    with pytest.raises(NotFound, match="begin the list anew"):
        run(member, "ticket list --after t-0")


def test_the_directory_comes_in_pages_of_names(member: Member) -> None:
    run(member, "topic put a b c --cluster live --owner ann")
    shown = run(member, "topic list --limit 2")
    assert shown.splitlines()[-1] == "There are more: --after live/b"
    assert [line.split()[1] for line in run(member, "topic list --after live/b").splitlines()[1:]] == ["c"]
    with pytest.raises(InvalidInput, match="--after is 'live/z', which is no row of the list"):
        run(member, "topic list --after live/z")


def page_of(limit: int, after: str = "", output: Output = Output.TABLE) -> Page:
    return Page(limit, after, "", output)


def test_a_list_without_names_grows(capsys: pytest.CaptureFixture[str]) -> None:
    page = page_of(2, output=Output.JSON)
    assert page.of(count()) == [0, 1]
    page.say_more()
    assert capsys.readouterr() == ("", "There are more: --limit 4\n")
    assert page_of(0).of([1] * 1000) == [1] * 1000


def test_programs_get_all_rows_and_people_a_page(member: Member) -> None:
    names = " ".join(f"t{number}" for number in range(120))
    run(member, f"topic put {names} --cluster live")
    assert len(json.loads(run(member, "topic list --cluster live -o json"))) >= 120
    shown = run(member, "topic list --cluster live").splitlines()
    assert len(shown) == 102
    assert shown[-1].startswith("There are more: --after live/")


def test_rows_behind_the_last_one_are_none() -> None:
    assert list(page_of(2, "b").behind("abc", str)) == ["c"]
    assert list(page_of(2, "c").behind("abc", str)) == []

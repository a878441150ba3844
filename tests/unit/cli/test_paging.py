"""Lists that may be long: a page of rows, a last line that leads to the next page, and filters by state and kind."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence

import pytest
from typer.testing import CliRunner

from guardian.cli.output import Output
from guardian.cli.paging import Page
from guardian.client import GuardianClient
from guardian.errors import InvalidInput
from tests.command_line import app
from tests.unit.member.member import Member, plan


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


def more_of(shown: str) -> str:
    """Return the options that the last line says lead to the next page."""
    last = shown.splitlines()[-1]
    return last.removeprefix("There are more: ") if last.startswith("There are more: ") else ""


def test_pages_follow_each_other_by_what_their_last_lines_say(member: Member, tickets: list[str]) -> None:
    seen, more = [], ""
    for _ in range(3):
        shown = run(member, f"ticket list --limit 2 {more}")
        seen += ids(shown)
        more = more_of(shown)
    assert (seen, more) == (tickets, "")
    assert ids(run(member, "ticket list")) == tickets


def test_tickets_are_filtered_by_state_and_kind(member: Member, tickets: list[str]) -> None:
    waiting = json.loads(run(member, "ticket list --state pending --state running -o json"))
    assert {ticket["state"] for ticket in waiting} == {"PENDING"}
    assert len(waiting) == 2
    assert len(ids(run(member, f"ticket list --kind {waiting[0]['kind']}"))) == 5
    assert ids(run(member, "ticket list --kind leaders")) == []
    first = run(member, "ticket list --state draft --limit 2")
    rest = run(member, f"ticket list --state draft --limit 2 {more_of(first)}")
    assert len({*ids(first), *ids(rest)}) == 3
    with pytest.raises(InvalidInput, match=r"--state is 'open': use one of draft, pending, "):
        run(member, "ticket list --state open")
    with pytest.raises(InvalidInput, match="page_token is another list's"):
        run(member, "ticket list --after dC0w")
    with pytest.raises(InvalidInput, match=r"page_token is 't-0'"):
        run(member, "ticket list --after t-0")


def test_the_directory_comes_in_pages_of_names(member: Member) -> None:
    run(member, "topic put a b c --cluster live --owner ann")
    shown = run(member, "topic list --limit 2")
    assert [line.split()[1] for line in run(member, f"topic list {more_of(shown)}").splitlines()[1:]] == ["c"]
    with pytest.raises(InvalidInput, match="page_token is 'live/z'"):
        run(member, "topic list --after live/z")


def page_of(limit: int, after: str = "", output: Output = Output.TABLE) -> Page:
    return Page(limit, after, "", output)


def answers(rows: int, most: int) -> Callable[[str, int], tuple[Sequence[int], str]]:
    """Return what answers with up to `most` of so many rows at once, and with the number of the next one as a token."""

    def ask(token: str, size: int) -> tuple[Sequence[int], str]:
        begin = int(token or 0)
        found = range(begin, min(rows, begin + min(size or most, most)))
        return found, str(found.stop) if found.stop < rows else ""

    return ask


def test_a_page_is_of_as_many_answers_as_it_takes(capsys: pytest.CaptureFixture[str]) -> None:
    page = page_of(7, output=Output.JSON)
    assert page.rows(answers(100, 3)) == list(range(7))
    page.say_more()
    assert capsys.readouterr() == ("", "There are more: --after 7\n")
    last = page_of(7, "98")
    assert last.rows(answers(100, 3)) == [98, 99]
    last.say_more()
    assert capsys.readouterr() == ("", "")
    assert page_of(0).rows(answers(1000, 100)) == list(range(1000))


def test_an_answer_without_rows_is_not_the_end() -> None:
    """Where a filter left out all that the member read for one answer."""
    told = {"": ((), "a"), "a": ((1,), "b"), "b": ((), "")}
    assert page_of(5).rows(lambda token, _: told[token]) == [1]


def test_programs_get_all_rows_and_people_a_page(member: Member) -> None:
    names = " ".join(f"t{number}" for number in range(120))
    run(member, f"topic put {names} --cluster live")
    assert len(json.loads(run(member, "topic list --cluster live -o json"))) >= 120
    shown = run(member, "topic list --cluster live").splitlines()
    assert len(shown) == 102
    assert shown[-1].startswith("There are more: --after ")

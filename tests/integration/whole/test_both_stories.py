"""The main job as two stories, on real brokers: in a browser from the first page to SUCCEEDED, measured beside
predicted, and back; and the same by the command line alone.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from deploy.local.federation import Federation
from guardian.client import GuardianClient
from guardian.model.ticket import TicketState
from tests.integration.browser import DEADLINE_MS, PHONE, chromium_browser, complaints_of, window
from tests.integration.whole.test_main_job import (
    Cli,
    dry_plan_that_shows,
    is_uneven,
    members,
    plan_that_moves,
    spreads,
    workload,
)
from tests.patience import CALL_S, PATIENCE_S, until

__all__ = ["members", "workload"]
pytestmark = [pytest.mark.integration, pytest.mark.long]

expect.set_options(timeout=DEADLINE_MS)

MOST_TABS = 100


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with chromium_browser() as browser:
        yield browser


def plan_with_moves(page: Page) -> None:
    """Ask from the form that is open until the samples show that something is uneven."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        press(page.get_by_role("button", name="Make the plan"))
        page.wait_for_url(re.compile("/plans/asked/"))
        answered = page.get_by_role("link", name="Change what is asked for")
        expect(answered).to_be_visible()
        if page.get_by_role("button", name="Ask for approval").count():
            return
        assert time.monotonic() < deadline, page.locator("#content").inner_text()
        time.sleep(2)
        press(answered)


def press(target: Locator) -> None:
    """Go to it with the tabulator, as who has no mouse does, and press Enter; it must be seen where one is."""
    for _ in range(MOST_TABS):
        if target.evaluate("one => one === document.activeElement"):
            break
        target.page.keyboard.press("Tab")
    expect(target).to_be_focused()
    assert target.evaluate("one => getComputedStyle(one).outlineStyle") != "none"
    target.page.keyboard.press("Enter")


def write(page: Page, label: str, words: str) -> None:
    """Type into the field that the tabulator leads to."""
    field = page.get_by_label(label, exact=True)
    for _ in range(MOST_TABS):
        if field.evaluate("one => one === document.activeElement"):
            break
        page.keyboard.press("Tab")
    expect(field).to_be_focused()
    page.keyboard.press("ControlOrMeta+A")
    page.keyboard.type(words)


def state_is(page: Page, state: TicketState) -> None:
    """Wait until the open page says so by itself."""
    expect(page.locator("#state")).to_contain_text(state.name)


def act(page: Page, name: str, who: str, why: str = "") -> None:
    page.get_by_label("Your name").fill(who)
    page.get_by_label("Why", exact=True).fill(why)
    page.get_by_role("button", name=name, exact=True).click()


def fits(page: Page) -> None:
    """Raise AssertionError where the page is wider than a phone."""
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= PHONE[0], f"{page.url} is {width} px wide"


def first_page(page: Page, members: Federation) -> None:
    page.goto(f"{members.members[0].url}/console/")


def who_did_what(members: Federation, ticket_id: str) -> list[tuple[TicketState, str]]:
    with GuardianClient(members.endpoints, timeout_s=CALL_S) as client:
        return [(past.state, past.actor) for past in client.ticket(ticket_id)[0].history]


def test_from_the_first_page_to_succeeded_and_back(chromium: Browser, members: Federation, workload: Path) -> None:
    assert workload
    with window(chromium) as context:
        page = context.new_page()
        said = complaints_of(page)
        first_page(page, members)
        press(page.get_by_role("main").get_by_role("link", name="shared", exact=True).first)
        press(page.get_by_role("navigation", name="Ask for").get_by_role("link", name="Balance"))
        press(page.locator("summary", has_text="How"))
        write(page, "Throttle", "1MB")  # slow, so that there is something to pause
        plan_with_moves(page)
        expect(page.get_by_role("heading", name="Moves, and why")).to_be_visible()
        write(page, "Your name", "ann")
        write(page, "Why", "brokers are uneven")
        press(page.get_by_role("button", name="Keep as draft"))
        state_is(page, TicketState.DRAFT)
        write(page, "Your name", "ann")
        press(page.get_by_role("button", name="Submit", exact=True))
        state_is(page, TicketState.PENDING)

        act(page, "Approve", "bob")
        state_is(page, TicketState.RUNNING)
        act(page, "Pause", "bob", "lunch")
        state_is(page, TicketState.PAUSED)
        act(page, "Resume", "bob")
        state_is(page, TicketState.RUNNING)
        page.get_by_label("Bytes per second per broker, such as 20MB").fill("50MB")
        page.get_by_role("button", name="Set throttle").click()
        state_is(page, TicketState.SUCCEEDED)
        expect(page.locator("#history")).to_contain_text("lunch")

        ticket_id = page.url.rpartition("/")[2]
        page.get_by_role("link", name="Measured beside predicted").click()
        expect(page.get_by_role("table").first).to_contain_text("Predicted")
        expect(page.get_by_role("cell", name=re.compile(r"[\d.]+ %|MB")).first).to_be_visible()
        page.get_by_role("link", name="The ticket", exact=True).click()
        act(page, "Roll back", "ann")
        state_is(page, TicketState.ROLLED_BACK)
        assert said == []
    history = who_did_what(members, ticket_id)
    for wanted in (
        (TicketState.PENDING, "ann"),
        (TicketState.APPROVED, "bob"),
        (TicketState.PAUSED, "bob"),
    ):
        assert wanted in history


def test_from_a_broker_on_a_phone(chromium: Browser, members: Federation, workload: Path) -> None:
    assert workload
    with window(chromium, size=PHONE) as context:
        page = context.new_page()
        said = complaints_of(page)
        first_page(page, members)
        fits(page)
        page.get_by_role("main").get_by_role("link", name="shared", exact=True).first.click()
        page.wait_for_url(re.compile("/clusters/shared$"))
        fits(page)
        page.goto(f"{page.url}/brokers/1")
        page.get_by_role("link", name="Move its leaders").click()
        expect(page.get_by_label("Away from")).to_have_value("1")
        fits(page)
        page.get_by_role("button", name="Make the plan").click()
        ask = page.get_by_role("button", name="Ask for approval")
        expect(ask).to_be_visible()
        fits(page)
        page.get_by_label("Your name").fill("ann")
        ask.click()
        state_is(page, TicketState.PENDING)
        fits(page)
        act(page, "Approve", "bob")
        state_is(page, TicketState.SUCCEEDED)
        fits(page)
        page.get_by_role("link", name="Measured beside predicted").click()
        expect(page.get_by_role("table").first).to_contain_text("Predicted")
        fits(page)
        page.get_by_role("link", name="The ticket", exact=True).click()
        act(page, "Roll back", "ann")
        state_is(page, TicketState.ROLLED_BACK)
        fits(page)
        assert said == []


class Terminal:
    """A person at a command line, who knows nothing but what commands print. Commands end with 0, or the test does."""

    def __init__(self, guardian: Cli, members: Federation, monkeypatch: pytest.MonkeyPatch) -> None:
        self._guardian = guardian
        self._members = members
        self._monkeypatch = monkeypatch

    def run(self, *words: str, who: str = "ann") -> str:
        self._monkeypatch.setenv("LOGNAME", who)
        done = self._guardian(self._members, *words)
        assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
        return done.stdout

    def becomes(self, ticket_id: str, state: TicketState) -> None:
        until(lambda: json.loads(self.run("ticket", "show", ticket_id, "-o", "json"))["ticket"]["state"] == state.name)


def test_by_the_command_line_alone_to_succeeded_and_back(
    guardian: Cli, members: Federation, workload: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert workload
    terminal = Terminal(guardian, members, monkeypatch)
    assert "shared" in terminal.run("cluster", "list")
    assert "shared" in terminal.run("cluster", "show", "shared")
    before = spreads(dry_plan_that_shows(guardian, members, is_uneven))
    monkeypatch.setenv("LOGNAME", "ann")
    made = plan_that_moves(guardian, members, "--throttle", "1MB")
    ticket_id = next(word for word in made.stdout.split() if word.startswith("t-"))
    assert "DRAFT" in terminal.run("ticket", "list")
    terminal.run("ticket", "submit", ticket_id, "--reason", "brokers are uneven")
    terminal.run("ticket", "approve", ticket_id, who="bob")
    terminal.becomes(ticket_id, TicketState.RUNNING)
    terminal.run("ticket", "pause", ticket_id, "--reason", "lunch", who="bob")
    terminal.becomes(ticket_id, TicketState.PAUSED)
    terminal.run("ticket", "resume", ticket_id, who="bob")
    terminal.run("ticket", "throttle", ticket_id, "50MB")
    assert "SUCCEEDED" in terminal.run("ticket", "watch", ticket_id)
    dry_plan_that_shows(guardian, members, lambda now: now[0] <= before[0] / 2 and now[1] <= before[1] / 2)

    terminal.run("ticket", "rollback", ticket_id, "--reason", "it was better before")
    assert "ROLLED_BACK" in terminal.run("ticket", "watch", ticket_id)
    told = json.loads(terminal.run("ticket", "show", ticket_id, "-o", "json"))["ticket"]
    by_whom = [(past["state"], past["actor"]) for past in told["history"]]
    for wanted in (
        ("DRAFT", "ann"),
        ("PENDING", "ann"),
        ("APPROVED", "bob"),
        ("PAUSED", "bob"),
        ("ROLLING_BACK", "ann"),
    ):
        assert wanted in by_whom

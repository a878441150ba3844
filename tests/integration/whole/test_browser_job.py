"""The main job in a browser, on real brokers: from the first page to SUCCEEDED, measured beside predicted, and back.

The same by the command line alone: test_main_job.py.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from deploy.local.federation import Federation
from guardian.client import GuardianClient
from guardian.model.ticket import TicketState
from tests.integration.browser import DEADLINE_MS, PHONE, chromium_browser, complaints_of, window
from tests.integration.whole.test_main_job import members, workload
from tests.patience import CALL_S, PATIENCE_S

__all__ = ["members", "workload"]
pytestmark = [pytest.mark.integration, pytest.mark.long]

expect.set_options(timeout=DEADLINE_MS)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with chromium_browser() as browser:
        yield browser


def plan_with_moves(page: Page) -> None:
    """Ask from the form that is open until the samples show that something is uneven."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        page.get_by_role("button", name="Make the plan").press("Enter")
        page.wait_for_url(re.compile("/plans/asked/"))
        answered = page.get_by_role("link", name="Change what is asked for")
        expect(answered).to_be_visible()
        if page.get_by_role("button", name="Ask for approval").count():
            return
        assert time.monotonic() < deadline, page.locator("#content").inner_text()
        time.sleep(2)
        answered.click()


def state_is(page: Page, state: TicketState) -> None:
    expect(page.locator("#state")).to_contain_text(state.name)


def act(page: Page, name: str, who: str) -> None:
    page.get_by_label("Your name").fill(who)
    page.get_by_role("button", name=name, exact=True).press("Enter")


def test_from_the_first_page_to_succeeded_and_back(chromium: Browser, members: Federation, workload: Path) -> None:
    assert workload
    with window(chromium, size=PHONE) as context:
        page = context.new_page()
        said = complaints_of(page)
        page.goto(f"{members.members[0].url}/console/")
        page.get_by_role("main").get_by_role("link", name="shared", exact=True).first.click()
        page.get_by_role("navigation", name="Ask for").get_by_role("link", name="Balance").click()
        page.get_by_text("How", exact=True).click()
        page.get_by_label("Throttle").fill("20MB")
        plan_with_moves(page)
        expect(page.get_by_role("heading", name="Moves, and why")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE[0]

        page.get_by_label("Why").fill("brokers are uneven")
        act(page, "Ask for approval", "ann")
        state_is(page, TicketState.PENDING)
        act(page, "Approve", "bob")
        state_is(page, TicketState.SUCCEEDED)

        page.get_by_role("link", name="Measured beside predicted").click()
        expect(page.get_by_role("table").first).to_contain_text("Predicted")
        expect(page.get_by_role("cell", name=re.compile(r"[\d.]+ %|MB/s")).first).to_be_visible()
        page.get_by_role("link", name="The ticket", exact=True).click()
        act(page, "Roll back", "ann")
        state_is(page, TicketState.ROLLED_BACK)
        assert said == []
    with GuardianClient(members.endpoints, timeout_s=CALL_S) as client:
        (ticket,) = client.tickets()
        history = [(past.state, past.actor) for past in client.ticket(ticket.id)[0].history]
    assert (TicketState.PENDING, "ann") in history
    assert (TicketState.APPROVED, "bob") in history

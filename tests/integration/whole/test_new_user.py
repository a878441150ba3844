"""A new user, with what the README and its start page say: looks around, understands a dry run, makes a ticket,
approves it in the console and watches it to its end. The CLI is that of an operator, the browser is Chromium.

The cluster and its uneven traffic are those of the main job's test, so that this takes a minute and not five.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from deploy.local.federation import Federation
from guardian.client import GuardianClient
from guardian.model.ticket import TicketState
from tests.integration.browser import DEADLINE_MS, chromium_browser, complaints_of, window
from tests.integration.whole.test_main_job import members, plan_that_moves, workload
from tests.patience import CALL_S

__all__ = ["members", "workload"]  # fixtures

pytestmark = pytest.mark.integration

Cli = Callable[..., subprocess.CompletedProcess[str]]
ROOT = Path(__file__).parents[3]
TOLD = (ROOT / "README.md").read_text() + (ROOT / "docs" / "start.md").read_text()

expect.set_options(timeout=DEADLINE_MS)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with chromium_browser() as browser:
        yield browser


def told(command: str) -> tuple[str, ...]:
    """The command's words, if the documents name it: whoever changes one of both is told."""
    assert f"guardian {command}" in TOLD, f"neither the README nor docs/start.md says `guardian {command}`"
    return tuple(command.split())


def test_a_new_user_finds_the_way(
    guardian: Cli,
    members: Federation,
    workload: Path,
    chromium: Browser,
) -> None:
    # Look around.
    assert "shared" in guardian(members, *told("cluster list")).stdout
    assert guardian(members, *told("status")).returncode == 0
    assert "console" in TOLD
    console = f"http://{members.members[0].http}/"

    # A dry run that says why.
    dry = plan_that_moves(guardian, members, "--dry-run")
    assert told("plan balance")
    assert "Hard goals kept" in dry.stdout
    with GuardianClient(members.endpoints, timeout_s=CALL_S) as client:
        assert client.tickets() == (), "nothing is stored"

    # The same as a draft; from here on in the console.
    made = plan_that_moves(guardian, members, "--throttle", "20MB")
    ticket_id = next(word for word in made.stdout.split() if re.fullmatch(r"t-[0-9a-f]{8}", word))
    with window(chromium) as context:
        page = context.new_page()
        said = complaints_of(page)
        page.goto(console)
        expect(page.get_by_role("link", name="shared").first).to_be_visible()
        page.get_by_role("navigation", name="Main").get_by_role("link", name="Tickets").click()
        page.get_by_role("link", name=ticket_id).click()
        expect(page.locator("#state")).to_contain_text("DRAFT")

        page.get_by_role("link", name="The plan").click()
        expect(page.locator("#brokers figcaption")).to_contain_text("spread")
        expect(page.locator("#moves")).to_contain_text("above the mean")
        page.get_by_role("link", name="The ticket").click()

        page.get_by_label("Your name").fill("newcomer")
        page.get_by_label("Why", exact=True).fill("the dry run looks right")
        page.get_by_role("button", name="Submit").click()
        expect(page.locator("#state")).to_contain_text("PENDING")
        page.get_by_role("button", name="Approve").click()
        # Watched: what comes next is seen without a click.
        expect(page.locator("#state")).to_contain_text("SUCCEEDED")
        expect(page.locator('[data-figure="percent"]')).to_have_text("100 %")
        expect(page.locator("#history")).to_contain_text("newcomer")
        expect(page.locator("#burn .canvas canvas").first).to_be_attached()
        expect(page.get_by_role("button", name="Roll back")).to_be_visible()
        assert said == []
    with GuardianClient(members.endpoints, timeout_s=CALL_S) as client:
        assert [ticket.state for ticket in client.tickets()] == [TicketState.SUCCEEDED]

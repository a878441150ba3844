"""The console on a phone: each page is as wide as the screen, what is wider is scrolled in its card."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route

from guardian.client import GuardianClient
from guardian.health.model.finding import FindingKind
from guardian.model.plan import LoadSummary, Plan
from protos.guardian.v1 import insight_pb2 as pb
from tests.integration.browser import PHONE, chromium_browser, settled, window
from tests.patience import until
from tests.unit.console.site import Site, site
from tests.unit.console.test_pages import PATHS
from tests.unit.member.member import plan

pytestmark = pytest.mark.integration

ORIGIN = "http://guardian.test"
NOT_OF_THE_BODY = {"content-encoding", "content-length", "transfer-encoding"}


def serve(page: Page, console: Site) -> None:
    """Answer what the page asks for from the console in this process."""

    def answer(route: Route) -> None:
        request = route.request
        if request.resource_type == "eventsource":  # it would not end
            route.abort()
            return
        found = console.browser.get(request.url.removeprefix(ORIGIN), headers=request.headers)
        headers = {name: value for name, value in found.headers.items() if name not in NOT_OF_THE_BODY}
        route.fulfill(status=found.status_code, headers=headers, body=found.content)

    page.route("**/*", answer)


def widest(page: Page) -> str:
    """Return what reaches farthest to the right of the screen without being scrolled in something."""
    return str(
        page.evaluate(
            """() => [...document.querySelectorAll('main *')]
            .filter((one) => !one.parentElement.closest('.rows, .canvas, .unseen'))
            .filter((one) => one.getBoundingClientRect().right > innerWidth)
            .map((one) => `${one.tagName} ${one.className}`).slice(0, 5).join(', ')"""
        )
    )


def with_findings(console: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the cluster a finding whose table is wider than a phone."""
    topic = "topic orders.of.a.very.long.name.that.goes.on.and.on.without.any.space"
    finding = pb.Finding(
        kind=pb.FindingKind.Name(FindingKind.UNDER_MIN_ISR.value), cluster="live", subject=topic, evidence="why " * 30
    )
    report = pb.FindingsReport(findings=[finding])
    monkeypatch.setattr(console.client, "findings", lambda *_: report)


def talkative_plan() -> Plan:
    """Return a plan whose sentences and names are longer than a phone is wide."""
    long = "log dir 3:/mnt/disks/of.a.very.long.name/kafka-logs of broker 3 keeps more than it was asked to " * 2
    moves = tuple(replace(move, reason=long, goal="disk_usage") for move in plan(2, 1).moves)
    loads = tuple(
        LoadSummary(broker, log_dir, 3e6 * broker, 5e6, "disk_io")
        for broker in (1, 2, 3)
        for log_dir in ("", "/mnt/disks/of.a.very.long.name/kafka-logs")
    )
    return Plan("live", "balance", moves, loads=loads, notes=(long,), unmet=(long,), input=long)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with chromium_browser() as browser:
        yield browser


def test_every_page_is_as_wide_as_a_phone(chromium: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with site(tmp_path) as console, window(chromium, size=PHONE) as context:
        with_findings(console, monkeypatch)
        page = context.new_page()
        serve(page, console)
        for path in PATHS:
            page.goto(ORIGIN + path)
            settled(page)
            width = page.evaluate("document.documentElement.scrollWidth")
            assert width <= PHONE[0], f"{path} is {width} px wide: {widest(page)}"


@pytest.mark.long
def test_a_plan_and_its_ticket_are_as_wide_as_a_phone(
    chromium: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(GuardianClient, "make_plan", lambda *_: talkative_plan())
    with site(tmp_path) as console, window(chromium, size=PHONE) as context:
        ticket, _ = console.client.create_ticket(talkative_plan(), author="ann", throttle=10_000_000)
        asked = console.browser.post("/console/clusters/live/ask/balance", follow_redirects=False).headers["location"]
        until(lambda: "aria-busy" not in console.page(asked))
        page = context.new_page()
        serve(page, console)
        of_ticket = f"/console/tickets/{ticket.id}"
        parts = ("", "/plan", "/measured")
        for path in (asked, *(of_ticket + part for part in parts), "/console/tickets", "/console/plans"):
            page.goto(ORIGIN + path)
            settled(page)
            width = page.evaluate("document.documentElement.scrollWidth")
            assert width <= PHONE[0], f"{path} is {width} px wide: {widest(page)}"

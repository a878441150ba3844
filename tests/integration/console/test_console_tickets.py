"""Tickets and plans in a real browser: live while they run, acted upon by keyboard, without JavaScript too.

The member's console, executor, gRPC and HTTP are real; the cluster is in memory, so that a ticket takes as long as a
test needs (tests.bench.console.stand).
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pytest
from playwright.sync_api import APIResponse, Browser, Page, Route, expect

from guardian.client import GuardianClient
from guardian.model.plan import PartitionMove, Plan, ReplicaPlacement
from guardian.model.ticket import TicketState
from guardian.model.topology import TopicPartition
from tests.integration.browser import DEADLINE_MS, chromium_browser, complaints_of, window
from tests.patience import CALL_S, PATIENCE_S

pytestmark = pytest.mark.integration

PARTITIONS = 120
FILE = '{"version": 1, "partitions": [{"topic": "t", "partition": 0, "replicas": [3, 2]}]}'

expect.set_options(timeout=DEADLINE_MS)


@dataclass(frozen=True)
class Stand:
    http: str
    grpc: str
    ticket: str

    @property
    def page(self) -> str:
        return f"{self.http}/console/tickets/{self.ticket}"


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with chromium_browser() as browser:
        yield browser


@pytest.fixture
def stand() -> Iterator[Stand]:
    """A ticket that runs for a long while."""
    command = [sys.executable, "-m", "tests.bench.console.stand", "--partitions", str(PARTITIONS), "--seconds", "3600"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield Stand(**json.loads(process.stdout.readline()))
    finally:
        process.terminate()
        process.wait(PATIENCE_S)


def number(text: str) -> float:
    """3.1 GB of 12 GB: the first."""
    units = {"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}
    found = re.match(r"([\d.]+) (\w+)", text)
    assert found, text
    return float(found[1]) * units[found[2]]


def drawn(page: Page, figure: str) -> None:
    """A chart has been drawn: it has a canvas or an image of its own."""
    expect(page.locator(f"#{figure} .canvas").locator("canvas, svg").first).to_be_attached()


def test_a_page_is_live_and_what_is_done_is_seen(chromium: Browser, stand: Stand) -> None:
    with window(chromium) as context:
        page = context.new_page()
        said = complaints_of(page)
        page.goto(stand.page)
        drawn(page, "burn")
        copied = page.locator('[data-figure="copied"]')
        before = number(copied.inner_text())
        page.wait_for_function(
            "before => document.querySelector('[data-figure=\"copied\"]').textContent !== before",
            arg=copied.inner_text(),
        )
        assert number(copied.inner_text()) > before, "without a reload"
        expect(page.locator('[data-figure="eta"]')).to_have_text(re.compile(r"\d+ (s|min|h|d)"))
        expect(page.locator("#tasks")).to_contain_text("waits for a slot: into broker 3 has none left")

        # A second page of the same ticket hears of what is done in the first.
        other = context.new_page()
        other.goto(stand.page)
        page.get_by_label("Your name").fill("carol")
        page.get_by_label("Why", exact=True).fill("the evening peak")
        page.get_by_role("button", name="Pause").click()
        expect(page.locator("#state")).to_contain_text("PAUSED")
        expect(page.locator("#history")).to_contain_text("the evening peak")
        expect(other.locator("#state")).to_contain_text("PAUSED")
        expect(other.get_by_role("button", name="Resume")).to_be_visible()

        page.get_by_label("Bytes per second per broker").fill("20MB")
        page.get_by_role("button", name="Set throttle").click()
        expect(page.locator("#head")).to_contain_text("20.0 MB/s per broker")
        assert page.get_by_label("Your name").input_value() == "carol", "it is remembered"
        page.get_by_role("button", name="Resume").click()
        expect(page.locator("#state")).to_contain_text("RUNNING")
        page.get_by_role("button", name="Cancel").click()
        expect(page.locator("#state")).to_contain_text(re.compile("CANCELL"))
        expect(other.locator("#state")).to_contain_text("CANCELLED")
        assert said == []
    with GuardianClient([stand.grpc], timeout_s=CALL_S) as client:
        history = client.ticket(stand.ticket)[0].history
    assert ("carol", "the evening peak") in [(past.actor, past.reason) for past in history]


def awaited(page: Page, asked: Sequence[object]) -> None:
    """The page has asked for itself."""
    deadline = time.monotonic() + DEADLINE_MS / 1000
    while not asked:
        assert time.monotonic() < deadline
        page.wait_for_timeout(50)


def test_what_changes_while_a_page_awaits_its_parts_is_seen(chromium: Browser, stand: Stand) -> None:
    with window(chromium) as context, GuardianClient([stand.grpc]) as client:
        page = context.new_page()
        page.goto(stand.page)
        asked: list[tuple[Route, APIResponse]] = []
        is_held = True

        def answer_later(route: Route) -> None:
            if is_held:
                asked.append((route, route.fetch()))
            else:
                route.continue_()

        page.route(f"**/{stand.ticket}", answer_later)
        client.pause(stand.ticket, "dave", "by somebody else")
        expect(page.locator("#said")).to_have_text("The ticket is PAUSED now")
        awaited(page, asked)
        client.resume(stand.ticket, "dave")
        expect(page.locator("#said")).to_have_text("The ticket is RUNNING now")
        is_held = False
        for route, answer in asked:
            route.fulfill(response=answer)
        expect(page.locator("#history")).to_contain_text("by somebody else")
        expect(page.locator("#history tbody tr").first).to_contain_text("RUNNING")
        expect(page.locator("#state")).to_contain_text("RUNNING")
        page.unroute(f"**/{stand.ticket}")
        # An answer that is an error takes nothing away, and is asked for again.
        refused: list[Route] = []

        def refuse(route: Route) -> None:
            refused.append(route)
            route.fulfill(status=503, body="nobody leads")

        page.route(f"**/{stand.ticket}", refuse)
        client.pause(stand.ticket, "dave", "once more")
        awaited(page, refused)
        page.unroute(f"**/{stand.ticket}")
        expect(page.get_by_role("button", name="Resume")).to_be_visible()


def submitted(client: GuardianClient) -> str:
    """A second ticket, which waits for approval."""
    move = PartitionMove(TopicPartition("orders", 1), (), (ReplicaPlacement(2), ReplicaPlacement(1)))
    return client.create_ticket(Plan("live", "leaders", (move,)), author="ann", submit=True)[0].id


def test_a_ticket_that_begins_loads_the_page_only_once_nobody_types(chromium: Browser, stand: Stand) -> None:
    with window(chromium) as context, GuardianClient([stand.grpc], timeout_s=CALL_S) as client:
        ticket_id = submitted(client)
        page = context.new_page()
        page.goto(f"{stand.http}/console/tickets/{ticket_id}")
        page.get_by_label("Why", exact=True).fill("not at noon")
        client.cancel(stand.ticket, "ann", "it is in the way")
        client.approve(ticket_id, "bob", "quiet hour")
        expect(page.locator("#said")).to_have_text(re.compile("The ticket is (APPROVED|RUNNING|SUCCEEDED) now"))
        page.get_by_label("Why", exact=True).blur()
        expect(page.locator("#state")).to_contain_text(re.compile("RUNNING|SUCCEEDED"))
        assert page.locator("#burn").count() == 0
        assert page.get_by_label("Why", exact=True).input_value() == "not at noon"
        page.get_by_label("Why", exact=True).fill("")
        page.get_by_label("Why", exact=True).blur()
        drawn(page, "burn")


def test_a_page_that_says_what_was_refused_is_live_too(chromium: Browser, stand: Stand) -> None:
    with window(chromium) as context, GuardianClient([stand.grpc], timeout_s=CALL_S) as client:
        ticket_id = submitted(client)
        page = context.new_page()
        page.goto(f"{stand.http}/console/tickets/{ticket_id}")
        page.get_by_label("Your name").fill("ann")
        page.get_by_label("Bytes per second per broker").fill("plenty")
        page.get_by_role("button", name="Set throttle").click()
        expect(page.get_by_role("alert")).to_contain_text("plenty")
        client.reject(ticket_id, "bob", "not at noon")
        expect(page.locator("#state")).to_contain_text("REJECTED")
        expect(page.locator("#history")).to_contain_text("not at noon")
        assert page.url.endswith(ticket_id), "loaded again, nothing is asked for once more"


def test_what_is_typed_stays_when_the_page_is_renewed(chromium: Browser, stand: Stand) -> None:
    """Also what is typed between the page's asking for a part and the answer."""
    with window(chromium) as context, GuardianClient([stand.grpc], timeout_s=CALL_S) as client:
        page = context.new_page()
        page.goto(stand.page)
        asked: list[Route] = []

        def hold_back(route: Route) -> None:
            asked.append(route)

        page.route(f"**/{stand.ticket}", hold_back)
        client.pause(stand.ticket, "dave", "by somebody else")
        awaited(page, asked)
        page.get_by_label("Bytes per second per broker").fill("20MB")
        page.get_by_label("The most that it may rise to").fill("40MB")
        for route in asked:
            route.continue_()
        page.unroute(f"**/{stand.ticket}")
        expect(page.locator("#state")).to_contain_text("PAUSED")
        expect(page.get_by_label("The most that it may rise to")).to_be_focused()
        expect(page.get_by_role("button", name="Pause")).to_be_visible()
        # Once nobody types the part is asked for again, and what was typed is still there.
        page.get_by_label("The most that it may rise to").blur()
        expect(page.get_by_role("button", name="Resume")).to_be_visible()
        assert page.get_by_label("Bytes per second per broker").input_value() == "20MB"
        assert page.get_by_label("The most that it may rise to").input_value() == "40MB"
        page.get_by_label("Your name").fill("carol")
        page.get_by_role("button", name="Set throttle").click()
        expect(page.locator("#head")).to_contain_text("20.0 MB/s per broker")


def test_a_list_is_live_and_is_reached_by_keyboard(chromium: Browser, stand: Stand) -> None:
    with window(chromium, dark=True) as context:
        page = context.new_page()
        said = complaints_of(page)
        page.goto(f"{stand.http}/console/tickets")
        expect(page.get_by_role("link", name=stand.ticket)).to_be_visible()
        with GuardianClient([stand.grpc], timeout_s=CALL_S) as client:
            client.pause(stand.ticket, "dave", "by somebody else")
        expect(page.locator("#tickets-list")).to_contain_text("PAUSED")
        expect(page.locator("#tickets-list")).to_contain_text("by somebody else")
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
        for _ in range(60):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.textContent") == stand.ticket:
                break
        # The list is renewed while the ticket copies: the keyboard stays where it is.
        page.evaluate("() => { window.before = document.activeElement; }")
        with GuardianClient([stand.grpc], timeout_s=CALL_S) as client:
            client.resume(stand.ticket, "dave")
            page.wait_for_function("() => !window.before.isConnected")
            assert page.evaluate("document.activeElement.textContent") == stand.ticket
            client.pause(stand.ticket, "dave", "by somebody else")
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline != "none", "one sees where one is"
        page.keyboard.press("Enter")
        page.wait_for_url(f"**/{stand.ticket}")
        # Enter in a field does nothing by itself: no ticket is resumed by a slip of the hand.
        page.get_by_label("Why", exact=True).press("Enter")
        with GuardianClient([stand.grpc], timeout_s=CALL_S) as client:
            assert client.ticket(stand.ticket)[0].state is TicketState.PAUSED
        assert said == []


def test_a_plan_is_handed_in_drawn_and_becomes_a_ticket(chromium: Browser, stand: Stand) -> None:
    with window(chromium) as context:
        page = context.new_page()
        said = complaints_of(page)
        page.goto(f"{stand.page}/plan")
        drawn(page, "brokers")
        drawn(page, "flow-brokers")
        page.get_by_role("button", name="Leaders of what moves").click()
        expect(page.locator("#brokers figcaption")).to_contain_text("Leaders of what moves")
        page.goto(f"{stand.http}/console/plans")
        page.get_by_label("Cluster", exact=True).select_option("live")
        page.get_by_label("Plan", exact=True).fill("{")
        page.get_by_role("button", name="Check and show").click()
        expect(page.get_by_role("alert")).to_contain_text("is not JSON at line 1")
        page.get_by_label("Plan", exact=True).fill(FILE)
        page.get_by_label("Your name").fill("frank")
        page.get_by_role("button", name="Check and show").click()
        drawn(page, "brokers")
        expect(page.locator("#moves")).to_contain_text("t-0")
        with GuardianClient([stand.grpc], timeout_s=CALL_S) as client:
            assert len(client.tickets()) == 1, "nothing is stored"
            page.get_by_role("button", name="Ask for approval").click()
            expect(page.locator("#state")).to_contain_text("PENDING")
            assert {ticket.author for ticket in client.tickets()} == {"ann", "frank"}
        assert [entry for entry in said if "the server responded" not in entry] == []


def test_a_page_that_is_still_being_read_leaves_what_is_typed(chromium: Browser, stand: Stand) -> None:
    where = f"{stand.http}/console/clusters/live/topics"

    def still_read(route: Route) -> None:
        """The page as it is before its look has ended: with an element that asks for it again."""
        answer = route.fetch()
        again = f'<div hx-get="{where}" hx-trigger="load delay:1s" hx-target="#content"></div>'
        start = "" if "hx-request" in route.request.headers else '<div id="content">'
        route.fulfill(response=answer, body=answer.text().replace(start, f"{start}{again}", 1))

    with window(chromium) as context:
        page = context.new_page()
        page.route(where, still_read)
        page.goto(where)
        search = page.get_by_role("searchbox").last
        page.evaluate("() => document.addEventListener('htmx:afterRequest', () => { window.answers += 1; })")
        search.fill("orders")
        page.evaluate("() => { window.answers = 0; }")
        page.wait_for_function("() => window.answers > 0")
        assert search.input_value() == "orders"
        expect(search).to_be_focused()
        search.fill("")
        search.blur()
        page.evaluate("() => { window.before = document.querySelector('#content').firstElementChild; }")
        page.wait_for_function("() => !window.before.isConnected")
        expect(search).to_be_visible()


def test_forms_work_without_javascript(chromium: Browser, stand: Stand) -> None:
    with window(chromium, scripts=False) as context:
        page = context.new_page()
        page.goto(f"{stand.http}/console/tickets")
        page.get_by_role("link", name=stand.ticket).click()
        page.get_by_label("Your name").fill("erin")
        page.get_by_role("button", name="Pause").click()
        expect(page.locator("#state")).to_contain_text("PAUSED")
        page.get_by_label("State").select_option("PENDING")
        page.get_by_role("button", name="Show").click()
        expect(page.locator("#tasks tbody")).to_contain_text("waits for a slot: into broker 3 has none left")
        expect(page.locator("#tasks tbody")).not_to_contain_text("RUNNING")

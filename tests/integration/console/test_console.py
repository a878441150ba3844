"""The console in a real browser, over a member and a simulated fleet: found through by keyboard, readable in light and
dark, drawn without a complaint, and of use without scripts."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from deploy.local import answering, ports, processes
from deploy.local.fleet.listening import SimulatedKafka
from deploy.local.fleet.model import BrokerModel
from deploy.local.fleet.run import clusters_of
from deploy.local.fleet.shape import FleetSpec, fleet
from deploy.local.members import Member, plan_members, start_member, wait_ready
from guardian.client import GuardianClient
from guardian.model.federation import Entry, Machine, Tenant, Topic
from guardian.model.wire.entries import entry_to_proto
from protos.guardian.v1 import federation_pb2 as pb
from tests.integration.browser import chromium_browser, complaints_of, settled, window
from tests.integration.collection.test_fleet import rounds_of
from tests.patience import CALL_S, wait_for
from tests.simulated import served

pytestmark = pytest.mark.integration

# Text and its background, as WCAG 2 asks of normal text.
LEAST_CONTRAST = 4.5
CONTRASTS = """() => {
  const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const parsed = (colour) => {
    canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a];
  };
  const light = ([r, g, b]) => {
    const linear = (part) => (part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
    const [x, y, z] = [r, g, b].map((part) => linear(part / 255));
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = parsed(getComputedStyle(at).backgroundColor);
      if (colour[3] === 255) return colour;
    }
    return [255, 255, 255, 255];
  };
  const found = [];
  for (const element of document.querySelectorAll('body *')) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    if (!own || !element.checkVisibility() || element.closest('.unseen, .skip, canvas, .u-legend')) continue;
    const [a, b] = [light(parsed(getComputedStyle(element).color)), light(behind(element))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    const words = `${element.tagName} .${element.className} "${element.textContent.trim().slice(0, 30)}"`;
    if (ratio < LEAST) found.push(`${words}: ${ratio.toFixed(2)}`);
  }
  return [...new Set(found)].slice(0, 10);
}"""


@dataclass(frozen=True, slots=True)
class Console:
    """`url` is that of the member's HTTP port."""

    url: str
    member: Member

    def at(self, path: str) -> str:
        return f"{self.url}/console/{path}"


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    """A member that has collected two rounds of a fleet of 60 brokers in 3 clusters."""
    home = tmp_path_factory.mktemp("console")
    group = plan_members(1, home)
    member = start_member(group[0], group, home / "lake", home / "g1.log")
    running = None
    try:
        wait_ready([member])
        running = processes.spawn(_fleet(member), home / "fleet.log")
        wait_for("the fleet is collected twice", lambda: rounds_of(home / "lake", 60) >= 2, every_s=0.5)
        _name_things(member)
        yield Console(member.url, member)
    finally:
        processes.stop_all([each for each in (running, member.process) if each])


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with chromium_browser() as browser:
        yield browser


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    with window(chromium) as context:
        yield context.new_page()


PATHS = (
    "",
    "clusters/sim-1",
    "clusters/sim-1/activity?of=disks",
    "clusters/sim-1/brokers",
    "clusters/sim-1/brokers/1",
    "clusters/sim-1/disks",
    "clusters/sim-1/topics",
    "clusters/sim-1/durability",
    "tenants",
    "tenants/pay",
    "machines",
    "findings",
    "members",
    "audit",
)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_page_is_readable_and_breaks_no_rule(console: Console, chromium: Browser, theme: str) -> None:
    with window(chromium, dark=theme == "dark") as context:
        page = context.new_page()
        said = complaints_of(page)
        for path in PATHS:
            answer = page.goto(console.at(path))
            assert answer is not None
            assert answer.status == 200, path
            settled(page)
            assert page.evaluate(CONTRASTS.replace("LEAST", str(LEAST_CONTRAST))) == [], f"{theme}: {path}"
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"{path} is too wide"
            if os.environ.get("GUARDIAN_SCREENSHOTS"):
                name = path.split("?", maxsplit=1)[0].replace("/", "-") or "federation"
                page.screenshot(path=Path(os.environ["GUARDIAN_SCREENSHOTS"]) / f"{name}-{theme}.png")
        assert said == []


def test_a_console_is_walked_through_by_keyboard_alone(console: Console, page: Page) -> None:
    page.goto(console.at(""))
    settled(page)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("location.hash") == "#main"
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "find"
    page.keyboard.type("sim-2")
    page.keyboard.press("Enter")
    page.wait_for_url("**/clusters/sim-2")
    # Each stop is seen: its outline is drawn.
    for _ in range(12):
        page.keyboard.press("Tab")
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline != "none", page.evaluate("document.activeElement.outerHTML")


def test_lists_are_searched_sorted_and_turned_over(console: Console, page: Page) -> None:
    page.goto(console.at("clusters/sim-1/brokers?size=15"))
    settled(page)
    assert page.locator("tbody tr").count() == 15
    page.get_by_role("link", name="Next").click()
    page.wait_for_url("**page=2**")
    page.get_by_label("Number, rack, data centre, label or state").fill("shanghai")
    page.get_by_role("button", name="Search").click()
    page.wait_for_url("**q=shanghai**")
    assert set(page.locator("tbody tr td:nth-child(2)").all_inner_texts()) == {"shanghai"}
    page.get_by_role("link", name="Bytes in").click()
    page.wait_for_url("**sort=in**")
    assert page.locator("th[aria-sort=ascending]").inner_text().startswith("Bytes in")


def test_the_heat_map_is_drawn_and_leads_to_a_broker(console: Console, page: Page) -> None:
    page.goto(console.at("clusters/sim-1"))
    settled(page)
    canvas = page.locator("#heat canvas")
    canvas.scroll_into_view_if_needed()
    colours = page.evaluate(
        """() => { const one = document.querySelector('#heat canvas');
        const data = one.getContext('2d').getImageData(0, 0, one.width, one.height).data;
        const seen = new Set();
        for (let i = 0; i < data.length; i += 4) if (data[i + 3]) seen.add(data.slice(i, i + 3).join());
        return seen.size; }"""
    )
    assert colours > 2
    box = canvas.bounding_box()
    assert box is not None
    canvas.hover(position={"x": box["width"] - 6, "y": 6})
    assert "UTC" in page.locator("#heat .heat-label").inner_text()
    page.get_by_label("Show").select_option("bytes_in")
    page.get_by_role("heading", name="Bytes in of sim-1").wait_for()
    settled(page)
    page.locator("#heat canvas").click(position={"x": box["width"] - 6, "y": 6})
    page.wait_for_url("**/clusters/sim-1/brokers/*")


def test_without_scripts_there_are_the_same_tables_and_links_for_the_rest(console: Console, chromium: Browser) -> None:
    with window(chromium, scripts=False) as context:
        page = context.new_page()
        page.goto(console.at("clusters/sim-1"))
        page.get_by_role("link", name="What is under-replicated, and how safe the data is").click()
        page.wait_for_url("**/durability")
        assert page.get_by_role("heading", name="How safe the data is").is_visible()
        assert page.locator("#content .note.warn").count() == 0
        assert page.get_by_text("Under-replicated partitions").is_visible()
        assert page.locator("tbody tr").count() > 10
        page.get_by_role("link", name="Brokers", exact=True).click()
        assert page.locator("tbody tr").count() == 20
        page.get_by_role("link", name="Switch between light and dark").click()
        assert page.locator("html").get_attribute("data-theme") == "dark"
        page.get_by_label("Find a cluster, broker, topic or ticket").fill("pay")
        page.get_by_label("Find a cluster, broker, topic or ticket").press("Enter")
        page.wait_for_url("**/tenants/pay")


def test_the_board_and_a_clusters_page_tell_by_themselves_of_a_broker_that_died(
    console: Console, chromium: Browser
) -> None:
    shape = fleet(FleetSpec(30, 20, 5, base_port=ports.pick_pair()))[4]
    kafka = SimulatedKafka(shape)
    reporters = [BrokerModel(shape, position) for position in range(len(shape.brokers))]
    row = f'() => [...document.querySelectorAll("#clusters tr")].find((one) => one.innerText.includes("{shape.name}"))'
    with served(kafka, reporters), window(chromium) as context:
        with GuardianClient([console.member.grpc], timeout_s=CALL_S) as client:
            answering.register(client, clusters_of([shape])[0])
        board, cluster = context.new_page(), context.new_page()
        said = [complaints_of(board), complaints_of(cluster)]
        board.goto(console.at(""))
        cluster.goto(console.at(f"clusters/{shape.name}"))
        for page in (board, cluster):
            page.wait_for_function("() => document.querySelector('[data-live]')")
        board.wait_for_function(f"() => ({row})()?.innerText.includes('6 of 6')")
        cluster.wait_for_function("() => document.querySelector('#now')?.innerText.includes('6 of 6')")
        board.get_by_label("Cluster, data centre or trouble").fill("half typed")

        kafka.truth.kill_broker(6)
        board.wait_for_function(f"() => ({row})()?.innerText.includes('5 of 6')")
        cluster.wait_for_function("() => document.querySelector('#now')?.innerText.includes('5 of 6')")
        assert "healthy" not in str(board.evaluate(f"() => ({row})().innerText"))
        cluster.wait_for_function("() => !document.querySelector('#health').innerText.includes('healthy')")
        first = board.locator("#clusters tbody tr").first.inner_text()
        assert shape.name in first, "the worst is first, without a click"
        assert board.get_by_label("Cluster, data centre or trouble").input_value() == "half typed"
        cluster.get_by_text("What is wrong").wait_for()
        assert said == [[], []]
        with GuardianClient([console.member.grpc], timeout_s=CALL_S) as client:
            client.remove_cluster(shape.name)


def _fleet(member: Member) -> list[str]:
    sizes = ["--brokers=60", "--partitions=40", "--clusters=3", f"--base-port={ports.pick_pair()}"]
    return [sys.executable, "-m", "guardian.cli.main", "local", "fleet", *sizes, f"--endpoints={member.grpc}"]


def _name_things(member: Member) -> None:
    entries: list[Entry] = [
        Tenant("pay", "payments team", ("gold",), "cards and accounts"),
        Topic("sim-1", "topic-1", owner="ann", tenant="pay"),
        *(Machine(f"m{number}.example.net", "shanghai", "r1", 8 * 10**12, 8, 10**9, 32) for number in range(60)),
    ]
    with GuardianClient([member.grpc], timeout_s=CALL_S) as client:
        client.change_federation([pb.FederationChange(put=entry_to_proto(entry)) for entry in entries])

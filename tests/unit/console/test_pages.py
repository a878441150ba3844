"""The pages that read: each says what is known and what is not, and can be used without a mouse, eyes and scripts."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest

from guardian.console.rendering import STATIC_PATH
from guardian.errors import Unavailable
from guardian.health.loop.observed import LakeObserved
from guardian.model.federation import Tenant
from guardian.model.wire.entries import entry_to_proto
from guardian.web.observed import BrokerSeen, ClusterSeen, LogDirSeen, NothingObserved
from guardian.web.parts import Local
from protos.guardian.v1 import federation_pb2 as pb
from protos.guardian.v1 import insight_pb2, tiering_pb2
from tests.unit.console.site import Site, site

pytestmark = pytest.mark.slow

PATHS = (
    "/console/",
    "/console/search?q=t",
    "/console/clusters/live",
    "/console/clusters/live/activity",
    "/console/clusters/live/activity?of=disks&span=15m",
    "/console/clusters/live/durability",
    "/console/clusters/live/brokers",
    "/console/clusters/live/brokers/1",
    "/console/clusters/live/brokers/1/activity",
    "/console/clusters/live/brokers/2/disks/sdb",
    "/console/clusters/live/disks",
    "/console/clusters/live/topics",
    "/console/clusters/live/topics/t",
    "/console/clusters/live/topics/t/activity",
    "/console/clusters/live/topics/t/configuration",
    "/console/clusters/live/topics/t/durability",
    "/console/clusters/live/quotas",
    "/console/clusters/live/costs",
    "/console/clusters/live/ask",
    "/console/clusters/live/ask/relieve?brokers=1",
    "/console/clusters/live/ask/create-topic",
    "/console/tenants",
    "/console/tenants/pay",
    "/console/tenants/pay/usage?cluster=live",
    "/console/machines",
    "/console/findings",
    "/console/links",
    "/console/members",
    "/console/audit",
)


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with site(tmp_path_factory.mktemp("lake")) as made:
        yield made


class Outline(HTMLParser):
    """What a screen reader goes by, and what a policy against inline scripts forbids."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self._in: list[str] = []
        self.labelled: set[str] = set()
        self.bare: list[str] = []
        self.captions = 0
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.tags.append((tag, given))
        self._in.append(tag)
        if tag == "label" and given.get("for"):
            self.labelled.add(str(given["for"]))
        if tag in {"input", "select", "textarea"} and given.get("type") != "hidden":
            named = "label" in self._in or given.get("aria-label") or given.get("id") in self.labelled
            if not named:
                self.bare.append(str(given))
        if tag in {"input", "meta", "link", "img", "br", "option", "col", "hr"}:
            self._in.pop()

    def handle_endtag(self, tag: str) -> None:
        if tag in self._in:
            while self._in.pop() != tag:
                pass

    def of(self, tag: str) -> list[dict[str, str | None]]:
        return [given for name, given in self.tags if name == tag]


def figures(page: str) -> dict[str, str]:
    """Return the numbers at the top of a page by their names, without hints and links."""
    found = re.findall(r"<div[^>]*><dt>([^<]*)</dt><dd>(?:<a [^>]*>)?([^<]*)", page)
    return {name: value.strip() for name, value in found}


@pytest.mark.parametrize("path", PATHS)
def test_a_page_can_be_found_through_without_seeing_it(console: Site, path: str) -> None:
    outline = Outline(console.page(path))
    assert outline.of("html")[0]["lang"] == "en"
    assert [len(outline.of(tag)) for tag in ("main", "h1", "title")] == [1, 1, 1]
    assert outline.of("a")[0] == {"class": "skip", "href": "#main"}
    assert all(nav.get("aria-label") for nav in outline.of("nav"))
    assert len(outline.of("caption")) == len(outline.of("table"))
    assert all(head.get("scope") for head in outline.of("th"))
    assert outline.bare == []
    assert all("alt" in image for image in outline.of("img"))
    ids = [given["id"] for _, given in outline.tags if "id" in given]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("path", PATHS)
def test_a_page_holds_no_script_or_style_of_its_own(console: Site, path: str) -> None:
    outline = Outline(console.page(path))
    for script in outline.of("script"):
        source = script.get("src")
        assert script.get("type") == "application/json" or (source and source.startswith(f"{STATIC_PATH}/"))
    assert not outline.of("style")
    assert not [name for _, given in outline.tags for name in given if name.startswith("on")]


@pytest.mark.parametrize("path", PATHS)
def test_each_link_of_a_page_leads_somewhere(console: Site, path: str) -> None:
    outline = Outline(console.page(path))
    found = {str(a["href"]) for a in outline.of("a") if str(a.get("href", "")).startswith("/console/")}
    found |= {str(given["hx-get"]) for _, given in outline.tags if "hx-get" in given}
    for where in sorted(found):
        if not where.startswith(("/console/theme", "/console/tickets", "/console/plans")):
            assert console.browser.get(where).status_code == 200, where
    for tag, attribute in (("link", "href"), ("script", "src"), ("img", "src")):
        for given in outline.of(tag):
            if given.get(attribute):
                assert console.browser.get(str(given[attribute])).status_code == 200


def test_status_is_never_told_by_colour_alone(console: Site) -> None:
    for path in PATHS:
        for status in re.findall(r'<span class="status [^"]*">(.*?)</span>\s*([^<]*)</span>', console.page(path)):
            assert status[1].strip(), path


def test_the_federation_at_a_glance(console: Site) -> None:
    text = console.page("/console/")
    assert "live" in text
    assert re.search(r"<dt>Brokers</dt><dd>3</dd>", text)
    assert re.search(r'<th scope="row">sh</th><td class="number">1</td><td class="number">2</td>', text)
    assert "No cluster matches nothing" in console.page("/console/?q=nothing")


def test_the_board_says_what_each_cluster_does_and_what_is_not_known(console: Site) -> None:
    text = console.page("/console/")
    row = re.sub(r"\s+", " ", text[text.index('<table class="board">') : text.index("</tbody>")])
    told = dict(re.findall(r'data-name="([^"]+)">(.*?)</td>', row))
    assert "not known, of 3" in told["Brokers up"], "no detector has looked"
    assert "not known" in told["Findings"]
    assert told["Tickets"] == "none"
    for name in ("CPU", "Fullest disk", "Unevenness"):
        assert told[name] == '<span class="dim">not known</span>', "no sample of this lake has it"
    assert "live" in console.page("/console/?sort=-fullest")


def test_the_board_draws_the_trend_and_names_the_broker_of_the_fullest_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broker(number: int, rate: float, used: int) -> BrokerSeen:
        log_dirs = (LogDirSeen("/d", "sda", 100, 100 - used, False),)
        return BrokerSeen(number, 5, "", (rate, 2 * rate), (), (0.25, 0.5), log_dirs=log_dirs)

    seen = ClusterSeen((0, 60_000), 60_000, {1: broker(1, 1e6, 50), 2: broker(2, 3e6, 93)})
    monkeypatch.setattr(LakeObserved, "cluster", lambda *_: seen)
    with site(tmp_path) as made:
        row = re.sub(r"\s+", " ", made.page("/console/"))
    told = dict(re.findall(r'data-name="([^"]+)">(.*?)</td>', row))
    assert (told["Written"], told["CPU"]) == ("8.0 MB/s", "50 %")
    assert "93 %" in told["Fullest disk"]
    assert 'class="bar bad"' in told["Fullest disk"]
    assert "/console/clusters/live/brokers/2" in told["Fullest disk"]
    assert "50 % <small>bytes in</small>" in told["Unevenness"]
    assert 'role="img" aria-label="the last 2 min: 4.0 MB/s to 8.0 MB/s, lately 8.0 MB/s"' in told["Trend"]
    assert told["Trend"].count("<polyline") == 1


def test_a_feed_tells_of_what_changes_and_ends_for_who_may_not_look_any_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Stranger(Local):
        def sees(self, cluster: str) -> bool:
            return cluster != "live"

    finding = insight_pb2.Finding(kind=insight_pb2.BROKER_DOWN, cluster="live", subject="broker 3")
    with site(tmp_path) as made:

        def change() -> None:
            monkeypatch.setattr(made.client, "findings", lambda *_: insight_pb2.FindingsReport(findings=[finding]))

        made_before = made.page("/console/clusters/live")
        steps = [threading.Timer(3.0, change), threading.Timer(9.0, lambda: setattr(made, "person", Stranger()))]
        for step in steps:
            step.start()
        with made.browser.stream("GET", "/console/clusters/live/live") as answer:
            assert answer.headers["content-type"].startswith("text/event-stream")
            events = [line for line in answer.iter_lines() if line]
        for step in steps:
            step.join()
        made.person = Local()
        shown = re.search(r'data-live-known="([0-9a-f]+)"', made_before)
        pages = [json.loads(line.removeprefix("data: "))["page"] for line in events if '"page"' in line]
        assert len(set(pages)) >= 2, events
        assert shown is not None
        assert pages[0] == shown[1], "what has not changed is not asked for again"
        assert events[-2:] == ["event: over", "data: {}"]
        made.person = Stranger()
        assert made.browser.get("/console/clusters/live/live").status_code == 404
        assert made.browser.get("/console/findings/live?cluster=live").status_code == 404


@pytest.mark.parametrize("path", ["/console/", "/console/clusters/live", "/console/findings"])
def test_a_page_that_refreshes_names_its_feed_and_the_parts_that_are_renewed(console: Site, path: str) -> None:
    outline = Outline(console.page(path))
    live = [given for _, given in outline.tags if "data-live" in given]
    assert [given["data-live"] for given in live] == [path.removesuffix("/") + "/live"]
    parts = [given for _, given in outline.tags if "data-live-part" in given]
    assert live[0] in parts
    assert all(given.get("id") for given in parts)
    assert any("/live." in str(script.get("src")) for script in outline.of("script"))


def test_the_headline_comes_with_the_numbers_of_how_safe_the_data_is(
    console: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = insight_pb2.TopicDurability(topic="t", under_replicated=32)
    report = insight_pb2.DurabilityReport(cluster="live", topics=[topic], topics_in_all=1)
    look = insight_pb2.DetectorLook(detector="brokers", cluster="live", looked_at_ms=5)
    monkeypatch.setattr(console.client, "findings", lambda *_: insight_pb2.FindingsReport(looks=[look]))
    monkeypatch.setattr(console.client, "durability", lambda *_: report)
    fresh = Local("somebody else")  # nothing is kept for him yet
    monkeypatch.setattr(console, "person", fresh)
    part = console.browser.get("/console/clusters/live/durability", headers={"HX-Request": "true"}).text
    assert re.search(r'<span id="health"[^>]*hx-swap-oob="true"><span class="status warn">', part)
    assert "32 partitions under-replicated" in part
    page = console.page("/console/clusters/live")
    assert "32 partitions under-replicated" in page
    assert "healthy" not in page


def test_a_broker_is_shown_with_its_numbers_disks_and_exclusion(console: Site) -> None:
    brokers = console.page("/console/clusters/live/brokers?sort=-id")
    assert brokers.index("brokers/3") < brokers.index("brokers/1")
    assert "excluded" in brokers
    only = console.page("/console/clusters/live/brokers?q=gold")
    assert "brokers/1" in only
    assert "brokers/2" not in only
    broker = console.page("/console/clusters/live/brokers/3")
    assert "No new replicas here: it is noisy (ann)" in broker
    assert "six behaviours" in broker
    assert console.page("/console/clusters/live/brokers/99", status=404)


def test_a_slow_disk_is_told_with_its_evidence(console: Site) -> None:
    disk = console.page("/console/clusters/live/brokers/2/disks/sdb")
    assert "slow" in disk
    assert "An outlier in" in disk
    assert "user write" in disk
    assert console.page("/console/clusters/live/brokers/2/disks/nvme9", status=404)
    worst = console.page("/console/clusters/live/disks?sort=-verdict&size=1")
    assert "brokers/2/disks/sdb" in worst


def test_a_topic_is_shown_with_its_owner_and_where_it_lives(console: Site) -> None:
    text = console.page("/console/clusters/live/topics/t")
    assert "ann" in text
    assert "payments team" in text
    assert text.count('class="leader"') == 2
    assert text.count('class="follower"') == 2
    assert console.page("/console/clusters/live/topics/nowhere", status=404)
    # The directory names it, no broker was seen to hold it.
    unseen = console.page("/console/clusters/live/topics/other")
    assert "Not known: no replica was seen of late" in unseen
    assert figures(unseen).keys() >= {"Partitions", "Under-replicated", "No leader seen", "Size of all replicas"}
    assert set(figures(unseen).values()) == {"not known"}


@pytest.mark.parametrize(
    ("told", "shown"),
    [
        ({}, "not known"),
        ({"other": 5}, "0 B"),
        ({"other": 5, "": 7}, "not known"),
        ({"t": 2_000_000, "": 7}, "2.0 MB"),
    ],
)
def test_what_is_tiered_of_a_topic_is_known_where_brokers_told_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, told: dict[str, int], shown: str
) -> None:
    claims = {name: tiering_pb2.PartitionClaim(topic=name) for name in told}
    found = [tiering_pb2.PartitionSummary(claim=claims[name], live_bytes=size) for name, size in told.items()]
    with site(tmp_path) as made:
        monkeypatch.setattr(made.client, "list_partitions", lambda *_: found)
        assert figures(made.page("/console/clusters/live/topics/t"))["Tiered"] == shown


def test_configurations_quotas_and_costs_are_as_kafka_tells_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = [
        insight_pb2.SettingInForce(
            key="retention.ms",
            value="5",
            origin=insight_pb2.SET_ON_TOPIC,
            otherwise="log.retention.hours=168",
            otherwise_origin=insight_pb2.KAFKA_DEFAULT,
        ),
        insight_pb2.SettingInForce(key="a.password", origin=insight_pb2.SET_IN_BROKER_FILE),
    ]
    described = insight_pb2.DescribeTopicsReply(topics=[insight_pb2.DescribedTopic(topic="t", settings=settings)])
    quota = insight_pb2.ClientQuota(user="alice", values={"producer_byte_rate": 5000.0, "request_percentage": 50.0})
    with site(tmp_path) as made:
        monkeypatch.setattr(made.client, "described_topics", lambda *_, **__: described)
        text = made.page("/console/clusters/live/topics/t/configuration")
        assert all(words in text for words in ("retention.ms", "log.retention.hours=168", "hidden by Kafka", "s file<"))
        monkeypatch.setattr(made.client, "client_quotas", lambda _: insight_pb2.QuotasReport(quotas=[quota]))
        text = made.page("/console/clusters/live/quotas")
        assert all(words in text for words in ("alice", "any", "5.0 kB/s", "50 %"))
        text = made.page("/console/clusters/live/costs")
        assert "Not known: traffic: audit.url is not set" in text
        assert "Nothing has a price" in text
        text = made.page("/console/tenants/pay/usage?cluster=live")
        assert "Not known: traffic: audit.url is not set" in text
        assert all(f"<dt>{name}</dt><dd>not known</dd>" in text for name in ("Written", "Read", "Requests"))
        assert "<dt>Stored</dt><dd>20 B</dd>" in text


def test_a_tenant_with_its_topics_brokers_and_machines(console: Site) -> None:
    text = console.page("/console/tenants/pay")
    assert "cards &amp; accounts" in text
    assert "m2.example.net" in text
    assert "/console/clusters/live/brokers/1" in text
    machines = console.page("/console/machines?show=free")
    assert "m2.example.net" in machines
    assert "m1.example.net" not in machines


def test_what_a_person_may_not_see_is_not_said_to_exist(console: Site) -> None:
    class Stranger(Local):
        def sees(self, cluster: str) -> bool:
            return cluster != "live"

    console.person = Stranger("stranger")
    try:
        assert "live" not in re.sub(r"aria-live|x-live|data-live|/live\b", "", console.page("/console/"))
        for path in PATHS:
            if "/clusters/live" in path:
                assert console.page(path, status=404)
        assert "m1.example.net" in console.page("/console/machines")
    finally:
        console.person = Local()


def test_the_audit_is_paged_without_losing_a_record(console: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("guardian.console.members.AUDIT_ROWS", 2)
    for letter in "abcde":  # all of the same moment; no search of another test finds them
        entry = Tenant(f"audited-{letter}")
        console.client.change_federation([pb.FederationChange(put=entry_to_proto(entry))])
    seen: list[str] = []
    where = "/console/audit"
    for _ in range(20):
        text = console.page(where)
        seen += re.findall(r'<td class="number">(\d+)</td></tr>', text)
        older = re.search(r'rel="next" href="([^"]+)"', text)
        if older is None:
            break
        where = older[1].replace("&amp;", "&")
    everything = [str(record.index) for record in console.client.audit()]
    assert seen == everything
    assert len(everything) >= 8


def test_search_goes_straight_to_a_single_hit(console: Site) -> None:
    for wanted, where in (("pay", "/console/tenants/pay"), ("3", "/console/clusters/live/brokers/3")):
        answer = console.browser.get(f"/console/search?q={wanted}", follow_redirects=False)
        assert (answer.status_code, answer.headers.get("location")) == (303, where), answer.text
    assert "is called zzz" in console.page("/console/search?q=zzz")


def test_bad_questions_are_answered_in_a_sentence(console: Site) -> None:
    for path, sentence in (
        ("/console/?page=0", "page is 0: use 1 to 1000000"),
        ("/console/?page=x", "page: Input should be a valid integer"),
        ("/console/?sort=height", "use one of brokers, findings, fullest, health, load, name, tickets, unevenness"),
        ("/console/clusters/live/activity?of=x", "use one of disk_busy, disks, cpu"),
        ("/console/clusters/live/brokers/x", "broker_id: Input should be a valid integer"),
        ("/console/machines?show=some", "use free, used or nothing"),
        ("/console/audit?until=-1", "go to the first page of the audit"),
    ):
        assert sentence in console.page(path, status=400)
    assert "cluster is &#39;&lt;script&gt;&#39;" in console.page("/console/clusters/%3Cscript%3E", status=404)


def test_a_part_for_htmx_is_no_whole_page(console: Site) -> None:
    part = console.browser.get("/console/clusters/live/durability", headers={"HX-Request": "true"}).text
    assert "<html" not in part
    assert "Under-replicated partitions" in part


def test_light_and_dark_are_chosen_without_scripts(console: Site) -> None:
    answer = console.browser.get("/console/theme?to=dark&back=/console/members", follow_redirects=False)
    assert answer.headers["location"] == "/console/members"
    assert 'data-theme="dark"' in console.page("/console/")
    console.browser.cookies.clear()
    for elsewhere in ("//evil.example", "https://evil.example/console/", "/\\evil", "/elsewhere", "/console/\n"):
        answer = console.browser.get("/console/theme", params={"back": elsewhere}, follow_redirects=False)
        assert answer.headers["location"] == "/console/"
    console.browser.cookies.clear()


def test_static_files_are_kept_for_ever_under_the_name_of_their_content(console: Site) -> None:
    where = re.search(rf'href="({STATIC_PATH}/console\.[0-9a-f]+\.css)"', console.page("/console/"))
    assert where
    answer = console.browser.get(where[1])
    assert "immutable" in answer.headers["cache-control"]
    assert answer.headers["content-type"].startswith("text/css")
    for name in ("console.css", "console.000000000000.css", "..%2Fpages.py", "VENDORED.md", "plan.000000000000.html"):
        assert console.browser.get(f"{STATIC_PATH}/{name}").status_code == 404


def test_without_a_leader_or_samples_the_rest_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LakeObserved, "cluster", NothingObserved.cluster)
    monkeypatch.setattr(LakeObserved, "topics", NothingObserved.topics)
    monkeypatch.setattr(LakeObserved, "topic", NothingObserved.topic)
    with site(tmp_path) as made:

        def fails(*_: object) -> None:
            raise Unavailable("nobody leads")

        for name in ("findings", "healing", "protection", "walk_tickets", "list_partitions"):
            monkeypatch.setattr(made.client, name, fails)
        text = made.page("/console/")
        assert "nobody leads" in text
        assert "not known" in text
        assert "nobody leads" in made.page("/console/clusters/live/brokers/1")
        assert "nobody leads" in made.page("/console/findings")
        not_known = {
            "/console/": {"Findings", "Tickets running", "Tickets waiting"},
            "/console/findings": {"Findings", "Grave", "Seen, not told yet"},
            "/console/clusters/live": {"Findings", "Log dirs offline", "Bytes in", "Bytes out"},
            "/console/clusters/live/brokers/1": {"Copies", "CPU", "Fullest log dir"},
            "/console/clusters/live/topics/t": {"Partitions", "Under-replicated", "Tiered", "Bytes in"},
        }
        for path, names in not_known.items():
            shown = figures(made.page(path))
            assert {name: shown[name] for name in names} == dict.fromkeys(names, "not known"), path
        assert "Not known: no topic was seen of late" in made.page("/console/clusters/live/topics?q=zzz")

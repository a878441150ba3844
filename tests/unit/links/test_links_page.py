"""The console's page of lines between IDCs: who crosses them, in clusters that one may see, and what may be done."""

from __future__ import annotations

from collections.abc import Iterator
from html import unescape
from pathlib import Path

import pytest

from guardian.errors import InvalidInput
from protos.guardian.v1 import insight_pb2 as pb
from tests.unit.console.site import Site, site

pytestmark = pytest.mark.slow

REPORT = pb.LinkUseReport(
    links=[
        pb.LinkUse(
            from_idc="sh",
            to_idc="sz",
            bytes=3_000_000,
            consumed_bytes=3_000_000,
            estimated_bytes=1,
            capacity_bits_per_s=10e6,
            peak_bits_per_s=9.5e6,
            cost=1.5,
            priced=True,
            crossers=[pb.LinkCrosser(crossing=pb.REPLICATE, cluster="live", topic="other", bytes=1)],
            peak_crossers=[
                pb.LinkCrosser(crossing=pb.CONSUME, cluster="live", topic="t & u", principal="User:a", bytes=2_000_000),
                pb.LinkCrosser(crossing=pb.CONSUME, cluster="hidden", topic="secret", bytes=1_000_000),
            ],
        ),
        pb.LinkUse(from_idc="sz", to_idc="sh", bytes=5),
    ],
    findings=["the line from sh to sz is near its limit"],
    currency="EUR",
    samples=3,
)


@pytest.fixture
def console(tmp_path: Path) -> Iterator[Site]:
    with site(tmp_path) as made:
        yield made


def shown(console: Site, monkeypatch: pytest.MonkeyPatch, report: pb.LinkUseReport) -> str:
    monkeypatch.setattr(console.client, "link_use", lambda *_: report)
    return unescape(console.page("/console/links"))


def test_who_crosses_a_line_is_a_link_away_from_what_lessens_it(console: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    page = shown(console, monkeypatch, REPORT)
    assert "the line from sh to sz is near its limit" in page
    assert "~3.0 MB" in page
    assert "9.5 Mbit/s" in page
    assert "95 %" in page
    assert "1.50 EUR" in page
    assert "the largest in its busiest minute" in page
    for form in ("migrate-idc", "leaders", "isolate-label"):
        assert f'href="/console/clusters/live/ask/{form}?topics=t+%26+u"' in page
    assert "secret" not in page
    assert "topics/other" not in page


def test_what_is_not_known_is_not_nothing(console: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "is not known" in shown(console, monkeypatch, pb.LinkUseReport())


def test_nothing_crossed(console: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    page = shown(console, monkeypatch, pb.LinkUseReport(samples=1))
    assert "Nothing crossed a line" in page
    assert "is not known" not in page


def test_one_cluster_is_looked_at_alone(console: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, list[str]]] = []

    def use(from_ms: int, to_ms: int, clusters: list[str], _: int) -> pb.LinkUseReport:
        asked.append((to_ms - from_ms, clusters))
        return REPORT

    monkeypatch.setattr(console.client, "link_use", use)
    assert "<option selected>live</option>" in console.page("/console/links?cluster=live")
    console.page("/console/links")
    assert asked == [(15 * 60_000, ["live"]), (15 * 60_000, [])]
    console.page("/console/links?cluster=hidden", status=404)


def test_why_it_can_not_be_told_is_said(console: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(*_: object) -> pb.LinkUseReport:
        raise InvalidInput("links.toml: line 3 has no IDC")

    monkeypatch.setattr(console.client, "link_use", refuses)
    assert "links.toml: line 3 has no IDC" in console.page("/console/links")

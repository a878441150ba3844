"""Label values of /metrics hold no text from others raw, and Prometheus' own parser reads what they held."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector

from guardian.member.web import create_app
from guardian.model.text import escaped, is_printable
from guardian.web.exposition import exposition
from guardian.web.parts import WebParts

EVIL = 'a\x1b[2Jb\u202ec\r"quoted"\\back\nFORGED{x="1"} 9\x9b8A\ud83d'


class One(Collector):
    def __init__(self, value: str) -> None:
        self._value = value

    def collect(self) -> Iterator[GaugeMetricFamily]:
        family = GaugeMetricFamily("guardian_one", "one", labels=("topic", "other"))
        family.add_metric((self._value, "x"), 7.5, timestamp=12.0)
        yield family


def page_of(value: str) -> str:
    registry = CollectorRegistry()
    registry.register(One(value))
    return exposition(registry).decode()


def read_back(page: str) -> list[tuple[str, dict[str, str], float]]:
    return [
        (sample.name, sample.labels, sample.value)
        for family in text_string_to_metric_families(page)
        for sample in family.samples
    ]


@given(st.text(st.characters(codec=None, exclude_categories=())))
def test_any_value_is_one_printable_line_that_prometheus_reads_back(value: str) -> None:
    page = page_of(value)
    assert is_printable(page, keep="\n")
    assert len(page.splitlines()) == 3
    assert read_back(page) == [("guardian_one", {"topic": escaped(value, "\n"), "other": "x"}, 7.5)]


def test_what_a_terminal_shows_is_written_out_and_forges_no_line() -> None:
    page = page_of(EVIL)
    assert [name for name, _, _ in read_back(page)] == ["guardian_one"]
    assert r"a\\x1b[2Jb\\u202ec\\r" in page
    assert r"\nFORGED" in page


def test_nothing_else_of_the_page_changes() -> None:
    registry = CollectorRegistry()
    Counter("asked", "how often", ("who",), registry=registry).labels("ann").inc(3)
    Histogram("took", "how long", buckets=(1, 2), registry=registry).observe(1.5)
    samples = {name: value for name, _, value in read_back(exposition(registry).decode()) if "created" not in name}
    assert samples == {"asked_total": 3.0, "took_bucket": 1.0, "took_count": 1.0, "took_sum": 1.5}


def test_a_members_pages_of_metrics_are_written_so() -> None:
    registry = CollectorRegistry()
    registry.register(One(EVIL))
    parts = WebParts("g1", cast("Any", None), lambda: 0, metrics={"/metrics": registry})
    with TestClient(create_app(parts)) as browser:
        answer = browser.get("/metrics")
    assert answer.status_code == 200
    assert is_printable(answer.text, keep="\n")
    assert read_back(answer.text)[0][1]["topic"] == escaped(EVIL, "\n")

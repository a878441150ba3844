"""A page whose parts can't all be had shows the others, and comes again for what is still being read."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from guardian.federation.pages import tenant_lines
from guardian.model.federation import Tenant, Topic
from guardian.web.observed import ClusterSeen, TopicSeen, TopicSize
from tests.unit.console.site import Site, site

AGAIN = 'hx-trigger="load delay:1s"'


class SlowLake:
    """Answers when it is let; counts what it is asked."""

    def __init__(self) -> None:
        self.let = threading.Event()
        self.asked: Counter[str] = Counter()

    def cluster(self, _: str, __: int) -> ClusterSeen:
        self._wait("cluster")
        return ClusterSeen()

    def topics(self, _: str) -> tuple[TopicSize, ...]:
        self._wait("topics")
        return (TopicSize("clicks", 4, 12, 10**9, 1),)

    def topic(self, _: str, __: str, ___: int) -> TopicSeen:
        self._wait("topic")
        return TopicSeen()

    def _wait(self, what: str) -> None:
        self.asked[what] += 1
        assert self.let.wait(60)


@pytest.fixture
def slow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Site, SlowLake]]:
    lake = SlowLake()
    monkeypatch.setattr("tests.unit.console.site.LakeObserved", lambda *_: lake)
    with site(tmp_path, dear_wait_s=0.2) as made:
        try:
            yield made, lake
        finally:
            lake.let.set()


@pytest.mark.slow
def test_a_page_does_not_wait_for_a_lake_that_is_slow(slow: tuple[Site, SlowLake]) -> None:
    made, lake = slow
    for path in ("clusters/live", "clusters/live/brokers", "clusters/live/topics", "clusters/live/topics/t"):
        page = made.page(f"/console/{path}")
        assert AGAIN in page, path
        assert "still being read" in page or path == "clusters/live"
    assert "other" in made.page("/console/clusters/live/topics"), "the directory is known"
    assert lake.asked == {"cluster": 1, "topics": 1, "topic": 1}, "many pages, one look"
    lake.let.set()
    page = made.page("/console/clusters/live/topics")
    while AGAIN in page:
        page = made.page("/console/clusters/live/topics")
    assert "clicks" in page
    assert "still being read" not in page


@pytest.mark.slow
def test_a_search_says_whose_topics_it_has_not_seen(slow: tuple[Site, SlowLake]) -> None:
    made, lake = slow
    page = made.page("/console/search?q=clicks")
    assert "topics of 1 of 1 clusters are still being read" in page
    lake.let.set()
    where = made.browser.get("/console/search?q=clicks", follow_redirects=False)
    while where.status_code != 303:
        where = made.browser.get("/console/search?q=clicks", follow_redirects=False)
    assert where.headers["location"] == "/console/clusters/live/topics/clicks"


def test_a_list_is_looked_at_once_however_often_it_is_asked_for(slow: tuple[Site, SlowLake]) -> None:
    made, lake = slow
    lake.let.set()
    for number in range(1, 6):
        made.page(f"/console/clusters/live/topics?size=1&page={number}")
    assert lake.asked["topics"] == 1


def test_tenants_are_counted_in_one_walk_over_the_directory() -> None:
    topics = {
        ("pay", "live"): (Topic("live", "a", tenant="pay"), Topic("live", "b", tenant="pay")),
        ("pay", "bulk"): (Topic("bulk", "c", tenant="pay"),),
        ("", "live"): (Topic("live", "d"),),
    }
    pay, logs = tenant_lines((Tenant("pay", labels=("gold",)), Tenant("logs")), topics, Counter(gold=3))
    assert (pay.topics, pay.clusters, pay.brokers) == (3, ("bulk", "live"), 3)
    assert (logs.topics, logs.clusters, logs.brokers) == (0, (), None)

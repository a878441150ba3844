"""Which pages the console's benchmark looks at."""

from __future__ import annotations

from tests.bench.console.crawling import crawl, kind_of, links_of


def test_a_kind_is_a_path_without_what_it_names() -> None:
    assert kind_of("/console/clusters/sim-1/brokers/7?page=2&q=x") == "/console/clusters/*/brokers/*?page&q"
    assert kind_of("/console/tickets/t-1/plan") == "/console/tickets/*/plan"
    assert kind_of("/console/tickets") == "/console/tickets"
    assert kind_of("/console/") == "/console/"


def test_links_lead_to_pages_and_to_their_parts() -> None:
    page = (
        '<a href="/console/clusters/a&amp;b?q=1#top">x</a><div hx-get="/console/parts/1"></div>'
        '<link href="/console/static/console.123.css"><a href="/console/theme?back=/console/">dark</a>'
        '<a href="https://elsewhere.example/console/">x</a><a href="/console/parts/1">again</a>'
    )
    assert links_of(page) == ["/console/clusters/a&b?q=1", "/console/parts/1"]


def test_two_of_each_kind_are_looked_at_however_deep() -> None:
    brokers = "".join(f'<a href="/console/clusters/c/brokers/{number}">' for number in range(50))
    site = {
        "/console/": '<a href="/console/clusters/c"><a href="/console/">',
        "/console/clusters/c": brokers,
        "/console/clusters/c/brokers/1": '<a href="/console/tickets">',
    }
    assert crawl(lambda path: site.get(path, "")) == [
        "/console/",
        "/console/clusters/c",
        "/console/clusters/c/brokers/0",
        "/console/clusters/c/brokers/1",
        "/console/tickets",
    ]

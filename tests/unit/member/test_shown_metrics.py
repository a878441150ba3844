"""Of a page of metrics somebody gets the series of clusters that he sees, and of the sinks that are theirs alone."""

from __future__ import annotations

from collections.abc import Iterable

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric

from guardian.member.shown_metrics import ShownMetrics
from guardian.security.model.identity import Grant, Identity, Role

SINKS = {"mine-hook": frozenset({"mine"}), "both-hook": frozenset({"mine", "theirs"}), "all-hook": frozenset[str]()}


class Measures:
    def collect(self) -> Iterable[Metric]:
        findings = GaugeMetricFamily("findings", "By cluster.", labels=["cluster", "kind"])
        for cluster in ("mine", "theirs", ""):
            findings.add_metric([cluster, "down"], 1)
        yield findings
        sent = CounterMetricFamily("sent", "By sink.", labels=["sink"])
        for sink in SINKS:
            sent.add_metric([sink], 1)
        yield sent
        took = HistogramMetricFamily("took", "By cluster.", labels=["cluster"])
        for cluster in ("mine", "theirs"):
            took.add_metric([cluster], [("1", 1), ("+Inf", 1)], 1)
        yield took
        yield GaugeMetricFamily("term", "Of no cluster.", value=7)


def page(*grants: Grant) -> str:
    registry = CollectorRegistry()
    registry.register(Measures())
    return generate_latest(ShownMetrics(registry, Identity("vic", grants), SINKS)).decode()


def test_a_viewer_of_one_cluster_gets_its_series_and_those_of_none() -> None:
    shown = page(Grant(Role.VIEWER, ("mine",)))
    assert 'findings{cluster="mine",kind="down"} 1.0' in shown
    assert 'findings{cluster="",kind="down"} 1.0' in shown
    assert 'sent_total{sink="mine-hook"} 1.0' in shown
    assert 'took_count{cluster="mine"} 1.0' in shown
    assert "term 7.0" in shown
    assert not [word for word in ("theirs", "both-hook", "all-hook") if word in shown]


def test_who_sees_all_clusters_gets_what_there_is_and_who_sees_none_what_is_of_none() -> None:
    registry = CollectorRegistry()
    registry.register(Measures())
    assert page(Grant(Role.VIEWER)) == generate_latest(registry).decode()
    nobody = page()
    assert "term 7.0" in nobody
    assert not [word for word in ("mine", "theirs", "hook") if word in nobody]

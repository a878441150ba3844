"""The series of a page of metrics, as somebody may be shown them: one rule by label, for every metric.

cluster   of a cluster that he sees; empty: of none, and for everybody
sink      of a sink that he is shown (guardian.serving.sight)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from prometheus_client.core import Metric
from prometheus_client.registry import Collector, CollectorRegistry

from guardian.serving.sight import Seer, shows_sink


class ShownMetrics(CollectorRegistry):
    """What `seer` may be shown of a registry; `sinks` says of which clusters a sink gets events (none: of all)."""

    def __init__(self, registry: Collector, seer: Seer, sinks: Mapping[str, frozenset[str]]) -> None:
        super().__init__()
        self._registry = registry
        self._seer = seer
        self._sinks = sinks

    def collect(self) -> Iterable[Metric]:
        """Return the registry's metrics, without samples that are not shown."""
        return self._registry.collect() if self._seer.sees("") else self._shown()

    def _shown(self) -> Iterator[Metric]:
        for metric in self._registry.collect():
            shown = Metric(metric.name, metric.documentation, metric.type, metric.unit)
            shown.samples = [sample for sample in metric.samples if self._shows(sample.labels)]
            yield shown

    def _shows(self, labels: Mapping[str, str]) -> bool:
        cluster, sink = labels.get("cluster", ""), labels.get("sink")
        if cluster and not self._seer.sees(cluster):
            return False
        return sink is None or shows_sink(self._seer, self._sinks.get(sink, frozenset()))

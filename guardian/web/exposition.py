"""Metrics as text, for Prometheus and for whoever reads them with curl on a terminal.

The client library escapes what would break a line (backslash, quote, line feed), so that a scraper reads every value as
it is. It leaves alone what moves a cursor or turns the direction of reading, and fails on half a surrogate pair, with
all of the page. Those are written out first, as everywhere else (guardian.model.text).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from guardian.model.text import escaped

_ESCAPED_BY_THE_FORMAT = "\n"


def exposition(registry: CollectorRegistry) -> bytes:
    """Return the page of the registry's metrics in Prometheus' text format, printable but for its line feeds."""
    printable = CollectorRegistry()
    printable.register(_Printable(registry))
    return generate_latest(printable)


class _Printable(Collector):
    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry

    def describe(self) -> Iterable[Metric]:
        return ()  # asked at registration: nothing is collected for it

    def collect(self) -> Iterator[Metric]:
        for metric in self._registry.collect():
            found = Metric(metric.name, escaped(metric.documentation), metric.type, metric.unit)
            found.samples = [
                sample._replace(
                    labels={name: escaped(value, _ESCAPED_BY_THE_FORMAT) for name, value in sample.labels.items()}
                )
                for sample in metric.samples
            ]
            yield found

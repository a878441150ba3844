"""Whose topic it is, for Prometheus: one series a topic that has a tenant, to join brokers' series by topic with.

Of the topic directory, which only Guardian has. A page of its own: with ten thousand topics it is longer than all that
a member tells of itself, and changes once a day.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from prometheus_client.core import GaugeMetricFamily, Metric

from metastore.views import Views
from protos.guardian.v1 import federation_pb2

_PAGE = 1000
_PAGE_BYTES = 1 << 20


class TopicTenants:
    """A collector of prometheus_client. Raises StoreError."""

    def __init__(self, read: Callable[[], Views]) -> None:
        self._read = read

    def describe(self) -> Iterable[Metric]:
        """Nothing: registering this must not read the store."""
        return ()

    def collect(self) -> Iterable[Metric]:
        family = GaugeMetricFamily(
            "guardian_topic_tenant", "1 for each topic that has a tenant.", labels=["cluster", "topic", "tenant"]
        )
        for topic in _topics(self._read()):
            if topic.tenant:
                family.add_metric([topic.cluster, topic.name, topic.tenant], 1)
        yield family


def _topics(views: Views) -> Iterator[federation_pb2.Topic]:
    after = b""
    while True:
        entries, after = views.federation_page(federation_pb2.TOPICS, "", "", after, _PAGE, _PAGE_BYTES)
        yield from (entry.topic for entry in entries)
        if not after:
            return

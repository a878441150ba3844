"""Whose topic it is, for Prometheus: one series a topic that has a tenant, to join brokers' series by topic with.

Of the topic directory, which only Guardian has. A page of its own: with ten thousand topics it is longer than all that
a member tells of itself, and changes once a day.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from prometheus_client.core import GaugeMetricFamily, Metric

from guardian.replication.store.state import Views
from guardian.serving.topics import stored_topics


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
        for topic in stored_topics(self._read()):
            if topic.tenant:
                family.add_metric([topic.cluster, topic.name, topic.tenant], 1)
        yield family

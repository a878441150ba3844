"""Reads the topics of all settings while they are written to, as consumers would, and notes when each number came."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping
from contextlib import ExitStack, closing

from confluent_kafka import OFFSET_BEGINNING, Consumer
from confluent_kafka import TopicPartition as WireTopicPartition

from guardian.kafka import data
from guardian.model.topology import Cluster
from tests.integration.predictions.settings import Client, Setting
from tests.patience import PATIENCE_S

_AT_ONCE = 1000
_LOOKS_S = 0.1


class Reading:
    """A context manager: it reads partition 0 of each topic from the beginning until its end.

    One consumer reads what transactions committed, another one all the other topics; neither is of a group. Both have
    librdkafka's defaults, but begin anew where a leader lacks what was read.
    """

    def __init__(self, cluster: Cluster, topics: Mapping[Setting, str]) -> None:
        self._cluster = cluster
        self._topics = topics
        self._read: dict[str, dict[int, float]] = {topic: {} for topic in topics.values()}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Reading:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive(), f"readers still wait after {PATIENCE_S:g} s"

    def read(self) -> dict[Setting, dict[int, float]]:
        """Return by setting and number the monotonic time at which it was first read."""
        return {setting: dict(self._read[topic]) for setting, topic in self._topics.items()}

    def _run(self) -> None:
        of_transactions = {setting for setting in self._topics if setting.client is Client.JAVA_TRANSACTIONAL}
        parts = {"read_committed": of_transactions, "read_uncommitted": self._topics.keys() - of_transactions}
        with ExitStack() as stack:
            consumers = [
                stack.enter_context(closing(self._consumer(isolation, (self._topics[each] for each in settings))))
                for isolation, settings in parts.items()
                if settings
            ]
            while not self._over.is_set():
                for consumer in consumers:
                    self._take(consumer)

    def _consumer(self, isolation: str, topics: Iterable[str]) -> Consumer:
        consumer = data.consumer(
            self._cluster,
            "predictions",
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            isolation_level=isolation,
        )
        consumer.assign([WireTopicPartition(topic, 0, OFFSET_BEGINNING) for topic in topics])
        return consumer

    def _take(self, consumer: Consumer) -> None:
        """Note what has come by now; a broker that is away is an error here, which passes."""
        for message in consumer.consume(_AT_ONCE, _LOOKS_S):
            topic, value = message.topic(), message.value()
            if message.error() is None and topic is not None and value is not None:
                self._read[topic].setdefault(int.from_bytes(value, "big"), time.monotonic())

"""Writes numbered records into the topics of all settings at once, each by the client that its setting names."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

from guardian.model.topology import Cluster
from tests.integration.cut_brokers.writers import NumberedWriter
from tests.integration.predictions.java_writers import JavaWriters
from tests.integration.predictions.settings import Client, Setting

A_SECOND = 20  # fifteen writers of more starve the brokers of a machine of two cores, whose silences get longer
_TIMEOUT_S = 120.0  # delivery.timeout.ms


class Writing:
    """A context manager: it writes until its end."""

    def __init__(self, cluster: Cluster, topics: Mapping[Setting, str], log: Path) -> None:
        self._stack = ExitStack()
        self._acked: dict[Setting, Mapping[int, float]] = {}
        self._cluster = cluster
        self._topics = topics
        self._log = log

    def __enter__(self) -> Writing:
        with ExitStack() as stack:
            for setting, topic in self._topics.items():
                if not setting.client.is_java:
                    writer = NumberedWriter(
                        self._cluster,
                        topic,
                        setting.acks,
                        a_second=A_SECOND,
                        timeout_s=_TIMEOUT_S,
                        idempotent=setting.client is Client.LIBRDKAFKA_IDEMPOTENT,
                    )
                    self._acked[setting] = stack.enter_context(writer).acked
            if java := {setting: topic for setting, topic in self._topics.items() if setting.client.is_java}:
                writers = JavaWriters(
                    self._cluster,
                    {topic: (setting.acks, setting.client.value) for setting, topic in java.items()},
                    self._log,
                    a_second=A_SECOND,
                    timeout_s=_TIMEOUT_S,
                )
                acked = stack.enter_context(writers).acked
                self._acked |= {setting: acked[topic] for setting, topic in java.items()}
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def acked(self) -> dict[Setting, dict[int, float]]:
        """Return by setting and number the monotonic time of each acknowledgement so far."""
        return {setting: dict(acked) for setting, acked in self._acked.items()}

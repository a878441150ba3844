"""A steady load beside a test, of which no record may be lost."""

from __future__ import annotations

import threading
import time
from contextlib import closing
from dataclasses import dataclass, field

from kafka import KafkaConsumer, TopicPartition

from guardian.kafka import data
from guardian.model.topology import Cluster
from tests.patience import PATIENCE_S

_RECORD_BYTES = 200


@dataclass
class Load:
    """Writes to a topic with acks=all until it is stopped; each record's delivery is counted."""

    cluster: Cluster
    topic: str
    sent: int = 0
    failures: list[str] = field(default_factory=list)
    _stop: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def __enter__(self) -> Load:
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        assert self._thread is not None
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive()

    def require_all(self) -> None:
        """Read the topic from its beginning to its present end. Raises AssertionError when a record is missing."""
        missing = set(range(self.sent))
        # Not as a member of a group: Kafka would make a topic for its offsets.
        with closing(
            KafkaConsumer(bootstrap_servers=self.cluster.bootstrap, group_id=None, auto_offset_reset="earliest")
        ) as consumer:
            partitions = [TopicPartition(self.topic, number) for number in consumer.partitions_for_topic(self.topic)]
            consumer.assign(partitions)
            ends = consumer.end_offsets(partitions)
            deadline = time.monotonic() + PATIENCE_S
            while any(consumer.position(partition) < ends[partition] for partition in partitions):
                assert time.monotonic() < deadline, f"{len(missing)} records are not read yet"
                for records in consumer.poll(timeout_ms=500).values():
                    read = (each.value for each in records if len(each.value) == _RECORD_BYTES)
                    missing.difference_update(int.from_bytes(value, "big") for value in read)
        assert not missing, f"{len(missing)} of {self.sent} records are lost, such as {min(missing)}"

    def _run(self) -> None:
        producer = data.producer(self.cluster, acks="all", linger_ms=5)

        def delivered(error: object, _message: object) -> None:
            if error is not None:
                self.failures.append(str(error))

        while not self._stop.wait(0.01):
            producer.produce(self.topic, self.sent.to_bytes(_RECORD_BYTES, "big"), on_delivery=delivered)
            self.sent += 1
            producer.poll(0)
        left = producer.flush(PATIENCE_S)
        self.failures += [f"{left} records were not delivered"] if left else []

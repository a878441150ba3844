"""Numbered records of writers that count what was acknowledged, and what a reader finds of them afterwards."""

from __future__ import annotations

import threading
import time
from contextlib import closing, suppress

from confluent_kafka import Consumer, KafkaError, KafkaException
from confluent_kafka import TopicPartition as WireTopicPartition

from guardian.kafka import data
from guardian.model.topology import Cluster
from tests.patience import PATIENCE_S

_RECORD_BYTES = 100
_AT_END = KafkaError._PARTITION_EOF


class NumberedWriter:
    """A context manager: it writes 0, 1, 2, ... to partition 0 in a thread until its end. `acked` has, by number, the
    monotonic time of its acknowledgement; whatever is not acknowledged within `timeout_s` is given up."""

    def __init__(
        self,
        cluster: Cluster,
        topic: str,
        acks: str,
        *,
        a_second: float = 50,
        timeout_s: float = 30,
        idempotent: bool = False,
    ) -> None:
        self.acked: dict[int, float] = {}
        self._topic = topic
        self._pause_s = 1 / a_second
        self._timeout_s = timeout_s
        more = {"enable_idempotence": True} if idempotent else {}  # left out, a record can't be overtaken by the next
        self._producer = data.producer(
            cluster, acks=acks, linger_ms=5, message_timeout_ms=round(timeout_s * 1000), **more
        )
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> NumberedWriter:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive(), f"the writer of {self._topic} still waits after {PATIENCE_S:g} s"

    def acked_since(self, moment: float) -> set[int]:
        """The numbers acknowledged at this monotonic time or later."""
        return {number for number, at in dict(self.acked).items() if at >= moment}

    def _run(self) -> None:
        number = 0
        while not self._over.wait(self._pause_s):
            self._produce(number)
            self._producer.poll(0)
            number += 1
        self._producer.flush(self._timeout_s)  # what is not acknowledged by then has been given up

    def _produce(self, number: int) -> None:
        def delivered(error: object, _message: object) -> None:
            if error is None:
                self.acked[number] = time.monotonic()

        value = number.to_bytes(_RECORD_BYTES, "big")
        self._producer.produce(self._topic, value, partition=0, on_delivery=delivered)


def numbers_in(cluster: Cluster, topic: str) -> set[int]:
    """All numbers that partition 0 holds now. Raises AssertionError when they can't be read in time."""
    found: set[int] = set()
    settings = {"enable_auto_commit": False, "enable_partition_eof": True}  # markers of transactions are no messages
    with closing(data.consumer(cluster, "cut-brokers", **settings)) as consumer:
        deadline = time.monotonic() + PATIENCE_S
        first, end = _watermarks(consumer, topic, deadline)
        consumer.assign([WireTopicPartition(topic, 0, first)])
        position = first
        while position < end:
            assert time.monotonic() < deadline, f"{topic} could not be read from {position} to {end}"
            for message in consumer.consume(1000, 1.0):
                value, offset = message.value(), message.offset()
                error = message.error()
                if error is not None and error.code() == _AT_END and offset is not None:
                    position = max(position, offset)
                elif error is None and value is not None and offset is not None:
                    found.add(int.from_bytes(value, "big"))
                    position = offset + 1
    return found


def _watermarks(consumer: Consumer, topic: str, deadline: float) -> tuple[int, int]:
    """Where partition 0 begins and ends. Whoever is asked may have ceased to lead a moment ago."""
    while time.monotonic() < deadline:
        with suppress(KafkaException):
            return consumer.get_watermark_offsets(WireTopicPartition(topic, 0), timeout=PATIENCE_S)
        time.sleep(0.1)
    raise AssertionError(f"{topic} has nobody who leads it and tells its offsets")

"""Numbered records: what is read back shows at once whether one is missing, twice there or out of order."""

from __future__ import annotations

import time
from contextlib import closing

from confluent_kafka import TopicPartition as WirePartition

from guardian.kafka import data
from guardian.kafka.data import KafkaError
from guardian.model.topology import Cluster, TopicPartition
from tests.patience import PATIENCE_S

VALUE_BYTES = 1000
_BATCH = 8  # small ones, so that a segment of some kilobytes ends between two of them


def produce(cluster: Cluster, topic: str, numbers: range, partitions: int) -> None:
    """The same numbers to each partition, in order, once each: also across leaders that die.

    Each batch waits for the one before: with a small `batch.size` instead, and more in its queue than may be in flight,
    an idempotent producer of librdkafka (2.11 to 2.16) turns in a circle, at full speed, and sends thirty records a
    second.
    """
    producer = data.producer(cluster, acks="all", enable_idempotence=True, linger_ms=5, message_timeout_ms=90_000)
    failures: list[str] = []

    def note(error: KafkaError | None, _: object) -> None:
        if error is not None:
            failures.append(str(error))

    for start in range(numbers.start, numbers.stop, _BATCH):
        for number in range(start, min(start + _BATCH, numbers.stop)):
            value = str(number).encode().ljust(VALUE_BYTES)
            for partition in range(partitions):
                producer.produce(topic, value=value, partition=partition, on_delivery=note)
        assert producer.flush(PATIENCE_S) == 0, "records were not acknowledged in time"
    assert not failures, f"records were not accepted: {failures[0]}"


def read(cluster: Cluster, partition: TopicPartition, start: int, end: int) -> list[int]:
    """The numbers at offsets start ... end - 1, in the order in which the broker gives them."""
    settings: dict[str, str | int | bool] = {
        "auto_offset_reset": "error",
        "enable_auto_commit": False,
        "fetch_wait_max_ms": 100,
    }
    with closing(data.consumer(cluster, f"reader-{time.time_ns()}", **settings)) as consumer:
        consumer.assign([WirePartition(partition.topic, partition.partition, start)])
        numbers: list[int] = []
        expected = start
        failure = ""
        deadline = time.monotonic() + PATIENCE_S
        while expected < end:
            message = consumer.poll(1.0)
            assert time.monotonic() < deadline, f"{partition} from {start}: nothing after {expected - 1}{failure}"
            if message is None:
                continue
            if (error := message.error()) is not None:
                # A fetch that fails inside the broker, as when its disk is full for a moment: all consumers ask again.
                assert error.code() == KafkaError.UNKNOWN, f"{partition} at {expected}: {error}"
                failure = f"; {error}"
                continue
            assert message.offset() == expected, f"{partition}: offset {message.offset()} comes after {expected - 1}"
            expected += 1
            value = message.value()
            assert isinstance(value, bytes)
            numbers.append(int(value))
        return numbers


def require_whole(cluster: Cluster, topic: str, count: int) -> None:
    """Every partition holds the numbers 0 ... count - 1, once each, in order, from its very first offset on."""
    ends = data.end_offsets(cluster, [topic], PATIENCE_S)
    starts = data.start_offsets(cluster, [topic], PATIENCE_S)
    for partition, end in sorted(ends.items()):
        assert (starts[partition], end) == (0, count), f"{partition} reaches from {starts[partition]} to {end}"
        assert read(cluster, partition, 0, end) == list(range(count)), f"{partition} is not in order"

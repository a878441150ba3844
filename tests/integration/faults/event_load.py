"""Writers of segment events that know what was acknowledged, and can look whether it is still there.

Each writer has a partition of its own and appends its events in order, so that after any faults its partition must hold
the events 0, 1, 2, ... at least up to the last acknowledged one, once each: appending an event again changes nothing.
"""

from __future__ import annotations

import random
import threading
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass

import grpc

from protos.guardian.v1 import tiering_pb2, tiering_pb2_grpc
from tests.patience import PATIENCE_S, wait_for

ATTEMPT_S = 4.0
_REFUSED_PAUSE_S = 0.05
_PULL = 5000
_TOPIC = uuid.UUID(int=77 << 64)
_RETRIABLE = (
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.DEADLINE_EXCEEDED,
    grpc.StatusCode.CANCELLED,
    grpc.StatusCode.RESOURCE_EXHAUSTED,
)


def partition_of(partition: int) -> tiering_pb2.TopicIdPartition:
    return tiering_pb2.TopicIdPartition(
        cluster_id="faults", topic_id=uuid.UUID(int=77 << 64).bytes, partition=partition
    )


def segment_id(partition: int, number: int) -> bytes:
    return uuid.UUID(int=(1 << 100) + (partition << 64) + number).bytes


def _event(partition: int, number: int, padding: bytes) -> tiering_pb2.SegmentEvent:
    return tiering_pb2.SegmentEvent(
        segment_id=segment_id(partition, number),
        state=tiering_pb2.COPY_SEGMENT_STARTED,
        broker_id=1,
        event_timestamp_ms=1_700_000_000_000 + number,
        start_offset=number * 100,
        end_offset=number * 100 + 99,
        max_timestamp_ms=1_700_000_000_000 + number,
        segment_size_bytes=1 << 30,
        segment_leader_epochs={0: 0},
        custom_metadata=padding,
    )


@dataclass(frozen=True, slots=True)
class Refusal:
    """A write that was not acknowledged, with the code and the sentence that said so."""

    code: grpc.StatusCode
    text: str


class EventLoad:
    """Writers as threads, until `stop`. `batch` is how many events they send at once, `padding_bytes` what each is
    made larger by, with bytes that can't be compressed. Two loads in one test need different `partitions`. A writer
    pauses after each batch: what takes all CPUs only makes members that were killed come back later."""

    def __init__(
        self,
        channels: Sequence[grpc.Channel],
        *,
        writers: int = 8,
        batch: int = 100,
        padding_bytes: int = 0,
        partitions: int = 0,
        pause_s: float = 0.02,
    ) -> None:
        self._channels = list(channels)
        self._batch = batch
        self._first_partition = partitions
        self._pause_s = pause_s
        self._padding = random.randbytes(padding_bytes)  # noqa: S311  load, not secrets
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._refusals: list[Refusal] = []
        self._failures: list[str] = []
        self.acknowledged_at = time.monotonic()
        self.acknowledged = [0] * writers
        self._threads = [threading.Thread(target=self._write, args=(n,), daemon=True) for n in range(writers)]

    def __enter__(self) -> EventLoad:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        self._stopping.set()
        for thread in self._threads:
            thread.join()

    @property
    def total(self) -> int:
        """How many events were acknowledged."""
        return sum(self.acknowledged)

    def wait_more(self, events: int) -> None:
        """Returns once so many more are acknowledged. Raises AssertionError with the last refusals."""
        wanted = self.total + events

        def is_acknowledged() -> bool:
            assert not self._failures, self._failures
            return self.total >= wanted

        wait_for(f"{events} more events are acknowledged", is_acknowledged, story=lambda: self.refusals()[-3:])

    def refusals(self) -> list[Refusal]:
        """The latest, oldest first."""
        with self._lock:
            return list(self._refusals)

    def forget_refusals(self) -> None:
        with self._lock:
            self._refusals.clear()

    def require_all(self, channel: grpc.Channel) -> None:
        """Raises AssertionError when an acknowledged event is missing, or one is there twice, or out of order."""
        assert not self._failures, self._failures
        for partition, acknowledged in enumerate(self.acknowledged, self._first_partition):
            stored = stored_events(channel, partition)
            assert len(stored) >= acknowledged, (
                f"partition {partition}: {acknowledged} acknowledged, {len(stored)} kept"
            )
            assert stored == _in_order(partition, len(stored)), (
                f"partition {partition}: the events differ from what was written"
            )

    def compare(self, channel: grpc.Channel) -> tuple[int, int]:
        """How many acknowledged events are missing there, and how many are not what was written at their place."""
        missing = strange = 0
        for partition, acknowledged in enumerate(self.acknowledged, self._first_partition):
            stored = stored_events(channel, partition)
            missing += max(0, acknowledged - len(stored))
            strange += sum(one != other for one, other in zip(stored, _in_order(partition, len(stored)), strict=True))
        return missing, strange

    def _write(self, writer: int) -> None:
        channel = self._channels[writer % len(self._channels)]
        partition = self._first_partition + writer
        while not self._stopping.is_set():
            first = self.acknowledged[writer]
            events = [_event(partition, number, self._padding) for number in range(first, first + self._batch)]
            request = tiering_pb2.AppendSegmentEventsRequest(
                partitions=[tiering_pb2.PartitionEvents(partition=partition_of(partition), events=events)]
            )
            try:
                reply = tiering_pb2_grpc.TieringStub(channel).AppendSegmentEvents(request, timeout=ATTEMPT_S)
            except grpc.RpcError as error:
                if error.code() not in _RETRIABLE:
                    self._failures.append(f"partition {partition}: {error.code()} {error.details()}")
                    return
                self._refuse(Refusal(error.code(), error.details() or ""))
                channel = random.choice(self._channels)  # noqa: S311  load, not secrets
                time.sleep(_REFUSED_PAUSE_S)
                continue
            if reply.results[0].error:
                self._failures.append(f"partition {partition}: {reply.results[0].error}")
                return
            self.acknowledged[writer] = first + self._batch
            self.acknowledged_at = time.monotonic()
            self._stopping.wait(self._pause_s)

    def _refuse(self, refusal: Refusal) -> None:
        with self._lock:
            self._refusals = [*self._refusals[-999:], refusal]


def _in_order(partition: int, count: int) -> list[bytes]:
    return [segment_id(partition, number) for number in range(count)]


def stored_events(channel: grpc.Channel, partition: int) -> list[bytes]:
    """The segment ids of a partition's events, in their order, read linearizably."""
    stub = tiering_pb2_grpc.TieringStub(channel)
    stored: list[bytes] = []
    while True:
        request = tiering_pb2.PullSegmentEventsRequest(
            partition=partition_of(partition), from_event_id=len(stored), max_events=_PULL
        )
        reply = stub.PullSegmentEvents(request, timeout=PATIENCE_S)
        for group in reply.groups:  # the first one may begin below what was asked for
            assert group.first_event_id <= len(stored), f"partition {partition}: a hole in the events"
            stored += [event.segment_id for event in group.events[len(stored) - group.first_event_id :]]
        if not reply.groups:
            return stored

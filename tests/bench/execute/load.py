"""What those who write notice: records with acks=all all the time, and a look at the ISRs every tenth of a second."""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field

from guardian.errors import GuardianError
from guardian.kafka import data
from guardian.kafka.control import KafkaControl
from guardian.model.topology import Cluster

_BATCH = 10
_BATCH_EVERY_S = 0.02
_LOOK_EVERY_S = 0.1
_RECORD_BYTES = 1000
# Java's default: what is not acknowledged by then has failed.
_DELIVERY_MS = 120_000


@dataclass
class Load:
    """From `with` to its end; then it tells. `moments` are looks that showed a partition below its min ISR."""

    cluster: Cluster
    topic: str
    min_isr: int
    acked: int = 0
    slowest_s: float = 0.0
    failures: list[str] = field(default_factory=list)
    looks: int = 0
    moments: list[str] = field(default_factory=list)
    _over: threading.Event = field(default_factory=threading.Event)
    _pool: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(2, "load"))
    _jobs: list[Future[None]] = field(default_factory=list)

    def __enter__(self) -> Load:
        self._jobs = [self._pool.submit(self._write), self._pool.submit(self._watch)]
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._pool.shutdown()
        for job in self._jobs:
            job.result()

    def _write(self) -> None:
        # Not idempotent: see tests/bench/README.md.
        producer = data.producer(
            self.cluster, acks="all", linger_ms=5, delivery_timeout_ms=_DELIVERY_MS, enable_idempotence=False
        )

        def delivered(error: data.KafkaError | None, message: data.Message) -> None:
            if error is not None:
                self.failures.append(str(error))
                return
            self.acked += 1
            self.slowest_s = max(self.slowest_s, message.latency() or 0.0)

        while not self._over.wait(_BATCH_EVERY_S):
            for _ in range(_BATCH):
                producer.produce(self.topic, time.time_ns().to_bytes(_RECORD_BYTES, "big"), on_delivery=delivered)
            producer.poll(0)
        left = producer.flush(_DELIVERY_MS / 1000)
        if left:
            self.failures.append(f"{left} records got no answer")

    def _watch(self) -> None:
        with closing(KafkaControl(self.cluster)) as admin:
            while not self._over.wait(_LOOK_EVERY_S):
                try:
                    states = admin.describe_partitions([self.topic])
                except GuardianError:
                    continue  # the broker that was asked is one that restarts
                self.looks += 1
                few = [f"{name} has {list(s.isr)}" for name, s in states.items() if len(s.isr) < self.min_isr]
                self.moments += few[:1]

"""A steady load beside a test, of which no record may be lost."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from guardian.kafka import data
from guardian.model.topology import Cluster

_DEADLINE_S = 300.0


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
        self._thread.join(_DEADLINE_S)
        assert not self._thread.is_alive()

    def _run(self) -> None:
        producer = data.producer(self.cluster, acks="all", linger_ms=5)

        def delivered(error: object, _message: object) -> None:
            if error is not None:
                self.failures.append(str(error))

        while not self._stop.wait(0.01):
            producer.produce(self.topic, self.sent.to_bytes(200, "big"), on_delivery=delivered)
            self.sent += 1
            producer.poll(0)
        left = producer.flush(_DEADLINE_S)
        self.failures += [f"{left} records were not delivered"] if left else []

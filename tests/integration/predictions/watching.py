"""Watches who leads, who is in sync and who is eligible, as the broker tells that knows the newest metadata."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from kafka.protocol.admin import DescribeTopicPartitionsRequest
from kafka.protocol.metadata import ApiVersionsRequest

from tests.integration.cut_brokers import witness
from tests.patience import PATIENCE_S

_EVERY_S = 0.5
_ANSWERS_S = 1.0  # a broker that hangs is left
_WITH_FEATURES = 3  # the first version of ApiVersions that tells features (Kafka 2.4)
_MOST = 2000


@dataclass(frozen=True, slots=True)
class State:
    """A partition as a broker tells it, ids in order; `leader` is -1 and `last_known` is empty where there is none."""

    leader: int
    isr: tuple[int, ...]
    elr: tuple[int, ...]
    last_known: tuple[int, ...] = ()


class Watch:
    """A context manager: it looks at partition 0 of each topic until its end, in a thread of its own, and once more.
    What is shorter than half a second may be missed."""

    def __init__(self, endpoints: Sequence[str], topics: Collection[str]) -> None:
        self.states: dict[str, list[State]] = {topic: [] for topic in topics}
        """The states of each topic, one after another."""
        self._endpoints = endpoints
        self._applied = -1
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive(), f"nobody has told who leads for {PATIENCE_S:g} s"

    def _run(self) -> None:
        over = False
        while not over:
            over = self._over.wait(_EVERY_S)
            with suppress(OSError):
                self._look()

    def _look(self) -> None:
        """Take what the broker says that has applied most, unless one that is away now had applied more."""
        applied, endpoint = max(self._applied_by(), default=(-1, ""))
        if applied < self._applied:
            return
        request = DescribeTopicPartitionsRequest[0](
            topics=[DescribeTopicPartitionsRequest.TopicRequest(name=topic) for topic in self.states],
            response_partition_limit=_MOST,
            cursor=None,
        )
        answer = witness.ask(endpoint, request, _ANSWERS_S)
        self._applied = applied
        for topic, state in read(answer):
            if self.states[topic][-1:] != [state]:
                self.states[topic].append(state)

    def _applied_by(self) -> Iterator[tuple[int, str]]:
        """Yield up to where each broker that answers has applied the metadata log."""
        request = ApiVersionsRequest[_WITH_FEATURES](client_software_name="watch", client_software_version="1")
        for endpoint in self._endpoints:
            with suppress(OSError):
                yield witness.ask(endpoint, request, _ANSWERS_S).finalized_features_epoch, endpoint


def read(answer: Any) -> Iterator[tuple[str, State]]:
    """Yield each topic of an answer to DescribeTopicPartitions that has a partition 0, and its state."""
    for topic in answer.topics:
        for each in topic.partitions:
            if each.partition_index == 0:
                elr, last = each.eligible_leader_replicas or (), each.last_known_elr or ()
                yield topic.name, State(each.leader_id, *(tuple(sorted(ids)) for ids in (each.isr_nodes, elr, last)))

"""Who produced to the topics that a simulated broker leads, and who read them, minute by minute. Pure.

A slice is worked out from its number alone, so that any of them can be had again, and is always the same. Who takes
part never changes, only how much: all but the numbers is laid out once a broker.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from deploy.local.fleet.shape import ClusterShape, team_of
from protos.guardian.v1 import reporter_pb2 as pb

SLICE_MS = 60_000
KEPT = 16
_TOPICS = 20  # the busiest, of which a slice tells
_PRODUCE_MESSAGES, _FETCH_MESSAGES, _HEARTBEATS = 20.0, 50.0, 500.0  # for one authorization


class ClientActivity:
    """Of one broker. `topics`: (topic, messages a second of average load) that it leads, the busiest first."""

    def __init__(self, shape: ClusterShape, topics: tuple[tuple[int, float], ...]) -> None:
        self._shape = shape
        self._laid_out = pb.ActivitySlice()
        self._positions: dict[str, int] = {}
        self._acted: list[tuple[int, float]] = []  # topic, times for each second of its average load
        self._produced: list[tuple[int, float]] = []  # topic, bytes; as the next
        self._fetched: list[tuple[int, float]] = []
        for topic, rate in topics[:_TOPICS]:
            self._lay_out(topic, rate)

    def slices(self, life_ms: int, at_ms: int, after: int) -> Iterator[pb.ActivitySlice]:
        """Those that are closed at this time, and came after number `after`: the last KEPT of them at most."""
        last = (at_ms - life_ms) // SLICE_MS
        first = max(after, last - KEPT) + 1
        for number in range(first, last + 1):
            lost = first - 1 - after if number == first and after else 0
            yield self._slice(life_ms + (number - 1) * SLICE_MS, number, lost)

    def _slice(self, from_ms: int, number: int, lost: int) -> pb.ActivitySlice:
        found = pb.ActivitySlice(number=number, from_ms=from_ms, to_ms=from_ms + SLICE_MS, lost_slices=lost)
        found.MergeFrom(self._laid_out)
        load = self._shape.written(found.to_ms / 1000) - self._shape.written(from_ms / 1000)
        found.allowed.extend(int(load[topic] * times) for topic, times in self._acted)
        found.denied.extend([0] * len(self._acted))
        found.bytes_produced.extend(float(np.floor(load[topic] * size)) for topic, size in self._produced)
        found.bytes_fetched.extend(float(np.floor(load[topic] * size)) for topic, size in self._fetched)
        return found

    def _lay_out(self, topic: int, messages: float) -> None:
        name = self._shape.topics.names[topic]
        size = messages * float(self._shape.topics.message_bytes[topic])
        owner = team_of(name)
        producer = (owner, f"{owner}-producer-{topic % 4}")
        self._act(topic, topic, producer, ("TOPIC", name, "WRITE"), messages / _PRODUCE_MESSAGES)
        self._move(topic, producer, size, 0.0)
        for reader in range(self._shape.topics.readers[topic]):
            who = owner if reader == 0 else f"reader-{(topic + reader) % 7}"
            client, host = (who, f"{who}-consumer-{reader}"), topic + reader
            self._act(topic, host, client, ("TOPIC", name, "READ"), messages / _FETCH_MESSAGES)
            self._act(topic, host, client, ("GROUP", f"{who}.{name}", "READ"), messages / _HEARTBEATS)
            self._move(topic, client, 0.0, size)

    def _act(self, topic: int, host: int, client: tuple[str, str], what: tuple[str, str, str], times: float) -> None:
        slice_, (user, client_id), (resource_type, resource, operation) = self._laid_out, client, what
        slice_.principals.append(self._at(f"User:{user}"))
        slice_.client_ids.append(self._at(client_id))
        slice_.addresses.append(self._at(f"10.{host % 3}.{host // 250 % 250}.{host % 250 + 1}"))
        slice_.resource_types.append(self._at(resource_type))
        slice_.resources.append(self._at(resource))
        slice_.operations.append(self._at(operation))
        self._acted.append((topic, times))

    def _move(self, topic: int, client: tuple[str, str], produced: float, fetched: float) -> None:
        user, client_id = client
        self._laid_out.byte_users.append(self._at(user))
        self._laid_out.byte_client_ids.append(self._at(client_id))
        self._produced.append((topic, produced))
        self._fetched.append((topic, fetched))

    def _at(self, text: str) -> int:
        position = self._positions.get(text)
        if position is None:
            position = self._positions[text] = len(self._positions)
            self._laid_out.strings.append(text)
        return position

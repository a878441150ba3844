"""Cordons: protobuf <-> model. Partitions travel as ranges: a broker may hold thousands."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from guardian.errors import InvalidInput
from guardian.model.cordon import Cordon
from guardian.model.topology import TopicPartition
from guardian.model.wire.fields import ByHand, by_hand, codec
from protos.guardian.v1 import placement_pb2 as pb

_MAX_PARTITIONS = 1_000_000  # of one broker: far more than Kafka bears


cordon_to_proto, cordon_from_proto = codec(Cordon, pb.Cordon)


def _write_replaced(message: pb.Cordon, replaced: str) -> None:
    message.replaced, message.had_value = replaced, True


def _write_held(message: pb.Cordon, held: Iterable[TopicPartition]) -> None:
    by_topic: dict[str, list[int]] = defaultdict(list)
    for partition in held:
        by_topic[partition.topic].append(partition.partition)
    for topic in sorted(by_topic):
        message.held.add(topic=topic, ranges=_ranges(sorted(by_topic[topic])))


def _ranges(numbers: list[int]) -> list[int]:
    """First and last of each run, one after the other."""
    ends: list[int] = []
    for number in numbers:
        if ends and ends[-1] == number - 1:
            ends[-1] = number
        else:
            ends += [number, number]
    return ends


def _held_from_proto(message: pb.Cordon) -> Iterator[TopicPartition]:
    total = 0
    for held in message.held:
        pairs = list(zip(held.ranges[::2], held.ranges[1::2], strict=False))
        if len(held.ranges) % 2 or any(first > last for first, last in pairs):
            raise InvalidInput(
                f"ranges of topic {held.topic} is {list(held.ranges)[:10]}: give first and last partition of each"
            )
        total += sum(last - first + 1 for first, last in pairs)
        if total > _MAX_PARTITIONS:
            raise InvalidInput(f"held of broker {message.broker_id} has more than {_MAX_PARTITIONS} partitions")
        for first, last in pairs:
            for number in range(first, last + 1):
                yield TopicPartition(held.topic, number)


by_hand(
    Cordon,
    replaced=ByHand(_write_replaced, lambda message: message.replaced if message.had_value else None),
    held=ByHand(_write_held, lambda message: frozenset(_held_from_proto(message))),
)

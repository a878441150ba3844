"""Copies that never end: producers write as fast as the throttle lets the copy go (KAFKA.md, traps 16 and 19). Pure.

    left = bytes of the leader's replica - bytes of the arriving one          for each copy, at each look

    left becomes less                                  it gains
    the same for `_PATIENCE_MS`, and producers write   it gains nothing: said, with the rate that holds it back

A plan with samples knows what producers write, and its rates stay above that; one from a file does not.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from guardian.model.cluster_state import ClusterObservation, LogDir
from guardian.model.effects import BROKER
from guardian.model.owned_setting import OwnedSetting
from guardian.model.throttle import FOLLOWER_RATE, LEADER_RATE
from guardian.model.topology import TopicPartition
from guardian.throttle.rules.throttling import Copy, megabytes

_PATIENCE_MS = 30_000
_NAMED = 3


class Way(NamedTuple):
    """A replica on its way."""

    partition: TopicPartition
    leader: int
    broker: int


class Gain(NamedTuple):
    """The least that was left of a copy, bytes, and since when; `leader_bytes` is what the leader held then."""

    left: int
    leader_bytes: int
    since_ms: int


def watched(
    before: Mapping[Way, Gain], copies: Iterable[Copy | None], observation: ClusterObservation, now_ms: int
) -> dict[Way, Gain]:
    """Return the gains of the copies under way whose leader and destination tell what they hold; of others as
    before.
    """
    held = _Held(observation)
    found: dict[Way, Gain] = {}
    for way in (Way(each.partition, each.leader, b) for each in copies if each for b in each.destinations):
        whole, arrived = (held.size(way.partition, broker) for broker in (way.leader, way.broker))
        known = before.get(way)
        if whole is not None and arrived is not None and (known is None or whole - arrived < known.left):
            found[way] = Gain(whole - arrived, whole, now_ms)
        elif known is not None:
            found[way] = known
    return found


def remarks(
    gains: Mapping[Way, Gain], throttles: Iterable[OwnedSetting], observation: ClusterObservation, now_ms: int
) -> tuple[str, ...]:
    """A sentence for each throttled copy that gains nothing."""
    rates = {(each.resource_name, each.key): str(each.value) for each in throttles if each.resource_type == BROKER}
    held = _Held(observation)
    stuck = [way for way, gain in sorted(gains.items()) if _gains_nothing(way, gain, held, now_ms)]
    said = [sentence for way in stuck for sentence in _sentence(way, rates)]
    return (*said[:_NAMED], f"{len(said) - _NAMED} more copies gain nothing") if len(said) > _NAMED else tuple(said)


def _gains_nothing(way: Way, gain: Gain, held: _Held, now_ms: int) -> bool:
    whole = held.size(way.partition, way.leader) if now_ms - gain.since_ms >= _PATIENCE_MS else None
    return whole is not None and whole > gain.leader_bytes


class _Held:
    """What brokers hold: a look at few of their many partitions."""

    def __init__(self, observation: ClusterObservation) -> None:
        self._log_dirs: dict[int, list[LogDir]] = defaultdict(list)
        for log_dir in observation.log_dirs:
            self._log_dirs[log_dir.broker].append(log_dir)

    def size(self, partition: TopicPartition, broker: int) -> int | None:
        """Bytes; None where the broker does not tell, or has no replica."""
        held = (each.replicas[partition] for each in self._log_dirs.get(broker, ()) if partition in each.replicas)
        return next((replica.size_bytes for replica in held), None)


def _sentence(way: Way, rates: Mapping[tuple[str, str], str]) -> Iterator[str]:
    keys = ((str(way.leader), LEADER_RATE), (str(way.broker), FOLLOWER_RATE))
    found = [int(rates[key]) for key in keys if rates.get(key)]
    if found:
        yield (
            f"{way.partition} gains nothing on broker {way.broker} at {megabytes(min(found))}: producers write as fast"
            "; raise the ticket's --throttle, or floor_mb_per_s under [throttle]"
        )

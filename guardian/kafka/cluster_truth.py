"""Which brokers' answers about a cluster to believe. Pure.

A broker answers from its own copy of the controllers' log. One that has lost the controllers goes on answering from an
old copy, and names leaders and in-sync replicas that are no longer so (FAULTS.md).

    controllers answer ──▶ a witness: a broker that applied what they had committed ──▶ `view_of_witness`
    none answers       ──▶ all brokers that answer, the highest leader epoch wins   ──▶ `view_of_all`

Leader epochs never go back: a state below the highest epoch that was ever seen is not believed, whoever tells it. What
stays open is `Unknown`, never a guess.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from guardian.errors import Undecided
from guardian.model.cluster_state import (
    BrokerAnswer,
    BrokerNode,
    ClusterDescription,
    ClusterView,
    PartitionState,
    Unknown,
)
from guardian.model.topology import TopicPartition

MAX_LAG_MS = 5_000.0
"""A broker that is connected applies a record at least every 0.5 s (metadata.max.idle.interval.ms)."""

LEAST_LAG_MS = -1_000.0
"""Below it the broker's clock is behind the controllers', and its lag tells nothing."""

MAX_AGE_S = 2.0
"""How old the controllers' watermark may be that a witness must have applied."""

Key = TypeVar("Key")

_NO_EPOCH = -1
_NO_ID = bytes(16)
_NAMED = 3
_ENOUGH = 2
_ALL_OLD = "no broker that answers knows what the controllers decided last"
_ALONE = "no controller answers, and one broker alone can't tell whether others live"


class EpochMemory:
    """The highest leader epoch ever seen of each partition, by topic id: 4 bytes each. For one thread at a time."""

    def __init__(self) -> None:
        self._epochs: dict[bytes, array[int]] = {}

    def highest(self, topic_id: bytes, partition: int) -> int:
        """Return -1 for what was never seen."""
        epochs = self._epochs.get(topic_id)
        return epochs[partition] if epochs is not None and partition < len(epochs) else _NO_EPOCH

    def learn(self, answer: BrokerAnswer) -> None:
        """Take the epochs that are higher than what is known."""
        for name, state in answer.partitions.items():
            topic_id = answer.topic_ids.get(name.topic, _NO_ID)
            if topic_id == _NO_ID:
                continue
            epochs = self._epochs.setdefault(topic_id, array("i"))
            if name.partition >= len(epochs):
                epochs.extend([_NO_EPOCH] * (name.partition + 1 - len(epochs)))
            epochs[name.partition] = max(epochs[name.partition], state.leader_epoch)

    def keep_only(self, topic_ids: Collection[bytes]) -> None:
        """Forget topics that were deleted."""
        for topic_id in self._epochs.keys() - set(topic_ids):
            del self._epochs[topic_id]


@dataclass(frozen=True, slots=True)
class ControllersClaim:
    """Holds what a controller says of its quorum.

    `is_backed`: a majority of the voters was with it a moment ago, so that no other leads.
    """

    epoch: int
    high_watermark: int
    is_backed: bool


@dataclass(slots=True)
class Watermarks:
    """Remembers what controllers had committed, and when that was asked.

    Offsets only grow; a claim below is an old leader's.
    """

    epoch: int = -1
    applied: int = -1
    _known: list[tuple[float, int]] = field(default_factory=list)  # asked at, high watermark; the oldest first

    def why_not(self, claim: ControllersClaim) -> str:
        """Return why the claim is not believed; empty: it is."""
        if not claim.is_backed:
            return "the controller has no majority of its quorum behind it"
        is_overtaken = claim.epoch == self.epoch  # by another answer of the same controller, which came first
        if claim.epoch < self.epoch or (claim.high_watermark < self._highest() and not is_overtaken):
            return f"the controller of epoch {claim.epoch} was replaced: epoch {self.epoch} was seen before"
        return ""

    def learn(self, claim: ControllersClaim, asked_at_s: float) -> None:
        """Take a claim that is believed; one that tells less than is known changes nothing."""
        if claim.high_watermark < self._highest():
            return
        self.epoch = claim.epoch
        self._known = [each for each in self._known if asked_at_s - each[0] <= MAX_AGE_S]
        self._known.append((asked_at_s, claim.high_watermark))

    def _highest(self) -> int:
        return self._known[-1][1] if self._known else -1

    def least(self, now_s: float, *, strictly: bool = False) -> int:
        """Return the offset that a witness must have applied: all that was committed `MAX_AGE_S` ago, or `strictly`
        all that is known to be committed. Never less than what an earlier witness had applied."""
        recent = [watermark for at_s, watermark in self._known if now_s - at_s <= MAX_AGE_S]
        known = [watermark for _, watermark in self._known]
        if not known:
            return self.applied
        return max(self.applied, (recent[0] if recent and not strictly else known[-1]) - 1)


def view_of_witness(witness: int, answer: BrokerAnswer, memory: EpochMemory) -> ClusterView:
    """Return what a broker says that is proven to know what the controllers decided."""
    partitions: dict[TopicPartition, PartitionState | Unknown] = {}
    for name, state in answer.partitions.items():
        highest = memory.highest(answer.topic_ids.get(name.topic, _NO_ID), name.partition)
        partitions[name] = _outdated(name, [witness], state.leader_epoch, highest) or state
    memory.learn(answer)
    return ClusterView(answer.cluster_id, dict(answer.brokers), partitions)


def view_of_all(
    answers: Mapping[int, BrokerAnswer],
    answering: Collection[int],
    lag_ms: Mapping[int, float],
    memory: EpochMemory,
    known: Collection[int] = (),
) -> ClusterView:
    """Return what can be believed while no controller answers.

    `answering` are all brokers that are there, of which `answers` may hold the most recent alone; who was asked and did
    not answer is in neither. `known` are those that belong to the cluster. `lag_ms` tells, by broker, the age of the
    last record that it applied: one whose lag has grown is not counted, and one with fresh metadata needs no other.
    Without it all brokers that may know better must answer: they, and whoever is to have a replica.
    """
    lag_ms = {broker: lag for broker, lag in lag_ms.items() if lag >= LEAST_LAG_MS}
    for answer in answers.values():
        memory.learn(answer)
    counted = {b: answer for b, answer in answers.items() if lag_ms.get(b, 0.0) <= MAX_LAG_MS}
    there = {b for b in (*answering, *answers) if lag_ms.get(b, 0.0) <= MAX_LAG_MS}
    fresh = frozenset(broker for broker in counted if broker in lag_ms)
    scene = _Scene(counted, frozenset(there), fresh, frozenset(known), memory)
    doubt = scene.doubt()
    brokers = dict(scene.brokers(answers))
    names = {name for answer in answers.values() for name in answer.partitions}
    partitions = {name: scene.partition(name) for name in sorted(names)}
    cluster_id = next((answer.cluster_id for answer in answers.values()), "")
    return ClusterView(
        cluster_id,
        {broker: found for broker, found in brokers.items() if found is not None},
        {name: found for name, found in partitions.items() if found is not None},
        doubt,
    )


def described(view: ClusterView) -> ClusterDescription:
    """Return who lives. Raises Undecided where that is unknown of a broker."""
    unknown = [f"broker {each}: {found.reason}" for each, found in _unknown(view.brokers)]
    _require_none(view, unknown)
    return ClusterDescription(
        view.cluster_id, {b: each for b, each in view.brokers.items() if isinstance(each, BrokerNode)}
    )


def partitions_of(view: ClusterView) -> dict[TopicPartition, PartitionState]:
    """Return the partitions. Raises Undecided where the state of one is unknown."""
    unknown = [f"{name}: {found.reason}" for name, found in _unknown(view.partitions)]
    _require_none(view, unknown)
    return {name: state for name, state in view.partitions.items() if isinstance(state, PartitionState)}


def _require_none(view: ClusterView, unknown: list[str]) -> None:
    reasons = [view.doubt] if view.doubt else unknown
    if reasons:
        more = f"; and {len(reasons) - _NAMED} more" if len(reasons) > _NAMED else ""
        raise Undecided(f"the state of the cluster is unknown: {'; '.join(reasons[:_NAMED])}{more}")


def _unknown(found: Mapping[Key, object]) -> Iterator[tuple[Key, Unknown]]:
    return ((key, each) for key, each in found.items() if isinstance(each, Unknown))


@dataclass(frozen=True, slots=True)
class _Scene:
    """Answers without a controller's: those that count, who is there at all, and whose metadata is fresh."""

    counted: Mapping[int, BrokerAnswer]
    there: frozenset[int]
    fresh: frozenset[int]
    known: frozenset[int]
    memory: EpochMemory

    def silent(self) -> frozenset[int]:
        """Return the brokers that may live and do not answer."""
        named = {broker for answer in self.counted.values() for broker in answer.brokers}
        hosting = {b for a in self.counted.values() for state in a.partitions.values() for b in state.replicas}
        return frozenset(named | hosting | self.known) - self.there

    def doubt(self) -> str:
        """Return why nothing is decided; empty: what is not Unknown is."""
        if not self.counted:
            return _ALL_OLD
        if self.fresh:
            return ""
        silent = self.silent()
        if silent:
            return _doubt(silent)
        return _ALONE if len(self.there) < _ENOUGH else ""

    def brokers(self, answers: Mapping[int, BrokerAnswer]) -> Iterator[tuple[int, BrokerNode | Unknown | None]]:
        """Each that some answer names, or that answers itself; None: it does not live."""
        nodes = {broker: node for answer in answers.values() for broker, node in answer.brokers.items()}
        voices = self.fresh or frozenset(self.counted)
        doubt = self.doubt()
        for broker in sorted({*nodes, *self.there, *answers, *(self.known if doubt else ())}):
            sayers = sorted(voice for voice in voices if broker in self.counted[voice].brokers)
            if doubt:
                yield broker, Unknown(doubt)
            elif len(sayers) == len(voices):
                yield broker, nodes[broker]
            elif not sayers and broker not in self.there:
                yield broker, None
            else:
                others = sorted(voices - set(sayers))
                yield broker, Unknown(f"no controller answers, and {_brokers(others)} do not count it among the living")

    def partition(self, name: TopicPartition) -> PartitionState | Unknown | None:
        """The state at the highest leader epoch, where nobody who may know better is silent; None: it is not there."""
        doubt = self.doubt()
        if doubt:
            return Unknown(doubt)
        voices = self.fresh or frozenset(self.counted)
        ids = {self.counted[voice].topic_ids.get(name.topic, _NO_ID) for voice in voices}
        told = {voice: state for voice in voices if (state := self.counted[voice].partitions.get(name)) is not None}
        if self.fresh and not told:
            return None
        if len(ids) > 1 or len(told) < len(voices):
            return Unknown("no controller answers, and brokers differ about whether it exists")
        topic_id = next(iter(ids))
        same = {b: a.partitions[name] for b, a in self.counted.items() if _has(a, name, topic_id)}
        top = max(state.leader_epoch for state in same.values())
        best = [state for state in same.values() if state.leader_epoch == top]
        outdated = _outdated(name, same, top, self.memory.highest(topic_id, name.partition))
        if outdated is not None:
            return outdated
        if any(state != best[0] for state in best):
            return Unknown(f"no controller answers, and brokers differ about it at leader epoch {top}")
        return best[0]


def _has(answer: BrokerAnswer, name: TopicPartition, topic_id: bytes) -> bool:
    return name in answer.partitions and answer.topic_ids.get(name.topic, _NO_ID) == topic_id


def _outdated(name: TopicPartition, brokers: Iterable[int], epoch: int, highest: int) -> Unknown | None:
    if epoch >= highest:
        return None
    named = _brokers(sorted(brokers))
    return Unknown(f"{named} told leader epoch {epoch} of {name}, and {highest} was seen before")


def _doubt(silent: Collection[int]) -> str:
    named = _brokers(sorted(silent))
    return f"no controller answers, and {named}, which may know better, can't be reached"


def _brokers(brokers: Collection[int]) -> str:
    return f"broker{'s' if len(brokers) > 1 else ''} {', '.join(map(str, brokers))}"

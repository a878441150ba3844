"""Excluded brokers are cordoned: Kafka itself puts no new replica there. What that replaces is restored in the end.

    exclusion   cordon                       this step
    ─────────   ──────────────────────────   ──────────────────────────────────────────────────────────────
    there       none                         note what the broker holds; note what stands there; set the cordon
    there       set                          what has left is held no longer; set it again where it has gone
    lifted      set                          restore what stood there, if the cordon is still ours
    lifted      restored, or not ours        forget it

Intent before effect: a cordon is stored with what it replaces before it is sent, and is forgotten only when Kafka
shows that nothing of ours is left (one step later, because a broker may answer from before the last change); so a step
that is repeated after a crash comes to the same end. What a broker that is down owes is restored through a controller,
and stays a debt while none answers; what somebody else has set there meanwhile (`is_foreign`) stays. Where
Kafka knows no cordons (before 4.3) the record is kept all the same: what the broker held tells later which replicas
have strayed there.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from guardian.core.effects import ConfigChange, ConfigKey
from guardian.model.cordon import Cordon
from guardian.model.text import Text
from guardian.model.topology import TopicPartition

BROKER = "BROKER"
CORDONED = "cordoned.log.dirs"
ALL_LOG_DIRS = "*"
_CORDONED_LATER = "it is down, and is cordoned when it is back"
_LEFT_ALONE = "was set by somebody else and is left alone"


@dataclass(frozen=True, slots=True)
class BrokerLook:
    """A broker as Kafka shows it now. `value` is its `cordoned.log.dirs`; `holds` are its replicas' partitions.

    `knows_cordons` is False on a broker whose Kafka has no such configuration.
    """

    is_alive: bool
    value: str | None = None
    knows_cordons: bool = True
    holds: frozenset[TopicPartition] = frozenset()


@dataclass(frozen=True, slots=True)
class CordonStep:
    """`put` and `dropped` are to be stored at once; then `changes` are to be sent, each where Kafka still shows what it
    was decided from. What brokers that are down have of `owed` is to be restored through a controller; then these are
    dropped. `sentences` say what was done and what is awaited."""

    put: tuple[Cordon, ...] = ()
    dropped: tuple[Cordon, ...] = ()
    changes: Mapping[ConfigKey, ConfigChange] = field(default_factory=dict)
    owed: tuple[Cordon, ...] = ()
    sentences: tuple[Text, ...] = ()


@dataclass(frozen=True, slots=True)
class _Decided:
    """About one broker. `cordon` None: there is to be none."""

    cordon: Cordon | None
    change: ConfigChange | None = None
    sentence: str = ""
    is_owed: bool = False


def step(
    cluster: str,
    excluded: Collection[int],
    cordons: Collection[Cordon],
    look: Mapping[int, BrokerLook],
    now_ms: int,
) -> CordonStep:
    """What to do about the cluster's brokers now; `look` names all that are excluded or have a cordon."""
    known = {cordon.broker_id: cordon for cordon in cordons}
    put: list[Cordon] = []
    dropped: list[Cordon] = []
    changes: dict[ConfigKey, ConfigChange] = {}
    owed: list[Cordon] = []
    sentences: list[str] = []
    for broker in sorted({*excluded, *known}):
        before = known.get(broker)
        seen = look[broker]
        if broker in excluded:
            decided = _exclude(before or Cordon(cluster, broker, since_ms=now_ms, held=seen.holds), seen, now_ms)
        elif before is not None:
            decided = _lift(before, seen)
        after = decided.cordon
        if after is None and before is not None:
            dropped.append(before)
        elif after is not None and after != before:
            put.append(after)
        if decided.is_owed and after == before and after is not None:
            owed.append(after)
        if decided.change is not None:
            changes[ConfigKey(BROKER, str(broker), CORDONED)] = decided.change
        if decided.sentence:
            sentences.append(f"broker {broker} of cluster {cluster}: {decided.sentence}")
    return CordonStep(tuple(put), tuple(dropped), changes, tuple(owed), tuple(sentences))


def _exclude(cordon: Cordon, seen: BrokerLook, now_ms: int) -> _Decided:
    if cordon.is_lifted:
        # Excluded anew: what came meanwhile came rightly. What was replaced is still that.
        cordon = replace(cordon, is_lifted=False, since_ms=now_ms, held=seen.holds)
    cordon = replace(cordon, held=cordon.held & seen.holds, note="")
    if not seen.is_alive:
        note = f"it is down; its {CORDONED} {_LEFT_ALONE}" if cordon.is_foreign else _CORDONED_LATER
        return _waits(cordon, note)
    cordon = replace(cordon, is_foreign=False)
    if not seen.knows_cordons:
        return _waits(cordon, "its Kafka knows no cordons (4.3 does): what strays there is moved away afterwards")
    if not cordon.value:
        ours = replace(cordon, value=ALL_LOG_DIRS, replaced=seen.value)
        change = None if seen.value == ALL_LOG_DIRS else ConfigChange(seen.value, ALL_LOG_DIRS)
        return _Decided(ours, change, "cordoned: Kafka puts no new replicas there")
    if seen.value == cordon.value:
        return _Decided(cordon)
    if seen.value in (None, cordon.replaced):
        return _Decided(cordon, ConfigChange(seen.value, cordon.value), "cordoned again: the cordon had gone")
    return _waits(replace(cordon, is_foreign=True), _foreign_note(seen))


def _lift(cordon: Cordon, seen: BrokerLook) -> _Decided:
    if not cordon.value:
        return _Decided(None, None, "the exclusion was lifted")
    is_first_look = not cordon.is_lifted
    if not seen.is_alive and cordon.is_foreign:
        return _Decided(None, None, f"the exclusion was lifted; {CORDONED} {_LEFT_ALONE}")
    cordon = replace(cordon, is_lifted=True, held=frozenset(), note="", is_foreign=False)
    if not seen.is_alive:
        note = f"the exclusion was lifted; {CORDONED} is restored through a controller, as the broker is down"
        return _Decided(replace(cordon, note=note), None, note, is_owed=True)
    if seen.value == cordon.value != cordon.replaced:
        return _Decided(cordon, ConfigChange(seen.value, cordon.replaced), "the cordon is being lifted")
    if is_first_look:
        if seen.value not in (None, cordon.value, cordon.replaced):
            cordon = replace(cordon, note=_foreign_note(seen), is_foreign=True)
        return _Decided(cordon, None, "the cordon is being lifted")
    return _Decided(None, None, "the cordon was lifted")


def was_never_set(cordon: Cordon, refusal: str) -> bool:
    """Whether a controller refused to delete the key: that it does at a `metadata.version` which knows no cordons yet
    (below 4.3-IV0), as while a cluster is upgraded, and then none of its brokers has one."""
    return cordon.replaced is None and refusal.startswith("INVALID_CONFIG")


def _foreign_note(seen: BrokerLook) -> str:
    return f"{CORDONED} is {seen.value}: it {_LEFT_ALONE}"


def _waits(cordon: Cordon, note: str) -> _Decided:
    return _Decided(replace(cordon, note=note), None, note)

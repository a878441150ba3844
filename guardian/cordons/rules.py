"""Excluded brokers are cordoned: Kafka itself puts no new replica there. What that replaces is restored in the end.

    exclusion   cordon                       this step
    ─────────   ──────────────────────────   ──────────────────────────────────────────────────────────────
    there       none                         note what the broker holds; note what stands there; set the cordon
    there       set                          what has left is held no longer; set it again where it has gone
    lifted      set                          restore what stood there, if the cordon is still ours
    lifted      restored, or not ours        forget it

What is set, restored, owed or left alone follows from the engine (settings/rules.py). Where Kafka knows no cordons
(before 4.3) the record is kept all the same: what the broker held tells later which replicas have strayed there.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from guardian.model.cordon import Cordon
from guardian.model.effects import BROKER, CORDONED, ConfigChange, ConfigKey
from guardian.model.federation import Exclusion
from guardian.model.owned_setting import OwnedSetting
from guardian.model.text import Text
from guardian.model.topology import TopicPartition
from guardian.settings import rules as owned_settings
from guardian.settings.rules import Live, Policy

ALL_LOG_DIRS = "*"
_CORDONED_LATER = "it is down, and is cordoned when it is back"
_POLICY = Policy(sets_deleted_again=True)


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
    """`put` and `dropped` are to be stored at once. Then `changes` are to be sent, each where Kafka still shows what it
    was decided from, and `debts` are to be settled: those cordons are dropped then. `sentences` say what was done and
    what is awaited.
    """

    put: tuple[Cordon, ...] = ()
    dropped: tuple[Cordon, ...] = ()
    changes: Mapping[ConfigKey, ConfigChange] = field(default_factory=dict)
    debts: Mapping[ConfigKey, str | None] = field(default_factory=dict)
    sentences: tuple[Text, ...] = ()


@dataclass(frozen=True, slots=True)
class _Decided:
    """About one broker. `cordon` None: there is to be none."""

    cordon: Cordon | None
    change: ConfigChange | None = None
    sentence: str = ""
    debts: Mapping[ConfigKey, str | None] = field(default_factory=dict)


def step(
    cluster: str,
    excluded: Collection[int],
    cordons: Collection[Cordon],
    look: Mapping[int, BrokerLook],
    now_ms: int,
) -> CordonStep:
    """Decide what to do about the cluster's brokers now; `look` names all that are excluded or have a cordon."""
    known = {cordon.broker_id: cordon for cordon in cordons}
    put: list[Cordon] = []
    dropped: list[Cordon] = []
    changes: dict[ConfigKey, ConfigChange] = {}
    debts: dict[ConfigKey, str | None] = {}
    sentences: list[str] = []
    for broker in sorted({*excluded, *known}):
        before, seen = known.get(broker), look[broker]
        cordon = before or Cordon(cluster, broker, since_ms=now_ms, held=seen.holds)
        decided = _exclude(cordon, seen, now_ms) if broker in excluded else _decide(cordon, seen, is_excluded=False)
        after = decided.cordon
        if after is None and before is not None:
            dropped.append(before)
        elif after is not None and after != before:
            put.append(after)
        if after == before:
            debts |= decided.debts
        if decided.change is not None:
            changes[ConfigKey(BROKER, str(broker), CORDONED)] = decided.change
        if decided.sentence:
            sentences.append(f"broker {broker} of cluster {cluster}: {decided.sentence}")
    return CordonStep(tuple(put), tuple(dropped), changes, debts, tuple(sentences))


def _exclude(cordon: Cordon, seen: BrokerLook, now_ms: int) -> _Decided:
    if cordon.is_lifted:
        # Excluded anew: what came meanwhile came rightly. What was replaced is still that.
        cordon = replace(cordon, is_lifted=False, since_ms=now_ms, held=seen.holds)
    cordon = replace(cordon, held=cordon.held & seen.holds)
    if seen.is_alive and not seen.knows_cordons:
        return _waits(cordon, "its Kafka knows no cordons (4.3 does): what strays there is moved away afterwards")
    if not seen.is_alive:
        note = f"it is down; its {CORDONED} was set by somebody else and is left alone"
        return _waits(cordon, note if cordon.is_foreign else _CORDONED_LATER)
    return _decide(cordon, seen, is_excluded=True)


def _decide(cordon: Cordon, seen: BrokerLook, *, is_excluded: bool) -> _Decided:
    key = ConfigKey(BROKER, str(cordon.broker_id), CORDONED)
    shown = {CORDONED: seen.value} if seen.value is not None else {}
    live = Live({key[:2]: shown}) if seen.is_alive else Live({}, down=frozenset({key[:2]}))
    required = {key: ALL_LOG_DIRS} if is_excluded else {}
    found = owned_settings.reconcile(required, _owned(key, cordon), live, _POLICY)
    change, note = found.changes.get(key), found.notes[0] if found.notes and not found.changes else ""
    if not found.settings and not is_excluded:
        return _Decided(None, None, note or ("the cordon was lifted" if cordon.value else "the exclusion was lifted"))
    was_set = bool(cordon.value)
    cordon = replace(cordon, value="", replaced=None, is_foreign=False, note=note)
    for setting in found.settings:
        cordon = replace(cordon, value=setting.value or "", replaced=setting.replaced, is_foreign=setting.is_foreign)
    if not is_excluded:
        cordon = replace(cordon, is_lifted=True, held=frozenset())
        return _Decided(cordon, change, note or "the cordon is being lifted", found.debts)
    if change is None:
        return _Decided(cordon, None, note)
    again = "cordoned again: the cordon had gone"
    return _Decided(cordon, change, again if was_set else "cordoned: Kafka puts no new replicas there")


def _owned(key: ConfigKey, cordon: Cordon) -> list[OwnedSetting]:
    leaving = (cordon.value,) if cordon.is_lifted else ()
    owned = OwnedSetting(*key, (cordon.value,), cordon.replaced, leaving, cordon.is_foreign)
    return [owned] if cordon.value else []


def _waits(cordon: Cordon, note: str) -> _Decided:
    return _Decided(replace(cordon, note=note), None, note)


def is_in_force(exclusion: Exclusion, now_ms: int) -> bool:
    """Say whether the exclusion holds now: one without an end always does."""
    return exclusion.until_ms == 0 or now_ms < exclusion.until_ms

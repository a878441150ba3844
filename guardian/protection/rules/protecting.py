"""An unhealthy disk is protected: what is abnormal is held back until it recovers, then let go again. Pure.

    protect(what is held, what is seen) -> what to store, then what to send

    disk OVER its limits     the largest abnormal doing that can still be held back is cut to CUT of what it moves; one
                             at its least is passed over for the next (core.protection_levers)
    disk BETWEEN             nothing
    at any time              what had no abnormal doing for a window is let go a step, twofold; a quota for a disk whose
                             broker is gone goes at once; a replica that its partition needs in sync, or that a
                             reassignment moves, is let go; what is below what must flow through it by now is raised to
                             that
    disk UNDER them          what was held back last is let go a step: GENTLY where it still wants more, else twofold;
                             where that is as much as before the first cut, it goes
    nothing seen for long    as UNDER: nothing stays behind without a reason that somebody can see
    released by a person     all of it goes at once, and nothing comes back before the time that was given

One step a disk, then its effect is awaited: Kafka averages over ten seconds, and a disk's condition counts from the
last step on. Intent before effect: the record of what may stand in Kafka is stored before it is sent. A record goes
only once Kafka shows what was there before, and nothing that was sent can still be on its way (SETTLE_MS). Of quotas it
stays for LATE_MS after the last change, for any broker takes a request for one, also one that was stopped and goes on
later. What shows again with no lever for it is taken back.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from guardian.health.rules.disk_limits import DiskLimits
from guardian.model.effects import AlterConfigs, ConfigChange, ConfigKey, SettleDebts
from guardian.model.owned_setting import OwnedSetting
from guardian.model.protection import DiskCondition, DiskKey, DiskState, Doing, Hold, Lever, LeverKind, Protection
from guardian.model.settings import Section, setting
from guardian.model.units import human_bytes
from guardian.protection.rules.disk_doings import ClientLoads, ClusterLook
from guardian.protection.rules.protection_levers import (
    Age,
    Candidate,
    LeverIdentity,
    candidates,
    is_held,
    key_of,
    least_of,
    least_of_quota,
    limit_before,
    lists_for,
    partitions_of,
    reasons,
    reconcile,
    wanted,
    why_no_more,
    without_partitions,
)
from guardian.settings.rules import CLIENT, SETTLE_MS, name_of

CUT = 0.5
GENTLY = 1.25
LATE_MS = 3_600_000  # but for one that lay in the socket of a broker that was stopped meanwhile
_USED = 0.8  # who moves so much of what is allowed wants more
_WORTH = 0.9  # a limit that is nearly what is moved anyway changes nothing


@dataclass(frozen=True, slots=True)
class ProtectionSettings(Section):
    """Say what is done about disks over their limits (guardian/protection/README.md)."""

    mode: Literal["off", "observe", "act"] = setting(
        "observe", "With act what is abnormal is held back; with off no disk is looked at."
    )
    look_s: float = setting(5.0, "Time between two looks at an unhealthy disk.", above=0, most=86_400)
    window_s: float = setting(
        60.0, "A disk is unhealthy when it is over a limit for so long, on the average.", least=1, most=3600
    )
    step_s: float = setting(30.0, "Time between two steps for one disk.", least=1, most=3600)
    utilisation: float = setting(0.9, "Limit of the share of the time that a disk is busy.", least=0.01, most=1)
    await_ms: float = setting(50.0, "Limit of the time that an I/O takes.", least=0.1, most=60_000)
    floor_mb_per_s: float = setting(1.0, "Nothing is held back to less.", above=0, most=1e6)
    blind_s: float = setting(
        300.0, "What is held for a disk that can't be seen any more is let go after that.", least=1, most=86_400
    )
    levers: int = 50
    late_ms: int = LATE_MS

    @property
    def acts(self) -> bool:
        """Return whether anything is held back; else what is held is let go."""
        return self.mode == "act"

    @property
    def limits(self) -> DiskLimits:
        return DiskLimits(self.utilisation, self.await_ms, int(self.window_s * 1000))

    @property
    def step_ms(self) -> int:
        return int(self.step_s * 1000)

    @property
    def floor(self) -> int:
        """Return the least, in bytes/s, that anything is cut to."""
        return max(1, round(self.floor_mb_per_s * 1e6))

    @property
    def blind_ms(self) -> int:
        """Return for how long what is held stays although nothing is known of its disk."""
        return int(self.blind_s * 1000)


ProtectionEffect = AlterConfigs | SettleDebts


@dataclass(frozen=True, slots=True)
class View:
    """What is seen of a cluster: conditions of the disks that were looked at, counted from their last steps on, and
    what is done to them. `held` are the configuration keys that tickets hold at present. `reasons_ms` is when levers
    last had an abnormal doing, by `last_reasons`; of one that is not in it, now."""

    cluster: ClusterLook
    conditions: Mapping[DiskKey, DiskCondition] = field(default_factory=dict)
    doings: Sequence[Doing] = ()
    loads: ClientLoads = field(default_factory=dict)
    held: frozenset[ConfigKey] = frozenset()
    reasons_ms: Mapping[LeverIdentity, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ProtectionStep:
    """`protection` is to be stored where it changed, then `effects` are to be sent. `sentences` say what was done,
    `remarks` what can't be."""

    protection: Protection
    effects: tuple[ProtectionEffect, ...]
    sentences: tuple[str, ...]
    remarks: tuple[str, ...]


@dataclass(slots=True)
class _Draft:
    """What becomes of the levers in one step."""

    levers: list[Lever]
    stepped: dict[DiskKey, int]
    sentences: list[str]
    remarks: list[str]
    blocked: frozenset[ConfigKey]
    recorded: tuple[OwnedSetting, ...]


def since_ms(protection: Protection, disk: DiskKey) -> int:
    """Return from when on the disk's condition counts: its last step, in ms; 0: there was none."""
    return dict(protection.stepped_ms).get(disk, 0)


def last_reasons(
    before: Mapping[LeverIdentity, int],
    levers: Sequence[Lever],
    told: Collection[DiskKey],
    doings: Sequence[Doing],
    loads: ClientLoads,
    cluster: ClusterLook,
    now_ms: int,
) -> dict[LeverIdentity, int]:
    """Return when each lever last had a reason, which is an abnormal doing, after one more look. `before` is what came
    of the look before. Of disks that were not `told` of nobody knows that there is none now.
    """
    found = reasons(doings, loads, cluster)
    return {
        lever.identity: now_ms
        if lever.identity in found or lever.disk not in told
        else before.get(lever.identity, now_ms)
        for lever in levers
    }


def protect(now: Protection, view: View, settings: ProtectionSettings, now_ms: int) -> ProtectionStep:
    """One step of one cluster."""
    holds = tuple(hold for hold in now.holds if hold.until_ms > now_ms)
    age = _age(now, settings, now_ms)
    # Whose values stand where ours should is found out before anything is decided on them.
    present = reconcile(now.intents, wanted(now.levers), age, view.cluster, view.held)
    draft = _Draft(list(now.levers), dict(now.stepped_ms), [], [], present.blocked, now.intents)
    if settings.acts:
        _drop_held(draft, holds)
        _drop_moved(draft, view)
        _drop_needed(draft, view)
        _raise_to_least(draft, view, settings)
        _let_go_without_reason(draft, view, settings, now_ms)
        for disk in sorted({*view.conditions, *(lever.disk for lever in now.levers)}):
            _step_disk(draft, disk, view, settings, holds, now_ms)
    else:
        _drop(draft, draft.levers, "protection does not act any more")
    found = reconcile(now.intents, wanted(draft.levers), age, view.cluster, view.held)
    effects = _effects(found.changes, found.debts)
    levers = tuple(draft.levers)
    stepped = tuple(
        sorted((disk, at_ms) for disk, at_ms in draft.stepped.items() if _is_recent(at_ms, now_ms, settings))
    )
    note = "; ".join(draft.sentences) or now.note
    changed_at_ms = now_ms if found.changes else now.changed_at_ms
    stored = replace(
        now,
        levers=levers,
        intents=found.settings,
        holds=holds,
        note=note,
        stepped_ms=stepped,
        changed_at_ms=changed_at_ms,
    )
    return ProtectionStep(stored, effects, tuple(draft.sentences), (*dict.fromkeys([*draft.remarks, *found.notes]),))


def released(
    now: Protection, broker: int | None, disk: str, until_ms: int, by: str, disks: Sequence[DiskKey] = ()
) -> tuple[Protection, tuple[Lever, ...]]:
    """Nothing is held any more for these disks (None and "": all), nor before `until_ms`; and what was. `disks` are
    those known to be unhealthy, which get nothing new either."""

    def is_meant(key: DiskKey) -> bool:
        return (broker is None or key.broker == broker) and (not disk or key.disk == disk)

    gone = tuple(lever for lever in now.levers if is_meant(lever.disk))
    meant = sorted({lever.disk for lever in gone} | {key for key in disks if is_meant(key)})
    kept = tuple(hold for hold in now.holds if hold.disk not in meant)
    holds = kept + tuple(Hold(key, until_ms, by) for key in meant)
    levers = tuple(lever for lever in now.levers if lever not in gone)
    names = ", ".join(map(str, meant)) or "nothing"
    return replace(now, levers=levers, holds=holds, note=f"{by} released {names}"), gone


def remembers_alone(protection: Protection, now_ms: int) -> bool:
    """Nothing is held or owed: what is left on record are quotas that were put back, for a request that comes late."""
    is_settled = now_ms - protection.changed_at_ms >= SETTLE_MS
    return is_settled and not protection.levers and {each.resource_type for each in protection.intents} == {CLIENT}


def _age(protection: Protection, settings: ProtectionSettings, now_ms: int) -> Age:
    lasts_ms = now_ms - protection.changed_at_ms
    return Age.FORGOTTEN if lasts_ms >= settings.late_ms else Age.SETTLED if lasts_ms >= SETTLE_MS else Age.NEW


def _is_recent(at_ms: int, now_ms: int, settings: ProtectionSettings) -> bool:
    return now_ms - at_ms < max(settings.limits.window_ms, settings.step_ms, settings.blind_ms) * 2


def _drop_held(draft: _Draft, holds: tuple[Hold, ...]) -> None:
    free = {hold.disk: hold for hold in holds}
    for lever in [lever for lever in draft.levers if lever.disk in free]:
        _drop(draft, [lever], f"{free[lever.disk].by} released {lever.disk}")


def _drop_moved(draft: _Draft, view: View) -> None:
    """Whoever read from a broker that is gone reads from another one by now, where nothing is wrong with it."""
    for lever in list(draft.levers):
        is_gone = bool(view.cluster.brokers) and lever.disk.broker not in view.cluster.brokers
        if is_gone and lever.kind is LeverKind.CLIENT_QUOTA:
            _drop(draft, [lever], f"broker {lever.disk.broker} is down, and its clients have moved to others")


def _drop_needed(draft: _Draft, view: View) -> None:
    """Drop levers, or partitions of them, that were right but may be wrong by now. Redundancy comes before the disk,
    and who has caught up leaves room to the others.
    """
    for lever in list(draft.levers):
        refusals = {partition: why_no_more(lever, partition, view.cluster) for partition in partitions_of(lever)}
        needed = {partition: why for partition, why in refusals.items() if why}
        if not needed:
            continue
        kept = without_partitions(lever, needed)
        if not kept.entries:
            _drop(draft, [lever], "; ".join(needed.values()))
            continue
        if any(is_held(lever.kind, partition, view.held) for partition in needed):
            _drop(draft, [lever], f"{'; '.join(needed.values())}; and a ticket uses the list that it is on")
            continue
        draft.levers[draft.levers.index(lever)] = kept
        draft.sentences.append(f"{title(lever)} holds for fewer: {'; '.join(needed.values())}")


def _raise_to_least(draft: _Draft, view: View, settings: ProtectionSettings) -> None:
    for disk in sorted({lever.disk for lever in draft.levers}):
        offered = candidates(disk, view.doings, view.loads, view.cluster, settings.floor).found
        least = {candidate.identity: candidate.least for candidate in offered}
        for lever in [lever for lever in draft.levers if lever.disk == disk]:
            needed = least.get(lever.identity, 0)
            if lever.entries:
                needed = max(needed, least_of(lever.kind, disk, lever.entries, view.doings, settings.floor))
            elif lever.kind is LeverKind.CLIENT_QUOTA:
                # Also of one that does nothing abnormal any more: it may read all that it reads elsewhere by now.
                needed = max(needed, least_of_quota(disk, lever.subject, view.loads, settings.floor))
            if needed <= lever.value:
                continue
            reason = "as much must flow through it by now"
            if needed >= lever.before:
                _drop(draft, [lever], reason)
                continue
            raised = replace(lever, value=needed, least=needed)
            draft.levers[draft.levers.index(lever)] = raised
            draft.sentences.append(f"{title(raised)}, up from {human_bytes(lever.value)}/s: {reason}")


def _drop(draft: _Draft, levers: Sequence[Lever], reason: str) -> None:
    for lever in list(levers):
        draft.levers.remove(lever)
        draft.sentences.append(f"{title(lever)} is lifted: {reason}")


def _step_disk(
    draft: _Draft,
    disk: DiskKey,
    view: View,
    settings: ProtectionSettings,
    holds: tuple[Hold, ...],
    now_ms: int,
) -> None:
    last_ms = draft.stepped.get(disk, 0)
    if now_ms - last_ms < settings.step_ms or any(hold.disk == disk for hold in holds):
        return
    condition = view.conditions.get(disk)
    state = condition.state if condition else DiskState.UNKNOWN
    mine = [lever for lever in draft.levers if lever.disk == disk and _has_reason(lever, view, settings, now_ms)]
    if state is DiskState.OVER and condition:
        if _tighten(draft, disk, condition, view, settings, now_ms):
            draft.stepped[disk] = now_ms
    elif mine and state is DiskState.UNDER:
        _let_go(draft, mine, view, "the disk has recovered", now_ms)
        draft.stepped[disk] = now_ms
    elif mine and state is DiskState.UNKNOWN and now_ms - last_ms >= settings.blind_ms:
        reason = f"nothing is seen of {disk}"
        if disk.broker in view.cluster.brokers:
            _let_go(draft, mine, view, reason, now_ms)
        else:
            _drop(draft, mine, f"{reason}, whose broker is down")
        draft.stepped[disk] = now_ms


def _tighten(
    draft: _Draft,
    disk: DiskKey,
    condition: DiskCondition,
    view: View,
    settings: ProtectionSettings,
    now_ms: int,
) -> bool:
    """Cut something more for the disk and return whether that was done."""
    offered = candidates(disk, view.doings, view.loads, view.cluster, settings.floor, view.held)
    draft.remarks.extend(offered.remarks)
    levers = {lever.identity: lever for lever in draft.levers}
    for candidate in offered.found:
        lever = levers.get(candidate.identity)
        refusal = _refusal(draft, candidate, lever, view, settings)
        if refusal:
            draft.remarks.append(refusal)
            continue
        cut = _cut(_with_listed(candidate, lever, view, settings), lever, view, now_ms)
        if cut is None:
            draft.remarks.append(f"{_what(candidate)} is at its least, or moves too little to matter: {candidate.hit}")
            continue
        if lever is not None:
            draft.levers.remove(lever)
        draft.levers.append(cut)
        draft.sentences.append(f"{disk}: {condition.why}: {title(cut)}, because {cut.why}; this hits {cut.hit}")
        return True
    draft.remarks.append(f"{disk}: {condition.why}, and nothing abnormal is left that could be held back")
    return False


def _refusal(draft: _Draft, candidate: Candidate, lever: Lever | None, view: View, settings: ProtectionSettings) -> str:
    if key_of(candidate) in draft.blocked or key_of(candidate) in view.held:
        return f"{_what(candidate)} is set by somebody else and is left alone"
    if lever is None and lists_for(candidate.kind, candidate.disk.broker, draft.recorded, view.held):
        return f"{_what(candidate)} is not set: replicas that it is not for stay listed until a ticket ends"
    if lever is None and len(draft.levers) >= settings.levers:
        return f"{_what(candidate)} is not set: {settings.levers} are held already"
    return ""


def _with_listed(candidate: Candidate, lever: Lever | None, view: View, settings: ProtectionSettings) -> Candidate:
    """The candidate with the replicas that the lever lists already: as much must flow for them too."""
    if lever is None or not lever.entries:
        return candidate
    entries = tuple(sorted({*lever.entries, *candidate.entries}))
    least = least_of(candidate.kind, candidate.disk, entries, view.doings, settings.floor)
    return replace(candidate, entries=entries, least=max(candidate.least, least))


def _cut(candidate: Candidate, lever: Lever | None, view: View, now_ms: int) -> Lever | None:
    """None: there is nothing to gain."""
    limit = limit_before(candidate, view.cluster) if lever is None else float(lever.value)
    moved = min(candidate.rate, limit) if limit is not None else candidate.rate
    value = max(round(CUT * moved), candidate.least)
    if value >= _WORTH * moved or value < 1:
        return None
    if lever is None:
        return Lever(
            candidate.disk,
            candidate.kind,
            candidate.subject,
            candidate.quota_key,
            value,
            round(moved),
            candidate.entries,
            candidate.least,
            candidate.hit,
            candidate.why,
            now_ms,
            now_ms,
        )
    return replace(
        lever,
        value=value,
        least=candidate.least,
        entries=candidate.entries,
        hit=candidate.hit,
        changed_at_ms=now_ms,
    )


def _let_go_without_reason(draft: _Draft, view: View, settings: ProtectionSettings, now_ms: int) -> None:
    """A step of each, whatever its disk suffers from: it does nothing there, so that no effect has to be awaited."""
    for lever in list(draft.levers):
        if not _has_reason(lever, view, settings, now_ms) and now_ms - lever.changed_at_ms >= settings.step_ms:
            reason = f"for {settings.limits.window_ms / 1000:g} s there was no reason on {lever.disk} to hold it back"
            _raise(draft, lever, 1 / CUT, reason, now_ms)


def _has_reason(lever: Lever, view: View, settings: ProtectionSettings, now_ms: int) -> bool:
    return now_ms - view.reasons_ms.get(lever.identity, now_ms) < settings.limits.window_ms


def _let_go(draft: _Draft, mine: Sequence[Lever], view: View, reason: str, now_ms: int) -> None:
    """A step of the one that was set last."""
    lever = max(mine, key=lambda each: (each.set_at_ms, each.identity))
    _raise(draft, lever, GENTLY if _wants_more(lever, view) else 1 / CUT, reason, now_ms)


def _raise(draft: _Draft, lever: Lever, factor: float, reason: str, now_ms: int) -> None:
    raised = round(lever.value * factor)
    if raised >= lever.before:
        _drop(draft, [lever], reason)
        return
    position = draft.levers.index(lever)
    draft.levers[position] = replace(lever, value=raised, changed_at_ms=now_ms)
    draft.sentences.append(f"{title(draft.levers[position])}, up from {human_bytes(lever.value)}/s: {reason}")


def _wants_more(lever: Lever, view: View) -> bool:
    """Return whether what the lever holds back moves nearly as much as it may."""
    offered = candidates(lever.disk, view.doings, view.loads, view.cluster, 1).found
    moved = next((each.rate for each in offered if each.identity == lever.identity), 0.0)
    return moved >= _USED * lever.value


def title(lever: Lever) -> str:
    """The lever in a few words."""
    return f"{_what(lever)} at {human_bytes(lever.value)}/s"


def _what(held: Lever | Candidate) -> str:
    key = key_of(held)
    resource = key.resource_name if key.resource_type == CLIENT else name_of(key)
    return f"{key.key} of {resource}"


def without_debts(protection: Protection, settled: frozenset[ConfigKey]) -> Protection:
    """Remove debts that a controller has settled: what it has put back is owed no more."""
    owed = tuple(intent for intent in protection.intents if ConfigKey.of(intent) not in settled)
    return replace(protection, intents=owed)


def _effects(
    changes: Mapping[ConfigKey, ConfigChange], debts: Mapping[ConfigKey, str | None]
) -> tuple[ProtectionEffect, ...]:
    """Rates before the lists that make them count."""
    quotas = {key: change for key, change in changes.items() if key.resource_type == CLIENT}
    configs = {key: change for key, change in changes.items() if key.resource_type != CLIENT}
    found: list[ProtectionEffect] = [AlterConfigs(each) for each in (quotas, configs) if each]
    return (*found, SettleDebts(debts)) if debts else tuple(found)

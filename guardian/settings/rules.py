"""The one engine for settings that Guardian sets and restores: in Kafka and in its own directory. Pure.

    required, recorded, live ──▶ reconcile ──▶ settings to store ──▶ changes to send

Order:
    1. The caller stores `settings` before it sends `changes`: a crash in between loses no record of a value.
    2. Each change is compare and set: it names the value that it was decided from.
    3. A record goes only when live shows that nothing of Guardian's is left, one step after it was last required: a
       broker may answer from before the last change. Who knows better how long a request may be on its way names such
       keys in `pending`, and no step is counted.

Ownership:
    value    A live value of the record which differs from what was replaced is Guardian's: it is changed and restored.
             Any other value is foreign: it stays, is named, and is not restored over.
    list     Guardian's are its own entries (`Policy.lists`): they are added and removed, all others stay.
    equal    A required value that is live before anything is recorded belongs to whoever set it.

A resource that can't be read keeps its records. One that is deleted took its settings along. What a resource that is
down must find later is a debt, which somebody else (a controller) settles without a comparison.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from guardian.model.effects import ConfigChange, ConfigKey
from guardian.model.owned_setting import OwnedSetting
from guardian.model.quota import QuotaEntity

CLIENT = "CLIENT"  # the resource type of a quota entity, beside Kafka's BROKER and TOPIC
WILDCARD = "*"
SETTLE_MS = 20_000  # longer than any request is on its way: one may lie in the socket of a broker that was stopped
# Of a value that changes at each step live may never show the newest: so many older ones count as Guardian's.
KEPT = 100

Resource = tuple[str, str]
Required = Mapping[ConfigKey, str | frozenset[str] | None]  # a frozenset: entries of a list


@dataclass(frozen=True, slots=True)
class Policy:
    """Say how settings of one user differ from plain ones.

    `lists` are keys whose values are lists of entries. A number `is_cap` when it never rises above what it replaced.
    Older values stay on record until live shows the newest, or, with `keeps_older`, until the key is not required. A
    value that somebody deletes is foreign, or, with `sets_deleted_again`, is set again and replaces nothing then.
    """

    lists: frozenset[str] = frozenset()
    is_cap: bool = False
    keeps_older: bool = False
    sets_deleted_again: bool = False


PLAIN = Policy()


@dataclass(frozen=True, slots=True)
class Live:
    """Hold what is live: `configs` by resource, where one that can't be read is missing.

    `deleted` resources exist no more. `down` ones owe what is restored, unless a controller confirmed that it `settled`
    the key. Keys of `others` belong to another owner inside Guardian at present.
    """

    configs: Mapping[Resource, Mapping[str, str]]
    deleted: frozenset[Resource] = frozenset()
    down: frozenset[Resource] = frozenset()
    settled: frozenset[ConfigKey] = frozenset()
    others: frozenset[ConfigKey] = frozenset()


@dataclass(frozen=True, slots=True)
class Reconciliation:
    """Hold `settings` to store, then `changes` to send and `debts` to settle.

    `unset` keys are required, and live shows no value of Guardian's there. `foreign` are the values of somebody else,
    by key. `blocked` keys can't be changed now: foreign ones, those of others, those that can't be read. `notes` are
    for people.
    """

    settings: tuple[OwnedSetting, ...] = ()
    changes: Mapping[ConfigKey, ConfigChange] = field(default_factory=dict)
    unset: frozenset[ConfigKey] = frozenset()
    notes: tuple[str, ...] = ()
    foreign: Mapping[ConfigKey, str | None] = field(default_factory=dict)
    blocked: frozenset[ConfigKey] = frozenset()
    debts: Mapping[ConfigKey, str | None] = field(default_factory=dict)


def reconcile(
    required: Required,
    recorded: Iterable[OwnedSetting],
    live: Live,
    policy: Policy = PLAIN,
    pending: Collection[ConfigKey] | None = None,
) -> Reconciliation:
    """Return what to store and what to send so that live becomes what is required, and all else what it was before."""
    by_key = {ConfigKey.of(setting): setting for setting in recorded}
    return _merged(
        [_reconcile(key, by_key.get(key), required, live, policy, pending) for key in sorted({*by_key, *required})]
    )


def applied(settings: Iterable[OwnedSetting]) -> dict[ConfigKey, ConfigChange]:
    """Return the changes that set the last values of these settings, where what they replace still stands."""
    return {ConfigKey.of(each): ConfigChange(each.replaced, each.value) for each in settings if each.values}


def restored(settings: Iterable[OwnedSetting]) -> dict[ConfigKey, ConfigChange]:
    """Return the changes that restore what these settings replaced, where their last values still stand."""
    return {ConfigKey.of(each): ConfigChange(each.value, each.replaced) for each in settings if each.values}


def name_of(key: ConfigKey) -> str:
    """Return the resource of the key, for people."""
    if key.resource_type == CLIENT:
        return str(QuotaEntity.of_name(key.resource_name))
    return f"{key.resource_type.lower()} {key.resource_name}"


def quota_configs(
    quotas: Mapping[QuotaEntity, Mapping[str, float]], keys: Iterable[ConfigKey]
) -> dict[Resource, dict[str, str]]:
    """Return quotas as the configurations of their entities; those of the keys are there without quotas, too."""
    found: dict[Resource, dict[str, str]] = {key[:2]: {} for key in keys if key.resource_type == CLIENT}
    for entity, values in quotas.items():
        found[CLIENT, entity.name] = {
            key: str(int(value)) if float(value).is_integer() else repr(value) for key, value in values.items()
        }
    return found


def entries_of(value: str | None) -> list[str]:
    """Return the entries of a list."""
    return [entry.strip() for entry in value.split(",") if entry.strip()] if value else []


@dataclass(frozen=True, slots=True)
class _Key:
    """Join one key with its record, and what is required of it, if `is_required`. `is_pending` None: steps are
    counted."""

    key: ConfigKey
    setting: OwnedSetting | None
    required: str | frozenset[str] | None
    is_required: bool
    policy: Policy
    is_pending: bool | None

    def part(
        self,
        setting: OwnedSetting | None = None,
        change: ConfigChange | None = None,
        note: str = "",
        *,
        is_unset: bool = False,
        is_blocked: bool = False,
    ) -> Reconciliation:
        """Return the key's part of the reconciliation. The note is about the key."""
        mine = frozenset({self.key})
        return Reconciliation(
            (setting,) if setting is not None else (),
            {self.key: change} if change is not None else {},
            mine if is_unset else frozenset(),
            (f"{self.key.key} of {name_of(self.key)} {note}",) if note else (),
            {},
            mine if is_blocked else frozenset(),
        )


def _reconcile(
    key: ConfigKey,
    setting: OwnedSetting | None,
    required: Required,
    live: Live,
    policy: Policy,
    pending: Collection[ConfigKey] | None,
) -> Reconciliation:
    is_required = key in required
    of_key = _Key(key, setting, required.get(key), is_required, policy, None if pending is None else key in pending)
    if key in live.others:
        return of_key.part(setting, note="is another ticket's: waits", is_unset=is_required, is_blocked=True)
    resource = (key.resource_type, key.resource_name)
    values = live.configs.get(resource)
    if values is not None:
        reconcile_key = _reconcile_list if key.key in policy.lists else _reconcile_value
        return reconcile_key(of_key, values.get(key.key))
    return of_key.part() if resource in live.deleted else _unread(of_key, live)


def _unread(of_key: _Key, live: Live) -> Reconciliation:
    """Keep the record, but for a resource that is down and of which nothing is required: that owes what it replaced."""
    key, setting = of_key.key, of_key.setting
    if setting is None or of_key.is_required or key[:2] not in live.down:
        note = "can't be read until it answers" if setting is not None else ""
        return of_key.part(setting, note=note, is_unset=of_key.is_required, is_blocked=True)
    if key in live.settled:
        return of_key.part()
    if setting.is_foreign:
        return of_key.part(note="was set by somebody else before it went down, and is left alone", is_blocked=True)
    owed = of_key.part(setting, note="is restored through a controller, as it is down", is_blocked=True)
    return replace(owed, debts={key: setting.replaced})


def _reconcile_value(of_key: _Key, live: str | None) -> Reconciliation:
    setting = of_key.setting
    replaced = setting.replaced if setting is not None else live
    values = setting.values if setting is not None else ()
    is_ours = live != replaced and live in values
    if setting is not None and not is_ours and live != replaced:
        return _foreign(of_key, setting, live)
    if not of_key.is_required:
        return _restore(of_key, setting, live, is_ours=is_ours)
    value = _capped(of_key, replaced)
    if live == value and setting is None:
        return of_key.part()
    older = tuple(each for each in values if each != value)
    # What is live may be older than the value that was sent last, which would come up later as nobody's.
    if live == value and values[-1:] == (value,):
        return of_key.part(_setting(of_key, (*(older[-KEPT:] if of_key.policy.keeps_older else ()), value), replaced))
    shown = tuple(each for each in older[:-KEPT] if each == live)
    mine = _setting(of_key, (*shown, *older[-KEPT:], value), replaced)
    return of_key.part(mine, ConfigChange(live, value), is_unset=not is_ours)


def _restore(of_key: _Key, setting: OwnedSetting | None, live: str | None, *, is_ours: bool) -> Reconciliation:
    if setting is None:
        return of_key.part()
    left = replace(setting, leaving=setting.values if of_key.is_pending is None else (), is_foreign=False)
    if is_ours:
        return of_key.part(left, ConfigChange(live, setting.replaced))
    if of_key.is_pending is None and not setting.leaving:
        # The value may have been sent without being live yet: restoring once more comes after it in any case.
        return of_key.part(left, ConfigChange(live, setting.replaced))
    return of_key.part(left if of_key.is_pending else None)


def _foreign(of_key: _Key, setting: OwnedSetting, live: str | None) -> Reconciliation:
    """Leave the value of somebody else, but for a deletion where the policy sets the value again: who deletes a value
    chooses none. What went with ours, the value of before, is not restored either."""
    if of_key.is_required and live is None and of_key.policy.sets_deleted_again:
        value = _capped(of_key, None)
        older = tuple(each for each in setting.values if each != value)[-KEPT:]
        note = "was deleted by somebody else while it is required, and is set again"
        return of_key.part(_setting(of_key, (*older, value), None), ConfigChange(None, value), note, is_unset=True)
    kept = replace(setting, leaving=(), is_foreign=True) if of_key.is_required else None
    if not of_key.is_required and of_key.is_pending:
        # A late request of ours would replace it: then it is what is restored.
        kept = replace(setting, replaced=live, is_foreign=False)
    found = of_key.part(kept, note=f"was {_done(live)} by somebody else and is left alone", is_blocked=True)
    return replace(found, foreign={of_key.key: live})


def _done(live: str | None) -> str:
    return "deleted" if live is None else f"set to {live}"


def _capped(of_key: _Key, replaced: str | None) -> str | None:
    """Return the required value, or what it would replace where that is lower and the policy asks for it."""
    value = of_key.required if isinstance(of_key.required, str) else None
    most = number_of(replaced) if of_key.policy.is_cap else None
    return replaced if most is not None and value is not None and float(value) >= most else value


def number_of(value: str | None) -> float | None:
    """Return the value as a number; None where it is none."""
    try:
        return float(value) if value is not None else None
    except ValueError:
        return None


def _setting(of_key: _Key, values: tuple[str | None, ...], replaced: str | None) -> OwnedSetting:
    return OwnedSetting(*of_key.key, values, replaced)


def _reconcile_list(of_key: _Key, live: str | None) -> Reconciliation:
    listed, setting = entries_of(live), of_key.setting
    if WILDCARD in listed:
        return of_key.part(note=f"is {live}, set by somebody else, and is left alone", is_blocked=True)
    replaced = setting.replaced if setting is not None else live
    required = of_key.required if isinstance(of_key.required, frozenset) else frozenset()
    desired = required - set(entries_of(replaced))
    mine = {entry for entry in setting.values if entry is not None} if setting is not None else set()
    # Requests for entries that are not live may be on their way.
    sent = mine - set(setting.leaving if setting is not None else ()) if of_key.is_pending is None else mine
    lasting = mine & set(listed) | (sent if of_key.is_pending is not False else set())
    recording = sorted(desired | lasting, key=_entry_order)
    if not recording:
        # All that is required stood there before: that it did is what is left to remember.
        return of_key.part(_setting(of_key, (), replaced) if required else None)
    leaving = tuple(each for each in recording if each not in desired) if of_key.is_pending is None else ()
    stored = replace(_setting(of_key, tuple(recording), replaced), leaving=leaving)
    kept = [entry for entry in listed if entry not in mine - desired]
    result = kept + sorted(desired - set(kept), key=_entry_order)
    change = ConfigChange(live, ",".join(result) or None) if result != listed else None
    return of_key.part(stored, change, is_unset=not desired <= set(listed))


def _entry_order(entry: str) -> list[str]:
    """Return a key that sorts numbers by size."""
    return [part.zfill(10) for part in entry.split(":")]


def _merged(parts: list[Reconciliation]) -> Reconciliation:
    return Reconciliation(
        tuple(setting for part in parts for setting in part.settings),
        {key: change for part in parts for key, change in part.changes.items()},
        frozenset().union(*(part.unset for part in parts)),
        tuple(note for part in parts for note in part.notes),
        {key: value for part in parts for key, value in part.foreign.items()},
        frozenset().union(*(part.blocked for part in parts)),
        {key: value for part in parts for key, value in part.debts.items()},
    )

"""Plain settings: remembered before they are sent, restored by compare and set, foreign values left alone."""

from __future__ import annotations

import pytest

from guardian.model.effects import ConfigChange, ConfigKey
from guardian.model.owned_setting import OwnedSetting
from guardian.settings.rules import Live, Policy, Reconciliation, reconcile, restored

KEY = ConfigKey("TOPIC", "t", "retention.ms")


def on(settings: tuple[OwnedSetting, ...], live: str | None, *required: str | None) -> Reconciliation:
    shown = Live({("TOPIC", "t"): {KEY.key: live} if live is not None else {}})
    return reconcile(dict(zip([KEY], required, strict=False)), settings, shown)


def mine(value: str | None, replaced: str | None, *, leaves: bool = False) -> tuple[OwnedSetting, ...]:
    return (OwnedSetting(*KEY, (value,), replaced, (value,) if leaves else ()),)


@pytest.mark.parametrize(("before", "value"), [("7", "9"), (None, "9"), ("7", None)])
def test_a_value_is_set_and_restored_in_four_steps(before: str | None, value: str | None) -> None:
    setting = on((), before, value)
    assert (setting.settings, setting.changes) == (mine(value, before), {KEY: ConfigChange(before, value)})
    assert setting.unset == {KEY}
    assert on(setting.settings, value, value) == Reconciliation(setting.settings)
    restoring = on(setting.settings, value)
    assert restoring.changes == {KEY: ConfigChange(value, before)}
    assert restoring.settings == mine(value, before, leaves=True)
    assert on(restoring.settings, before) == Reconciliation()


def test_a_value_that_is_live_already_is_not_ours() -> None:
    assert on((), "9", "9") == Reconciliation()
    assert on((), None, None) == Reconciliation()


def test_what_was_sent_without_being_live_yet_is_restored_once_more_before_it_is_forgotten() -> None:
    found = on(mine("9", "7"), "7")
    assert (found.settings, found.changes) == (mine("9", "7", leaves=True), {KEY: ConfigChange("7", "7")})
    assert on(mine("9", "7", leaves=True), "9").changes == {KEY: ConfigChange("9", "7")}


@pytest.mark.parametrize("theirs", ["8", None])
def test_the_value_of_somebody_else_is_named_and_left_alone(theirs: str | None) -> None:
    found = on(mine("9", "7"), theirs, "9")
    assert not found.changes
    assert (dict(found.foreign), set(found.blocked)) == ({KEY: theirs}, {KEY})
    done = f"set to {theirs}" if theirs else "deleted"
    assert found.notes == (f"retention.ms of topic t was {done} by somebody else and is left alone",)
    assert found.settings[0].is_foreign
    let_go = on(found.settings, theirs)
    assert (let_go.settings, let_go.changes, let_go.notes) == ((), {}, found.notes)


def test_a_value_that_is_ours_again_is_restored() -> None:
    seen = on(mine("9", "7"), "8", "9").settings
    assert on(seen, "9", "9").settings == mine("9", "7")
    assert on(seen, "9").changes == {KEY: ConfigChange("9", "7")}


def test_a_topic_that_is_deleted_took_its_settings_along_and_an_unreadable_one_keeps_them() -> None:
    resource = (KEY.resource_type, KEY.resource_name)
    assert reconcile({}, mine("9", "7"), Live({}, deleted=frozenset({resource}))) == Reconciliation()
    found = reconcile({KEY: "9"}, mine("9", "7"), Live({}))
    assert (found.settings, set(found.unset)) == (mine("9", "7"), {KEY})
    assert not found.changes


def test_a_resource_that_is_down_owes_what_was_replaced_until_it_is_settled() -> None:
    down = frozenset({(KEY.resource_type, KEY.resource_name)})
    found = reconcile({}, mine("9", "7"), Live({}, down=down))
    assert (found.settings, found.debts) == (mine("9", "7"), {KEY: "7"})
    assert reconcile({}, found.settings, Live({}, down=down, settled=frozenset({KEY}))) == Reconciliation()


def test_a_cap_never_rises_above_what_it_replaces() -> None:
    shown, cap = Live({("TOPIC", "t"): {KEY.key: "5"}}), Policy(is_cap=True)
    assert reconcile({KEY: "8"}, [], shown, cap) == Reconciliation()
    assert reconcile({KEY: "3"}, [], shown, cap).changes == {KEY: ConfigChange("5", "3")}
    lowered = Live({("TOPIC", "t"): {KEY.key: "3"}})
    assert reconcile({KEY: "8"}, mine("3", "5"), lowered, cap).changes == {KEY: ConfigChange("3", "5")}


def test_all_that_was_set_is_restored_from_its_last_value() -> None:
    assert restored([OwnedSetting(*KEY, ("8", "9"), "7")]) == {KEY: ConfigChange("9", "7")}

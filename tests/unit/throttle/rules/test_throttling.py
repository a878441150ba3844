"""How much the throttle is, on which keys, and that it goes without a trace."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from guardian.model.cluster_state import ClusterObservation, PartitionState
from guardian.model.effects import ConfigChange, ConfigKey
from guardian.model.owned_setting import OwnedSetting
from guardian.model.throttle import FOLLOWER_RATE, FOLLOWER_REPLICAS, LEADER_RATE, LEADER_REPLICAS, LOG_DIR_RATE
from guardian.model.topology import TopicPartition
from guardian.settings.rules import Reconciliation
from guardian.throttle.rules.throttling import (
    Copy,
    Pace,
    Throttle,
    explain,
    lifted,
    rates_shown_again,
    reconcile,
    wanted,
)

T0 = TopicPartition("t", 0)
RATE = ConfigKey("BROKER", "1", FOLLOWER_RATE)
LIST = ConfigKey("TOPIC", "t", LEADER_REPLICAS)
NOTHING = Throttle()


def observed(configs: Mapping[tuple[str, str], Mapping[str, str]], topic_exists: bool = True) -> ClusterObservation:
    partitions = {T0: PartitionState(1, (1, 2), (1, 2))} if topic_exists else {}
    return ClusterObservation(0, {}, partitions, {}, (), configs)


def on_rate(recorded: tuple[OwnedSetting, ...], present: str | None, rate: int | None) -> Reconciliation:
    now = Throttle({RATE: rate}) if rate is not None else NOTHING
    values = {FOLLOWER_RATE: present} if present is not None else {}
    return reconcile(recorded, now, observed({("BROKER", "1"): values}))


def on_list(
    recorded: str | None, replaced: str | None, present: str | None, *desired: str, leaving: tuple[str, ...] = ()
) -> Reconciliation:
    settings = (OwnedSetting(*LIST, tuple(recorded.split(",")), replaced, leaving),) if recorded is not None else ()
    now = Throttle(entries={LIST: frozenset(desired)}) if desired else NOTHING
    values = {LEADER_REPLICAS: present} if present is not None else {}
    return reconcile(settings, now, observed({("TOPIC", "t"): values}))


def test_a_rate_of_another_ticket_is_waited_for_and_not_set_over() -> None:
    now, shown = Throttle({RATE: 5000}), observed({("BROKER", "1"): {FOLLOWER_RATE: "900"}})
    found = reconcile((), now, shown, theirs=frozenset({RATE}))
    assert (found.settings, found.changes, found.unset) == ((), {}, frozenset({RATE}))
    assert found.notes == (f"{FOLLOWER_RATE} of broker 1 is another ticket's: waits",)
    own = reconcile((mine("5000"),), now, shown, theirs=frozenset({RATE}))
    assert own.notes != found.notes


def mine(*values: str, replaced: str | None = None, leaves: bool = False) -> OwnedSetting:
    return OwnedSetting(*RATE, values, replaced, values if leaves else ())


# How much.


def test_the_asked_rate_holds_where_little_is_written() -> None:
    copy = Copy(T0, 100.0, leader=1, sources=(1, 2), destinations=(3,))
    assert wanted([copy], 5000).rates == {
        ConfigKey("BROKER", "1", LEADER_RATE): 5000,
        ConfigKey("BROKER", "2", LEADER_RATE): 5000,
        ConfigKey("BROKER", "3", FOLLOWER_RATE): 5000,
    }


def test_the_rate_stays_above_what_the_arriving_replicas_take_in() -> None:
    """KAFKA.md, trap 16: below it, the move never ends."""
    copies = [Copy(TopicPartition("t", n), 4000.0, leader=1, sources=(1,), destinations=(3,)) for n in range(2)]
    assert wanted(copies, 5000).rates[ConfigKey("BROKER", "3", FOLLOWER_RATE)] == 12_000


def test_the_leaders_rate_counts_all_followers() -> None:
    """KAFKA.md, trap 19: in-sync followers are not held back, yet fill the quota."""
    copy = Copy(T0, 4000.0, leader=1, sources=(1, 2), destinations=(3,))
    rates = wanted([copy], 5000).rates
    assert rates[ConfigKey("BROKER", "1", LEADER_RATE)] == 12_000
    assert rates[ConfigKey("BROKER", "2", LEADER_RATE)] == 5000


def test_copies_between_log_dirs_have_a_rate_of_their_own_and_list_nothing() -> None:
    throttle = wanted([Copy(T0, 8000.0, leader=1, sources=(1, 2), log_dir_brokers=(2,))], 5000)
    assert throttle.rates == {ConfigKey("BROKER", "2", LOG_DIR_RATE): 12_000}
    assert throttle.entries == {}


def test_exactly_the_moving_replicas_are_listed_on_both_sides() -> None:
    throttle = wanted([Copy(T0, 0.0, leader=1, sources=(1, 2), destinations=(3,))], 5000)
    assert throttle.entries == {
        ConfigKey("TOPIC", "t", LEADER_REPLICAS): frozenset({"0:1", "0:2"}),
        ConfigKey("TOPIC", "t", FOLLOWER_REPLICAS): frozenset({"0:3"}),
    }


def test_no_rate_asked_means_no_throttle() -> None:
    assert wanted([Copy(T0, 1.0, leader=1, sources=(1,), destinations=(3,))], 0) == NOTHING


def test_the_throttle_explains_itself_in_one_line() -> None:
    copy = Copy(T0, 4000.0, leader=1, sources=(1,), destinations=(3,))
    assert explain(wanted([copy], 5000), 5000) == (
        "throttled to 0.005 MB/s on 2 brokers, raised to 1.5 x what producers write "
        "(broker 1: 0.006 MB/s, broker 3: 0.006 MB/s)"
    )
    assert explain(NOTHING, 5000) == ""


# Rates.


def test_a_rate_is_recorded_with_what_it_replaces_before_it_is_set() -> None:
    found = on_rate((), "777", 5000)
    assert found.settings == (mine("5000", replaced="777"),)
    assert found.changes == {RATE: ConfigChange("777", "5000")}
    assert found.unset == {RATE}


def test_a_rate_that_stands_already_is_not_ours() -> None:
    assert on_rate((), "5000", 5000) == Reconciliation()


def test_a_rate_that_kafka_shows_needs_nothing_more() -> None:
    assert on_rate((mine("5000"),), "5000", 5000) == Reconciliation((mine("5000"),))


def test_a_changed_rate_keeps_the_old_one_on_record_until_kafka_shows_the_new_one() -> None:
    found = on_rate((mine("5000", replaced="777"),), "5000", 6000)
    assert found.settings == (mine("5000", "6000", replaced="777"),)
    assert found.changes == {RATE: ConfigChange("5000", "6000")}
    assert not found.unset
    assert on_rate(found.settings, "6000", 6000).settings == (mine("6000", replaced="777"),)


@pytest.mark.parametrize("present", ["5000", "6000"])
def test_whichever_of_our_rates_stands_is_restored(present: str) -> None:
    recorded = (mine("5000", "6000", replaced="777"),)
    found = on_rate(recorded, present, None)
    assert found.changes == {RATE: ConfigChange(present, "777")}
    assert found.settings == (mine("5000", "6000", replaced="777", leaves=True),)
    assert on_rate(found.settings, "777", None) == Reconciliation()


def test_a_rate_that_replaced_nothing_is_deleted() -> None:
    assert on_rate((mine("5000"),), "5000", None).changes == {RATE: ConfigChange("5000", None)}


@pytest.mark.parametrize("rate", [5000, None])
def test_somebody_elses_rate_is_left_alone(rate: int | None) -> None:
    found = on_rate((mine("5000", replaced="777"),), "42", rate)
    assert not found.changes
    assert not found.unset
    assert "set to 42 by somebody else" in found.notes[0]
    assert bool(found.settings) is (rate is not None)


def test_a_rate_that_somebody_deletes_while_copies_run_is_set_again_and_replaces_nothing_from_then_on() -> None:
    """As kafka-reassign-partitions --verify does: KAFKA.md, trap 5."""
    found = on_rate((mine("5000", "6000", replaced="777"),), None, 6000)
    assert found.changes == {RATE: ConfigChange(None, "6000")}
    assert found.unset == {RATE}
    assert "was deleted by somebody else while it is required, and is set again" in found.notes[0]
    assert found.settings == (mine("5000", "6000"),)
    assert on_rate(found.settings, "6000", 6000).settings == (mine("6000"),)
    assert on_rate((mine("6000"),), "6000", None).changes == {RATE: ConfigChange("6000", None)}


def test_a_rate_that_somebody_deleted_is_not_put_back_when_the_copies_are_over() -> None:
    found = on_rate((mine("5000", replaced="777"),), None, None)
    assert not found.changes
    assert not found.settings


def test_a_rate_that_was_wanted_a_step_ago_is_not_yet_forgotten() -> None:
    assert on_rate((mine("5000"),), None, None).settings == (mine("5000", leaves=True),)
    assert on_rate((mine("5000", leaves=True),), None, None).settings == ()


def test_a_rate_that_is_wanted_again_is_set_again_behind_the_one_that_is_not_shown_yet() -> None:
    """A lagging broker shows 8 while 10 is set already: 10 must stay on record, and 8 come after it."""
    raised = on_rate((mine("8"),), "8", 10)
    again = on_rate(raised.settings, "8", 8)
    assert again.settings == (mine("10", "8"),)
    assert again.changes == {RATE: ConfigChange("8", "8")}
    assert on_rate(again.settings, "10", 8).changes == {RATE: ConfigChange("10", "8")}
    assert on_rate(again.settings, "8", 8) == Reconciliation((mine("8"),))


@pytest.mark.parametrize("replaced", ["777", None])
def test_what_was_there_before_is_put_back_behind_a_rate_that_is_not_shown_yet(replaced: str | None) -> None:
    unseen = on_rate((mine("5000", replaced=replaced),), replaced, None)
    assert unseen.settings == (mine("5000", replaced=replaced, leaves=True),)
    assert unseen.changes == {RATE: ConfigChange(replaced, replaced)}
    assert on_rate(unseen.settings, replaced, None) == Reconciliation()


def test_a_rate_on_a_broker_that_is_down_stays_on_record() -> None:
    found = reconcile((mine("5000"),), NOTHING, observed({}))
    assert found.settings == (mine("5000"),)
    assert "can't be read until it answers" in found.notes[0]


# Replica lists.


def test_entries_are_added_beside_those_of_others() -> None:
    found = on_list(None, None, "9:1", "0:2", "0:1")
    assert found.changes == {LIST: ConfigChange("9:1", "9:1,0:1,0:2")}
    assert found.settings == (OwnedSetting(*LIST, ("0:1", "0:2"), "9:1"),)
    assert found.unset == {LIST}


def test_only_our_entries_are_taken_out_again() -> None:
    """Somebody added 8:1 meanwhile, and 9:1 stood there before."""
    found = on_list("0:1,0:2", "9:1", "9:1,0:1,0:2,8:1")
    assert found.changes == {LIST: ConfigChange("9:1,0:1,0:2,8:1", "9:1,8:1")}
    assert on_list("0:1,0:2", "9:1", "9:1,8:1", leaving=("0:1", "0:2")).settings == ()


def test_an_entry_that_stood_there_before_is_not_ours() -> None:
    found = on_list(None, None, "0:1", "0:1", "0:2")
    assert found.settings == (OwnedSetting(*LIST, ("0:2",), "0:1"),)
    assert on_list("0:2", "0:1", "0:1,0:2").changes == {LIST: ConfigChange("0:1,0:2", "0:1")}


def test_an_entry_stays_on_record_until_kafka_shows_that_it_is_gone() -> None:
    found = on_list("0:1,1:1", None, "0:1,1:1", "1:1")
    assert found.changes == {LIST: ConfigChange("0:1,1:1", "1:1")}
    assert found.settings == (OwnedSetting(*LIST, ("0:1", "1:1"), None, ("0:1",)),)
    assert on_list("0:1,1:1", None, "1:1", "1:1", leaving=("0:1",)).settings == (OwnedSetting(*LIST, ("1:1",), None),)


def test_the_last_entry_deletes_the_key() -> None:
    assert on_list("0:1", None, "0:1").changes == {LIST: ConfigChange("0:1", None)}


@pytest.mark.parametrize("desired", [("0:1",), ()])
def test_a_wildcard_of_somebody_else_is_left_alone(desired: tuple[str, ...]) -> None:
    found = on_list("0:2", None, "*", *desired)
    assert (found.settings, found.changes, found.unset) == ((), {}, frozenset())
    assert "left alone" in found.notes[0]


def test_a_deleted_topic_took_its_list_along() -> None:
    recorded = (OwnedSetting(*LIST, ("0:1",), None),)
    assert reconcile(recorded, NOTHING, observed({}, topic_exists=False)).settings == ()
    assert reconcile(recorded, NOTHING, observed({}, topic_exists=True)).settings == recorded


# Brokers that are down.


def test_what_a_dead_broker_must_find_when_it_is_back_is_a_debt() -> None:
    recorded = (mine("5000", "6000", replaced="777"),)
    found = reconcile(recorded, NOTHING, observed({}), gone=frozenset({1}))
    assert found.debts == {RATE: "777"}
    assert found.settings == recorded
    assert "is restored through a controller" in found.notes[0]


def test_a_debt_that_a_controller_settled_is_forgotten() -> None:
    found = reconcile((mine("5000"),), NOTHING, observed({}), frozenset({1}), frozenset({RATE}))
    assert (found.settings, found.debts) == ((), {})


def test_what_somebody_else_has_set_is_left_alone_when_its_broker_died_since() -> None:
    seen = on_rate((mine("5000", replaced="777"),), "42", 5000)
    again = on_rate(seen.settings, "42", 6000)
    assert again.settings == seen.settings
    down = reconcile(again.settings, Throttle({RATE: 5000}), observed({}))
    assert down.settings == seen.settings
    found = reconcile(down.settings, NOTHING, observed({}), gone=frozenset({1}))
    assert (found.settings, found.debts, found.changes) == ((), {}, {})
    assert "was set by somebody else before it went down, and is left alone" in found.notes[0]


def test_a_rate_that_is_ours_again_is_owed_again() -> None:
    seen = on_rate((mine("5000", replaced="777"),), "42", 5000)
    back = on_rate(seen.settings, "5000", 5000)
    assert back.settings == (mine("5000", replaced="777"),)
    assert reconcile(back.settings, NOTHING, observed({}), gone=frozenset({1})).debts == {RATE: "777"}
    assert on_rate(seen.settings, "5000", None).changes == {RATE: ConfigChange("5000", "777")}


def test_what_is_still_wanted_of_a_dead_broker_is_no_debt() -> None:
    found = reconcile((mine("5000"),), Throttle({RATE: 5000}), observed({}), frozenset({1}))
    assert (found.settings, found.debts, found.unset) == ((mine("5000"),), {}, frozenset({RATE}))


def test_a_broker_that_lives_settles_its_own_debts() -> None:
    found = reconcile((mine("5000"),), NOTHING, observed({("BROKER", "1"): {FOLLOWER_RATE: "5000"}}))
    assert found.changes == {RATE: ConfigChange("5000", None)}
    assert found.debts == {}


# A rate for each broker.


def test_each_broker_has_its_own_rate_and_what_it_takes_in_may_be_less() -> None:
    copy = Copy(T0, 100.0, leader=1, sources=(1, 2), destinations=(3,), log_dir_brokers=(3,))
    rates = wanted([copy], Pace(5000, {1: 2000, 3: 4000}, {3: 1000, 1: 1})).rates
    assert rates == {
        ConfigKey("BROKER", "1", LEADER_RATE): 2000,
        ConfigKey("BROKER", "2", LEADER_RATE): 5000,
        ConfigKey("BROKER", "3", FOLLOWER_RATE): 1000,
        ConfigKey("BROKER", "3", LOG_DIR_RATE): 4000,
    }


def test_what_producers_write_is_the_least_whatever_brokers_can_bear() -> None:
    copy = Copy(T0, 4000.0, leader=1, sources=(1,), destinations=(3,))
    pace = Pace(5000, {1: 10, 3: 10}, {3: 1})
    assert set(wanted([copy], pace).rates.values()) == {6000}
    assert explain(wanted([copy], pace), pace) == (
        "throttled to 1e-06 MB/s to 1e-05 MB/s on 2 brokers, raised to 1.5 x what producers write "
        "(broker 1: 0.006 MB/s, broker 3: 0.006 MB/s)"
    )


def test_of_a_rate_that_changes_at_each_step_so_many_are_on_record_and_no_more() -> None:
    recorded: tuple[OwnedSetting, ...] = ()
    for rate in range(1, 500):
        recorded = on_rate(recorded, "1" if rate > 1 else None, rate).settings
    assert len(recorded[0].values) == 102  # the one that Kafka shows, a hundred, and the newest
    assert recorded[0].value == "499"


def test_a_rate_that_another_one_followed_is_known_again_though_the_key_was_held_on() -> None:
    """Kafka showed the newer one, so that the record forgot it, and its request came after all had been put back."""
    both, newer = mine("220000", "200000"), mine("200000")
    remembered = lifted(lifted((), (both,), Reconciliation((newer,))), (newer,), Reconciliation())
    for rate in ("220000", "200000"):
        assert rates_shown_again(remembered, observed({("BROKER", "1"): {FOLLOWER_RATE: rate}}))


def test_any_rate_that_a_stopped_broker_may_find_in_its_socket_is_known_again() -> None:
    """It stood still for nine ticks, each of which asked for another rate."""
    put_back = lifted((), (mine(*map(str, range(1, 10))),), Reconciliation())
    for rate in range(1, 10):
        assert rates_shown_again(put_back, observed({("BROKER", "1"): {FOLLOWER_RATE: str(rate)}}))
    assert not rates_shown_again(put_back, observed({("BROKER", "1"): {FOLLOWER_RATE: "10"}}))


def test_a_rate_of_ours_that_somebody_sets_anew_is_theirs_to_the_end() -> None:
    newer = mine("200000")
    remembered = lifted((), (mine("220000", "200000"),), Reconciliation((newer,)))
    seen = on_rate((newer,), "220000", 200_000)
    assert "left alone" in " ".join(seen.notes)
    remembered = lifted(remembered, (newer,), seen)
    remembered = lifted(remembered, seen.settings, Reconciliation())
    assert not rates_shown_again(remembered, observed({("BROKER", "1"): {FOLLOWER_RATE: "220000"}}))
    assert rates_shown_again(remembered, observed({("BROKER", "1"): {FOLLOWER_RATE: "200000"}}))


@pytest.mark.parametrize(("first", "then"), [("7000000", None), (None, "7000000")])
def test_a_request_that_comes_late_is_followed_by_what_stood_there_before_the_newest_rate(
    first: str | None, then: str | None
) -> None:
    """Somebody changed it while nothing was copied, between two stages."""
    remembered = lifted((), (mine("3000000", replaced=first),), Reconciliation())
    remembered = lifted(remembered, (mine("4000000", replaced=then),), Reconciliation())
    shown = rates_shown_again(remembered, observed({("BROKER", "1"): {FOLLOWER_RATE: "3000000"}}))
    assert {each.replaced for each in shown} == {then}

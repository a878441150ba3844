"""How fast copies may go: falls fast, rises slowly, floor and ceiling, and says why."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import replace

import pytest

from guardian.errors import InvalidInput
from guardian.model.effects import ConfigKey
from guardian.model.execution import AdaptedRate, Baseline
from guardian.model.throttle import FOLLOWER_RATE, LEADER_RATE
from guardian.model.topology import TopicPartition
from guardian.throttle.model import PRODUCE, BrokerReading, Latency
from guardian.throttle.rules.adapting import Around, Line, ThrottleSettings, pace
from guardian.throttle.rules.throttling import Copy

MB = 1_000_000
SETTINGS = ThrottleSettings(floor_mb_per_s=1.0)
COPY = Copy(TopicPartition("t", 0), 0.0, leader=1, sources=(1, 2), destinations=(3,))
LINE: Line = ("shanghai", "suzhou")
IDCS = {1: "shanghai", 2: "shanghai", 3: "suzhou", 4: "suzhou"}


def read(
    broker: int,
    utilisation: float = 0.2,
    *,
    mean_ms: float = 2.0,
    p99_ms: float = 10.0,
    await_ms: float = 1.0,
    nic_share: float = 0.0,
    copied_per_s: float = 0.0,
) -> BrokerReading:
    latencies = {PRODUCE: Latency(mean_ms, p99_ms)}
    return BrokerReading(
        broker, "sda", utilisation, "sda", await_ms, "", nic_share, latencies, copied_per_s=copied_per_s
    )


def around(*readings: BrokerReading, lines: Mapping[Line, float] | None = None, unseen: tuple[int, ...] = ()) -> Around:
    by_broker = {each.broker: each for each in (read(1), read(2), read(3), *readings)}
    return Around(SETTINGS, by_broker, by_broker, IDCS, lines or {}, frozenset(unseen))


def at(rate: int, changed_at_ms: int = 0, trouble: int = 0) -> tuple[AdaptedRate, ...]:
    """What broker 3 had."""
    return (
        AdaptedRate(rate, 3, changed_at_ms=changed_at_ms, trouble=trouble, baselines=(Baseline(PRODUCE, 2.0, 10.0),)),
    )


def next_rate(
    rates: tuple[AdaptedRate, ...],
    surroundings: Around,
    now_ms: int = 60_000,
    asked: int = 20 * MB,
    most: int = 100 * MB,
) -> AdaptedRate:
    found = pace(rates, [COPY], asked, surroundings, now_ms, most)
    return next(each for each in found.rates if each.broker == 3)


# Without looking around.


@pytest.mark.parametrize(
    ("surroundings", "asked"),
    [(None, 20 * MB), (Around(replace(SETTINGS, adaptive=False)), 20 * MB), (around(), 0)],
    ids=["nobody looks", "switched off", "no throttle asked"],
)
def test_the_rate_is_what_is_asked(surroundings: Around | None, asked: int) -> None:
    found = pace((), [COPY], asked, surroundings, 0)
    assert (found.pace.asked, found.pace.brokers, found.pace.into, found.rates) == (asked, {}, {}, ())


# Where it begins, floor and ceiling.


def test_every_broker_that_copies_begins_at_a_tenth_of_what_is_asked() -> None:
    found = pace((), [COPY], 20 * MB, around(), 0)
    assert found.pace.brokers == {1: 2 * MB, 2: 2 * MB, 3: 2 * MB}


def test_where_there_is_room_what_is_asked_is_reached_in_small_steps_within_half_a_minute() -> None:
    rates, seen = (next_rate((), around(), 0),), [2 * MB]
    for second in range(1, 26):
        rates = (next_rate(rates, around(), second * 1000, most=0),)
        seen.append(rates[0].rate)
    assert seen[-1] == 20 * MB
    assert all(before <= rate <= 1.25 * before for before, rate in itertools.pairwise(seen))
    assert len(set(seen)) <= 13, "each change makes a broker read its whole configuration anew"


@pytest.mark.parametrize(
    ("asked", "most", "ceiling", "begins"),
    [
        (20 * MB, 0, 0, 2 * MB),
        (200 * MB, 0, 10 * MB, 10 * MB),
        (500_000, 0, 0, 500_000),
        (5 * MB, 0, 0, MB),
        (20 * MB, 50 * MB, 0, 2 * MB),
    ],
)
def test_it_begins_between_floor_and_ceiling(asked: int, most: int, ceiling: int, begins: int) -> None:
    surroundings = replace(around(), settings=replace(SETTINGS, ceiling_mb_per_s=ceiling / MB))
    assert next_rate((), surroundings, asked=asked, most=most).rate == begins


def test_it_never_rises_above_what_the_ticket_allows() -> None:
    assert next_rate(at(20 * MB), around(), most=0).rate == 20 * MB
    assert next_rate(at(20 * MB), around(), most=22 * MB).rate == 22 * MB


def test_a_ceiling_that_was_lowered_meanwhile_holds_at_once() -> None:
    found = next_rate(at(80 * MB), around(), asked=5 * MB, most=0)
    assert found.rate == 5 * MB
    assert found.why == "80 MB/s to 5 MB/s: another rate was asked for"


# Falls.


@pytest.mark.parametrize(
    ("reading", "why"),
    [
        (read(3, 0.9), "disk sda is 90% busy, limit 80%"),
        (read(3, 0.5, await_ms=80.0), "disk sda takes 80 ms a request, limit 50 ms"),
        (read(3, nic_share=0.95), "is 95% full, limit 80%"),
        (read(3, mean_ms=9.0, p99_ms=25.0), "produce requests take 9.0 ms, p99 25 ms"),
    ],
    ids=["disk", "await", "interface", "clients"],
)
def test_each_limit_takes_it_down_and_is_named(reading: BrokerReading, why: str) -> None:
    reading = replace(reading, nic="eth0") if reading.nic_share else reading
    found = next_rate(at(50 * MB), around(reading))
    assert MB <= found.rate <= 40 * MB
    assert found.trouble == 50 * MB
    assert why in found.why
    assert found.why.startswith("50 MB/s to ")


def test_it_falls_by_what_is_too_much_to_half_at_the_most() -> None:
    assert next_rate(at(50 * MB), around(read(3, 0.84))).rate == 40 * MB
    assert next_rate(at(50 * MB), around(read(3, mean_ms=1000.0, p99_ms=1000.0))).rate == 25 * MB


def test_a_fall_is_waited_for_unless_it_is_grave() -> None:
    just_now = at(50 * MB, changed_at_ms=59_000, trouble=60 * MB)
    assert next_rate(just_now, around(read(3, 0.9))).rate == 50 * MB
    assert next_rate(just_now, around(read(3, mean_ms=90.0, p99_ms=90.0))).rate == 25 * MB


def test_what_is_grave_since_the_last_look_counts_though_the_last_seconds_were_good() -> None:
    """Load that rises is answered within two ticks."""
    surroundings = replace(around(), latest={3: read(3, mean_ms=90.0, p99_ms=90.0)})
    assert next_rate(at(50 * MB), surroundings).rate == 25 * MB


def test_a_grave_fall_has_a_second_to_tell_however_soon_the_next_tick_comes() -> None:
    grave = around(read(3, mean_ms=90.0, p99_ms=90.0))
    rates = (next_rate(at(80 * MB), grave, 60_000),)
    for now_ms in (60_150, 60_300, 60_800):
        rates = (next_rate(rates, grave, now_ms),)
    assert rates[0].rate == 40 * MB
    assert next_rate(rates, grave, 61_000).rate == 20 * MB


@pytest.mark.parametrize("stalled", [0.0, 1000.0])
def test_a_second_in_which_a_disk_stalls_halves_what_copies_use_and_no_more(stalled: float) -> None:
    grave = read(3, mean_ms=90.0, p99_ms=90.0, copied_per_s=stalled)
    surroundings = replace(around(read(3, copied_per_s=40 * MB)), latest={3: grave})
    fallen = next_rate(at(50 * MB), surroundings)
    assert (fallen.rate, fallen.trouble) == (12_500_000 // MB * MB, 25 * MB)


def test_a_standing_rate_is_the_ceiling_and_nothing_leaps_when_it_ends() -> None:
    rates = at(50 * MB)
    for second in range(60):
        rates = pace(rates, [COPY], 50 * MB, around(), second * 1000, 200 * MB, {3: MB}).rates
        assert next(each for each in rates if each.broker == 3).rate == MB
    assert next_rate(rates, around(), 60_000, asked=50 * MB, most=200 * MB).rate < 2 * MB
    below_the_floor = pace(rates, [COPY], 50 * MB, around(), 60_000, 200 * MB, {3: 200_000})
    assert below_the_floor.pace.brokers[3] == 200_000


def test_after_a_leader_whose_clock_was_ahead_rates_change_all_the_same() -> None:
    rates = at(MB, changed_at_ms=400_000, trouble=2 * MB)
    for second in range(60, 80):
        rates = (next_rate(rates, around(), second * 1000),)
    assert rates[0].rate > MB


def test_a_rate_that_copies_do_not_reach_falls_from_what_they_use() -> None:
    assert next_rate(at(1000 * MB), around(read(3, 0.9, copied_per_s=20e6)), most=1000 * MB).rate == 20 * MB


@pytest.mark.parametrize(
    "full", [read(3, 0.98), replace(read(3, nic_share=0.99), nic="eth0")], ids=["disk", "interface"]
)
def test_what_is_full_halves_the_rate_at_each_tick(full: BrokerReading) -> None:
    """A share ends at 1: 100 MB/s took 41 s to fall to a tenth."""
    rate, seen = at(100 * MB)[0], []
    for second in range(5):
        rate = next_rate((rate,), around(full), second * 1000)
        seen.append(rate.rate)
    assert seen == [50 * MB, 25 * MB, 12 * MB, 6 * MB, 3 * MB]


def test_a_second_that_is_full_is_chance_where_there_was_room_and_it_is_over_when_the_next_one_is_not() -> None:
    just_now = at(50 * MB, changed_at_ms=59_000, trouble=60 * MB)
    assert next_rate(just_now, replace(around(read(3, 0.77)), latest={3: read(3, 1.0)})).rate == 25 * MB
    assert next_rate(just_now, replace(around(read(3, 0.6)), latest={3: read(3, 1.0)})).rate == 50 * MB
    assert next_rate(just_now, replace(around(read(3, 1.0)), latest={3: read(3, 0.5)})).rate == 50 * MB


def test_a_share_that_may_be_all_of_it_is_never_too_much() -> None:
    easy = replace(SETTINGS, disk_utilisation=1.0, nic_share=1.0)
    assert next_rate(at(50 * MB), replace(around(read(3, 1.0)), settings=easy)).rate == 50 * MB


def test_copies_between_log_dirs_are_in_no_count_and_fall_from_the_rate() -> None:
    """Beside a trickle of replication, which is all that Kafka counts."""
    within = Copy(TopicPartition("t", 1), 0.0, leader=3, sources=(3,), log_dir_brokers=(3,))
    found = pace(at(50 * MB), [COPY, within], 20 * MB, around(read(3, 0.9, copied_per_s=20e3)), 60_000, 100 * MB)
    assert found.pace.brokers[3] == 40 * MB


def test_it_never_falls_below_the_floor_which_is_no_more_than_what_is_asked() -> None:
    assert next_rate(at(MB), around(read(3, 1.0))).rate == MB
    assert next_rate(at(500_000), around(read(3, 1.0)), asked=500_000, most=0).rate == 500_000


def test_a_broker_that_is_silent_goes_to_the_floor_at_once() -> None:
    found = next_rate(at(50 * MB), around(unseen=(3,)))
    assert (found.rate, found.why) == (MB, "50 MB/s to 1 MB/s: no metrics of it for 5 s")


def test_a_broker_whose_disks_tell_nothing_goes_to_the_floor_unless_somebody_said_otherwise() -> None:
    """Its log dirs are on overlay, NFS or ZFS: nobody knows how busy that is."""
    dark = around(replace(read(3), disk="", utilisation=0.0, slowest_disk=""))
    found = next_rate(at(50 * MB), dark)
    assert (found.rate, found.why) == (MB, "50 MB/s to 1 MB/s: no metrics of its disks")
    assert next_rate((found,), dark, 90_000).rate == MB
    bold = replace(dark, settings=replace(SETTINGS, adapt_without_disk_metrics=True))
    assert next_rate(at(50 * MB), bold).rate > 50 * MB


def test_a_broker_that_was_asked_once_only_stays_where_it_is() -> None:
    young = replace(around(), readings={3: replace(read(3, 1.0), is_young=True)}, latest={})
    assert next_rate(at(50 * MB), young).rate == 50 * MB
    assert next_rate(at(50 * MB), replace(young, readings={})).rate == 50 * MB


def test_a_p99_that_is_only_remembered_does_not_count() -> None:
    """Kafka's p99 is of minutes: the mean of the last seconds says that it is over."""
    assert next_rate(at(50 * MB), around(read(3, mean_ms=2.0, p99_ms=900.0))).rate > 50 * MB


def test_the_await_of_a_disk_that_hardly_works_does_not_count() -> None:
    assert next_rate(at(50 * MB), around(read(3, 0.1, await_ms=900.0))).rate > 50 * MB


def test_requests_that_are_far_too_slow_for_seconds_are_grave_before_the_p99_of_minutes_says_so() -> None:
    """A load that rose right after a fall was answered in the third tick."""
    just_now = at(50 * MB, changed_at_ms=59_000, trouble=60 * MB)
    slow, quick = read(3, mean_ms=20.0, p99_ms=21.0), read(3, mean_ms=3.0, p99_ms=21.0)
    assert next_rate(just_now, around(slow)).rate == 25 * MB
    assert next_rate(just_now, replace(around(quick), latest={3: slow})).rate == 50 * MB
    assert next_rate(just_now, replace(around(slow), latest={3: quick})).rate == 50 * MB
    before = read(3, mean_ms=20.0, p99_ms=19.0)
    assert next_rate(just_now, around(before)).rate == 50 * MB


# Rises.


def test_it_rises_every_two_seconds_and_stays_where_there_is_little_room() -> None:
    assert next_rate(at(20 * MB, changed_at_ms=58_001), around()).rate == 20 * MB
    assert next_rate(at(20 * MB, changed_at_ms=58_000), around()).rate == 25 * MB
    assert next_rate(at(20 * MB), around(read(3, 0.77))).rate == 20 * MB


def test_it_rises_carefully_where_it_had_to_fall() -> None:
    assert next_rate(at(20 * MB, changed_at_ms=58_000, trouble=100 * MB), around()).rate == 20 * MB
    assert next_rate(at(20 * MB, trouble=100 * MB), around()).rate == 25 * MB
    assert next_rate(at(40 * MB, trouble=50 * MB), around()).rate == 44 * MB
    found = next_rate(at(62 * MB, trouble=50 * MB), around())
    assert (found.rate, found.trouble) == (68 * MB, 0)


def test_a_rise_says_why() -> None:
    assert next_rate(at(20 * MB), around(read(3, 0.4))).why == (
        "20 MB/s to 25 MB/s: there is room: disk sda is 40% busy, limit 80%"
    )


def test_rates_have_two_digits_so_that_few_are_on_record() -> None:
    rates, seen = at(MB), set()
    for second in range(0, 600, 3):
        rates = (next_rate(rates, around(), second * 1000),)
        seen.add(rates[0].rate)
    assert all(len(str(rate).rstrip("0")) <= 2 or rate == 100 * MB for rate in seen)


# Baselines.


def test_the_first_look_is_the_baseline_and_a_slower_one_does_not_change_it() -> None:
    found = next_rate((AdaptedRate(20 * MB, 3),), around(read(3, mean_ms=3.0, p99_ms=12.0)))
    assert found.baselines == (Baseline(PRODUCE, 3.0, 12.0),)
    assert next_rate((found,), around(read(3, mean_ms=3.4, p99_ms=13.0))).baselines == found.baselines


def test_requests_that_become_quicker_take_the_baseline_along() -> None:
    (found,) = next_rate(at(20 * MB), around(read(3, mean_ms=1.0, p99_ms=5.0))).baselines
    assert found.mean_ms == pytest.approx(1.9)
    assert found.p99_ms == 9.0


def test_at_the_floor_what_requests_take_becomes_the_baseline() -> None:
    """Clients' load rose: at the floor copies hardly count."""
    slow = around(read(3, mean_ms=30.0, p99_ms=100.0))
    assert next_rate(at(MB, changed_at_ms=58_000), slow).rate == MB
    found = next_rate(at(MB, changed_at_ms=50_000), slow)
    assert found.baselines == (Baseline(PRODUCE, 30.0, 100.0),)
    assert found.rate > MB


def test_it_stays_at_the_floor_until_it_is_known_what_requests_take_there() -> None:
    """There seemed to be room after three seconds: the old baseline stayed, and the rate fell again and again."""
    slower = around(read(3, mean_ms=2.5, p99_ms=12.0))
    at_floor = at(MB, changed_at_ms=53_001, trouble=50 * MB)
    assert next_rate(at_floor, slower).rate == MB
    assert next_rate(at_floor, slower).baselines == (Baseline(PRODUCE, 2.0, 10.0),)
    known = next_rate(at(MB, changed_at_ms=53_000, trouble=50 * MB), slower)
    assert known.rate > MB
    assert known.baselines == (Baseline(PRODUCE, 2.5, 12.0),)


def test_grave_moments_in_a_row_are_no_proof_that_copies_did_nothing() -> None:
    """The floor's baseline would be that of requests which wait behind the copies of a moment ago."""
    grave = replace(around(read(3, 0.9)), latest={3: read(3, mean_ms=90.0, p99_ms=90.0)})
    (of_now,) = at(30 * MB, changed_at_ms=54_001, trouble=60 * MB)
    (of_then,) = at(30 * MB, changed_at_ms=54_000, trouble=60 * MB)
    assert next_rate((replace(of_now, before=100 * MB),), grave).rate == 15 * MB
    assert next_rate((replace(of_then, before=100 * MB),), grave).rate == MB


def test_a_little_rate_at_which_requests_are_slow_is_not_lowered_step_by_step() -> None:
    """It would stay little for minutes by a baseline of a time with less load: a fall from 6 MB/s is none from 100."""
    slow = around(read(3, mean_ms=9.0, p99_ms=90.0))
    assert next_rate(at(7 * MB, trouble=7 * MB), slow, asked=20 * MB).rate == MB
    assert next_rate(at(14 * MB, trouble=14 * MB), slow, asked=20 * MB).rate == 7 * MB


def test_a_baseline_follows_no_lucky_seconds() -> None:
    lucky = next_rate(at(20 * MB), around(read(3, mean_ms=1.3, p99_ms=9.0)))
    assert lucky.baselines == at(20 * MB)[0].baselines
    (quicker,) = next_rate(at(20 * MB), around(read(3, mean_ms=1.1, p99_ms=9.0))).baselines
    assert quicker.mean_ms < 2.0


def test_the_p99_at_the_floor_is_of_the_copies_before_and_grows_no_more_than_the_mean() -> None:
    """Kafka's p99 remembers minutes."""
    (found,) = next_rate(at(MB, changed_at_ms=50_000), around(read(3, mean_ms=3.0, p99_ms=100.0))).baselines
    assert found == Baseline(PRODUCE, 3.0, 15.0)


def test_where_producers_raise_the_rate_above_the_floor_what_requests_take_is_no_baseline() -> None:
    """Copies go at 1.5 times what is written, and are what clients suffer from."""
    slow = around(read(3, mean_ms=30.0, p99_ms=100.0))
    written = replace(COPY, write_rate=10e6)
    found = pace(at(MB, changed_at_ms=50_000), [written], 20 * MB, slow, 60_000, 100 * MB)
    (rate,) = (each for each in found.rates if each.broker == 3)
    assert (rate.rate, rate.baselines) == (MB, (Baseline(PRODUCE, 2.0, 10.0),))


def test_a_fall_that_changes_nothing_leads_to_the_floor_and_back_to_where_it_was() -> None:
    """Clients' own load rose: what their requests take without copies is the new measure."""
    slow = around(read(3, mean_ms=12.0, p99_ms=60.0))
    rate, seen = at(50 * MB)[0], []
    for second in range(30):
        rate = next_rate((rate,), slow, second * 1000)
        seen.append(rate.rate)
    assert seen[0] == 25 * MB
    floor_at = seen.index(MB)
    assert rate.baselines == (Baseline(PRODUCE, 12.0, 60.0),)
    resumed = next(value for value in seen[floor_at:] if value > MB)
    assert resumed == 20 * MB
    assert seen[-1] > resumed


def test_a_busy_disk_is_no_matter_of_comparison_and_holds_the_rate_down() -> None:
    rate = at(50 * MB)[0]
    for second in range(120):
        rate = next_rate((rate,), around(read(3, 0.95)), second * 1000)
    assert rate.rate == MB
    assert "disk sda is 95% busy" in rate.why


# Lines.


def caps(
    found_lines: float, rates: tuple[AdaptedRate, ...] = (), copies: tuple[Copy, ...] = (COPY,)
) -> tuple[int, int]:
    risen = tuple(AdaptedRate(20 * MB, broker) for broker in (1, 2, 3, 4))
    found = pace((*risen, *rates), copies, 20 * MB, around(lines={LINE: found_lines}), 60_000)
    keys = (ConfigKey("BROKER", "3", FOLLOWER_RATE), ConfigKey("BROKER", "1", LEADER_RATE))
    return found.pace.of(keys[0]), found.pace.of(keys[1])


def test_what_is_left_of_a_line_is_a_cap_on_what_arrives() -> None:
    assert caps(8e6) == (8 * MB, 20 * MB)
    assert caps(100e6) == (20 * MB, 20 * MB)


def test_the_brokers_behind_a_line_share_it() -> None:
    other = replace(COPY, partition=TopicPartition("t", 1), destinations=(4,))
    assert caps(8e6, copies=(COPY, other))[0] == 4 * MB


def test_copies_inside_an_idc_do_not_care_about_lines() -> None:
    inside = replace(COPY, destinations=(2,), sources=(1,))
    assert pace((), [inside], 20 * MB, around(lines={LINE: 0.0}), 0).pace.into == {}


def test_a_line_yields_at_once_and_is_taken_again_slowly() -> None:
    full = (AdaptedRate(8 * MB, line=LINE, changed_at_ms=59_999),)
    assert caps(2e6, full)[0] == 2 * MB
    assert caps(0.0, full)[0] == MB
    assert caps(18e6, full)[0] == 8 * MB
    found = pace((replace(full[0], changed_at_ms=0),), [COPY], 20 * MB, around(lines={LINE: 18e6}), 60_000)
    assert 8 * MB < found.pace.into[3] < 18 * MB


def test_a_line_whose_limit_is_not_known_any_more_caps_nothing() -> None:
    full = (AdaptedRate(2 * MB, line=LINE, changed_at_ms=59_999),)
    found = pace(full, [COPY], 20 * MB, around(), 60_000)
    assert found.pace.into == {}
    assert all(each.line is None for each in found.rates)


# Where nothing is copied any more.


def test_a_rate_and_its_baselines_are_forgotten_when_nothing_was_copied_for_ten_seconds() -> None:
    """A broker that throttled nothing lets ten seconds' worth of its rate through at once."""
    risen = at(80 * MB)
    idle = pace(risen, [], 20 * MB, around(), 100_000, 100 * MB).rates
    assert [(each.rate, each.idle_since_ms) for each in idle] == [(80 * MB, 100_000)]
    assert pace(idle, [], 20 * MB, around(), 105_000, 100 * MB).rates == idle
    again = next_rate(idle, around(), 110_000)
    assert (again.rate, again.idle_since_ms, again.baselines) == (100 * MB, 0, risen[0].baselines)
    anew = next_rate(idle, around(read(3, mean_ms=9.0, p99_ms=19.0)), 3_700_000)
    assert (anew.rate, anew.idle_since_ms, anew.baselines) == (2 * MB, 0, (Baseline(PRODUCE, 9.0, 19.0),))
    assert pace(idle, [], 20 * MB, around(), 110_001, 100 * MB).rates == ()


def test_a_line_that_nothing_crosses_any_more_is_forgotten_as_well() -> None:
    crossed = (AdaptedRate(8 * MB, line=LINE),)
    idle = pace(crossed, [], 20 * MB, around(lines={LINE: 2e6}), 50_000).rates
    assert [(each.rate, each.idle_since_ms) for each in idle] == [(8 * MB, 50_000)]
    found = pace(idle, [COPY], 20 * MB, around(lines={LINE: 20e6}), 70_000)
    assert found.pace.into == {3: 20 * MB}


def test_what_holds_copies_back_is_told_the_slowest_first() -> None:
    surroundings = around(read(1, 0.9), lines={LINE: 5e6}, unseen=(2,))
    rates = tuple(AdaptedRate(50 * MB, broker) for broker in (1, 2, 3))
    notes = pace(rates, [COPY], 50 * MB, surroundings, 60_000).notes
    assert notes[0] == "broker 2 50 MB/s to 1 MB/s: no metrics of it for 5 s"
    assert notes[1] == "shanghai to suzhou what is left of it"
    assert notes[2].startswith("broker 1 50 MB/s to 40 MB/s: disk sda is 90% busy")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("floor_mb_per_s", 0.0),
        ("ceiling_mb_per_s", 0.5),
        ("disk_utilisation", 0.0),
        ("nic_share", 1.5),
        ("p99_factor", 1.0),
        ("await_ms", 0.0),
    ],
)
def test_settings_that_make_no_sense_are_refused_by_name(field: str, value: float) -> None:
    with pytest.raises(InvalidInput, match=field):
        ThrottleSettings(**{field: value})  # type: ignore[arg-type]


# Readings that are not new, and limits that nobody knows.


def test_nothing_rises_on_a_reading_that_was_judged_already() -> None:
    quiet = around()
    assert next_rate(at(5 * MB), quiet).rate > 5 * MB
    assert next_rate(at(5 * MB), replace(quiet, silent=frozenset({3}))).rate == 5 * MB
    assert next_rate(at(5 * MB), replace(quiet, silent=frozenset({1}))).rate > 5 * MB


def test_a_grave_moment_is_answered_once_and_not_again_while_nothing_new_is_heard() -> None:
    grave = replace(around(read(3, 0.9)), latest={3: read(3, mean_ms=90.0, p99_ms=90.0)})
    fallen = next_rate(at(80 * MB), grave)
    assert fallen.rate == 40 * MB
    again = replace(grave, silent=frozenset({3}))
    assert next_rate((fallen,), grave, 61_000).rate < fallen.rate, "news would let it fall further"
    assert next_rate((fallen,), again, 61_000) == fallen
    assert next_rate((fallen,), again, 66_000).rate < fallen.rate, "what was too much for seconds still is"


def test_baselines_are_learnt_from_new_readings_only() -> None:
    slower = replace(around(read(3, mean_ms=1.0)), silent=frozenset({3}))
    assert next_rate(at(5 * MB), slower).baselines == at(5 * MB)[0].baselines
    assert next_rate(at(5 * MB), around(read(3, mean_ms=1.0))).baselines != at(5 * MB)[0].baselines


def test_interfaces_whose_speed_nobody_knows_are_named_in_one_sentence() -> None:
    told = around()
    untold = around(replace(read(1), nic_without_speed="eth0"), replace(read(3), nic_without_speed="ens5"))
    sentence = (
        "eth0 of broker 1, ens5 of broker 3 do not tell their speed, so interfaces there have no limit: "
        "set nic_gbit_per_s under [throttle]"
    )
    assert sentence not in pace((), [COPY], 20 * MB, told, 0).notes
    assert pace((), [COPY], 20 * MB, untold, 0).notes.count(sentence) == 1

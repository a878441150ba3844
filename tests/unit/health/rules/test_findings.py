"""When a sighting is told, and when it ends."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from guardian.health.model.finding import Detector, Finding, FindingKind, Place, Sighting, Subject
from guardian.health.rules.findings import (
    Times,
    Watch,
    counts,
    due,
    failed,
    findings,
    in_grace,
    looked,
    only,
    places_of,
)

MINUTE_MS = 60_000
TIMES = Times(look_ms=5 * MINUTE_MS, raise_ms=5 * MINUTE_MS, clear_ms=10 * MINUTE_MS)
DISKS = Place(Detector.DISKS, "live")
SDB = Subject(FindingKind.SLOW_DISK, "live", "broker 2, disk sdb")
T0 = 1_790_000_000_000


def sighting(subject: Subject = SDB, since_ms: int = 0, evidence: str = "it is slow") -> Sighting:
    return Sighting(subject, evidence, "guardian disk show --cluster live", since_ms)


def after(*looks: tuple[int, list[Sighting]], watch: Watch | None = None) -> Watch:
    """(minute, what was seen) of the detector of disks."""
    found = watch or Watch()
    for minute, sightings in looks:
        found = looked(found, DISKS, T0 + minute * MINUTE_MS, sightings, TIMES)
    return found


def names(watch: Watch) -> list[str]:
    return [finding.subject.name for finding in findings(watch)]


def test_a_short_spike_is_never_told() -> None:
    watch = Watch()
    for minute in range(0, 100, 10):
        watch = after((minute, [sighting()]), (minute + 5, []), watch=watch)
        assert names(watch) == []
        assert in_grace(watch) == 0


def test_what_lasts_for_its_grace_period_is_told_with_its_beginning_and_newest_evidence() -> None:
    watch = after((0, [sighting()]))
    assert (names(watch), in_grace(watch)) == ([], 1)
    watch = after((5, [sighting(evidence="slower still")]), watch=watch)
    assert findings(watch) == [
        Finding(SDB, "slower still", "guardian disk show --cluster live", T0, T0 + 5 * MINUTE_MS)
    ]
    assert in_grace(watch) == 0


def test_one_look_is_not_enough_however_long_the_detector_says_that_it_lasts() -> None:
    long_ago = sighting(since_ms=T0 - 60 * MINUTE_MS)
    assert names(after((0, [long_ago]))) == []
    # After a change of leader the second look tells it, at its old age, though it came early.
    watch = after((0, [long_ago]), (1, [long_ago]))
    assert [finding.since_ms for finding in findings(watch)] == [T0 - 60 * MINUTE_MS]


def test_two_looks_that_follow_at_once_are_no_grace_period() -> None:
    assert names(after((0, [sighting()]), (1, [sighting()]))) == []


def test_a_finding_that_comes_and_goes_stays_one_and_ends_when_it_is_gone_for_a_while() -> None:
    watch = after((0, [sighting()]), (5, [sighting()]), (10, []), watch=None)
    assert names(watch) == [SDB.name]
    watch = after((14, [sighting()]), watch=watch)
    assert [finding.since_ms for finding in findings(watch)] == [T0]
    watch = after((19, []), watch=watch)
    assert names(watch) == [SDB.name]
    watch = after((24, []), watch=watch)
    assert names(watch) == []


def test_a_look_that_fails_ends_nothing_and_is_told() -> None:
    watch = after((0, [sighting()]), (5, [sighting()]))
    for minute in range(10, 100, 5):
        watch = failed(watch, DISKS, T0 + minute * MINUTE_MS, "the lake is away")
    assert names(watch) == [SDB.name]
    last = watch.looks[DISKS]
    assert (last.looked_at_ms, last.failed_at_ms, last.error) == (
        T0 + 5 * MINUTE_MS,
        T0 + 95 * MINUTE_MS,
        "the lake is away",
    )
    assert after((100, []), watch=watch).looks[DISKS].error == ""


def test_other_detectors_and_clusters_are_left_as_they_are() -> None:
    watch = after((0, [sighting()]), (5, [sighting()]))
    for place in (Place(Detector.DISKS, "other"), Place(Detector.DURABILITY, "live")):
        watch = looked(watch, place, T0 + 60 * MINUTE_MS, [], TIMES)
    assert names(watch) == [SDB.name]


def test_a_cluster_that_is_gone_takes_its_findings_along() -> None:
    watch = only(after((0, [sighting()]), (5, [sighting()])), [Place(Detector.DISKS, "other")])
    assert watch == Watch()


def test_looks_are_due_in_turn_and_failed_ones_do_not_come_sooner() -> None:
    wanted = places_of(["live", "other"], has_lines=True)
    assert len(wanted) == 16
    assert set(places_of(["live"], has_lines=False)) < set(wanted)
    watch = looked(Watch(), wanted[0], T0, [], TIMES)
    watch = failed(watch, wanted[1], T0 + 1, "away")
    times = dict.fromkeys(Detector, TIMES)
    assert due(watch, wanted, T0 + 2, times) == wanted[2:]
    assert due(watch, wanted[:2], T0 + 1 + TIMES.look_ms, times) == wanted[:2]


def test_the_gravest_come_first_and_those_of_no_one_cluster_with_each() -> None:
    offline = Subject(FindingKind.TOPIC_OFFLINE, "live", "topic t")
    line = Subject(FindingKind.LINE_NEAR_LIMIT, "", "sh to sz")
    alien = Subject(FindingKind.TOPIC_OFFLINE, "other", "topic u")
    seen = [sighting(subject) for subject in (line, SDB, offline, alien)]
    watch = after((0, seen), (5, seen))
    assert [finding.subject for finding in findings(watch, "live")] == [offline, SDB, line]
    assert len(findings(watch)) == 4


def test_a_cause_comes_before_its_effects_of_the_same_cluster() -> None:
    offline = Subject(FindingKind.TOPIC_OFFLINE, "live", "topic t")
    under = Subject(FindingKind.UNDER_MIN_ISR, "live", "partitions")
    down = Subject(FindingKind.BROKER_DOWN, "live", "broker 3")
    failing = Subject(FindingKind.HEALING_FAILED, "live", "broker 3")
    elsewhere = Subject(FindingKind.BROKER_DOWN, "other", "broker 3")
    seen = [sighting(subject) for subject in (under, offline, down, failing, elsewhere)]
    watch = after((0, seen), (5, seen))
    assert [finding.subject for finding in findings(watch)] == [down, offline, under, failing, elsewhere]
    assert [finding.subject for finding in findings(watch, "live")][:2] == [down, offline]


def test_counts_have_zeros_where_somebody_looked_so_that_an_end_is_seen() -> None:
    watch = after((0, [sighting()]), (5, [sighting()]))
    assert counts(watch) == {("live", FindingKind.SLOW_DISK): 1}
    watch = looked(watch, Place(Detector.LINKS, ""), T0, [], TIMES)
    watch = failed(watch, Place(Detector.DURABILITY, "live"), T0, "away")
    assert counts(watch) == {("live", FindingKind.SLOW_DISK): 1, ("", FindingKind.LINE_NEAR_LIMIT): 0}


def test_times_follow_the_collections() -> None:
    sampled = (Detector.DURABILITY, Detector.DISKS, Detector.LINKS)
    seldom, often = Times.of_interval(60_000), Times.of_interval(100)
    assert [seldom[detector] for detector in sampled] == [TIMES] * 3
    assert [often[detector].look_ms for detector in sampled] == [10_000, 10_000, 60_000]
    others = set(Detector) - set(sampled)
    assert all(seldom[detector] == often[detector] for detector in others)  # Kafka itself is asked


@given(st.lists(st.tuples(st.integers(1, 20), st.booleans()), max_size=40))
def test_nothing_is_told_that_was_not_seen_twice_and_nothing_stays_unseen_for_long(
    steps: list[tuple[int, bool]],
) -> None:
    watch, minute, history = Watch(), 0, list[tuple[int, bool]]()
    for pause, is_seen in steps:
        minute += pause
        history.append((minute, is_seen))
        was_told = bool(findings(watch))
        watch = after((minute, [sighting()] if is_seen else []), watch=watch)
        told = findings(watch)
        if told and not was_told:
            assert history[-1][1]
            assert history[-2][1]
            assert told[0].last_seen_ms - told[0].since_ms >= TIMES.raise_ms
        if told:
            assert T0 + minute * MINUTE_MS - told[0].last_seen_ms < TIMES.clear_ms

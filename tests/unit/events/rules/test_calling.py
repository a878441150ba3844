"""Which findings call a person, on values: once each, whoever leads."""

from __future__ import annotations

from guardian.events.rules.calling import AT_ONCE, QUIET_MS, CallStep, Seen, step
from guardian.healing.rules.trouble import Trouble
from guardian.healing.rules.verdict import Phase, Verdict
from guardian.health.model.finding import Detector, FindingKind, Place, Sighting, Subject
from guardian.health.rules.findings import Times, Watch, failed, looked
from guardian.model.event import Call

TIMES = Times(1, 1, 1)
STORM = Subject(FindingKind.STORM, "live", "healing")
STUCK = Subject(FindingKind.HEALING_FAILED, "live", "broker_down broker 2")
DOWN = Subject(FindingKind.BROKER_DOWN, "live", "broker 2")
CALL = Call("live", "storm healing", "6 of 10 brokers", 10)


def watch(*subjects: Subject, at_ms: int = 100) -> Watch:
    """After two looks at everything in cluster live that saw these, and nothing else."""
    found = Watch()
    for look_ms in (at_ms - 90, at_ms):
        for detector in (Detector.BROKERS, Detector.REPLICAS, Detector.HEALING):
            sightings = [Sighting(subject, "6 of 10 brokers", "show") for subject in subjects]
            seen = sightings if detector is Detector.HEALING else []
            found = looked(found, Place(detector, "live"), look_ms, seen, TIMES)
    return found


def stepped(stored: tuple[Call, ...], seen: Watch, now_ms: int, *verdicts: Verdict, leads_ms: int = 0) -> CallStep:
    return step(stored, Seen(seen, {"live": verdicts}, {"live"}, leads_ms), now_ms)


def test_what_calls_is_raised_once_and_other_findings_never() -> None:
    assert stepped((), watch(STORM, DOWN), 100).raised == (CALL,)
    assert stepped((CALL,), watch(STORM, DOWN), 100).raised == ()


def test_a_call_ends_when_it_was_not_seen_for_a_while() -> None:
    first = stepped((CALL,), watch(STORM), 1000)
    assert first.ended == ()
    for now_ms, ended in ((1000 + QUIET_MS - 1, ()), (1000 + QUIET_MS, (CALL,))):
        assert step((CALL,), Seen(watch(), {"live": ()}, {"live"}, 0, first.lasting_ms), now_ms).ended == ended


def test_a_new_leader_ends_nothing_before_it_has_looked_for_a_while() -> None:
    late = 10 * QUIET_MS
    assert stepped((CALL,), watch(), late, leads_ms=late - QUIET_MS + 1).ended == ()
    assert step((CALL,), Seen(watch(), {}, {"live"}, 0), late).ended == ()  # healing has not decided yet
    assert stepped((CALL,), Watch(), late).ended == ()
    blind = failed(watch(), Place(Detector.REPLICAS, "live"), 101, "away")
    assert stepped((CALL,), blind, late).ended == ()
    assert stepped((CALL,), watch(), late).ended == (CALL,)


def test_what_healing_failed_at_lasts_while_its_grace_period_begins_anew() -> None:
    call = Call("live", STUCK.title, "no room", 10)
    for phase, ended in ((Phase.GRACE, ()), (Phase.BRAKED, ()), (Phase.ACTS, (call,)), (Phase.DONE, (call,))):
        verdict = Verdict(Trouble(DOWN, "it is fenced", 0), phase, "so it is")
        assert stepped((call,), watch(), 10 * QUIET_MS, verdict).ended == ended, phase


def test_a_cluster_that_is_registered_no_longer_calls_nobody() -> None:
    gone = Call("gone", "cluster_unreachable cluster", "no answer", 5)
    assert stepped((gone,), watch(), 1).ended == (gone,)


def test_one_command_holds_so_many_and_the_next_the_rest() -> None:
    many = [Subject(FindingKind.HEALING_FAILED, "live", f"broker_down broker {each}") for each in range(AT_ONCE + 1)]
    first = stepped((), watch(*many), 100)
    assert len(first.raised) == AT_ONCE
    assert len(stepped(first.raised, watch(*many), 100).raised) == 1

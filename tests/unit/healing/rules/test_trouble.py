"""Which troubles there are, and which ticket is for which."""

from __future__ import annotations

from dataclasses import replace

from guardian.healing.rules.cure import evidence_of
from guardian.healing.rules.decision import decide
from guardian.healing.rules.relieving import ClusterPlaces
from guardian.healing.rules.trouble import CureKind, Standing, covers, is_seen, line_troubles, troubles
from guardian.healing.rules.verdict import Phase
from guardian.health.model.finding import Detector, FindingKind, LastLook, Place, Seen, Sighting, Subject
from guardian.health.rules.findings import Times as LookTimes
from guardian.health.rules.findings import Watch, failed, looked
from guardian.model.links import Crosser, Crossing, Direction
from guardian.model.plan import PartitionMove, Plan, ReplicaPlacement
from guardian.model.ticket import TicketState
from guardian.model.topology import TopicPartition
from guardian.tickets.rules.trimming import trimmed_again
from tests.unit.healing.rules.builders import MINUTE, NOW, POLICY, broken, down, known, ticket


def test_a_ticket_covers_the_troubles_that_it_is_for_and_no_others() -> None:
    made = ticket(down(3), broken(4, "/d1"))
    assert covers(made, down(3).subject)
    assert covers(made, broken(4, "/d1").subject)
    assert not covers(made, down(30).subject)
    assert not covers(made, broken(4, "/d").subject)
    assert not covers(made, down(3).subject._replace(cluster="other"))


def test_a_ticket_covers_all_failed_log_dirs_of_a_broker_however_many() -> None:
    paths = [f"/d{number}" for number in range(22)]
    found = [broken(4, path) for path in paths]
    made = ticket(*found)
    assert [each.subject.name for each in found if not covers(made, each.subject)] == []
    assert decide(POLICY, known(*found, tickets=(made,)), NOW).cure is None
    moves = tuple(
        PartitionMove(TopicPartition("t", number), (ReplicaPlacement(4, path),), (ReplicaPlacement(1),))
        for number, path in enumerate(paths)
    )
    anew = Plan("live", "heal", moves)
    assert len(trimmed_again(anew, made).moves) == 22


def test_a_ticket_covers_all_dead_brokers_however_many() -> None:
    found = [down(broker) for broker in range(25)]
    lenient = replace(POLICY, storm_share=0.5)
    made = ticket(*found, policy=lenient, brokers=100)
    assert [each.subject.name for each in found if not covers(made, each.subject)] == []
    assert decide(lenient, known(*found, brokers=100, tickets=(made,)), NOW).cure is None


def test_a_cluster_is_seen_when_the_last_looks_at_brokers_and_replicas_succeeded() -> None:
    times = LookTimes(5000, 5000, 10_000)
    brokers, replicas = Place(Detector.BROKERS, "live"), Place(Detector.REPLICAS, "live")
    watch = looked(Watch(), brokers, 1000, [], times)
    assert not is_seen(watch, "live")
    watch = looked(watch, replicas, 2000, [], times)
    assert is_seen(watch, "live")
    watch = failed(watch, replicas, 3000, "away")
    assert not is_seen(watch, "live")
    assert is_seen(looked(watch, replicas, 4000, [], times), "live")


def test_troubles_are_read_from_what_was_seen_with_what_the_last_look_says() -> None:
    times = LookTimes(5000, 5000, 10_000)
    place = Place(Detector.BROKERS, "live")
    sightings = [
        Sighting(down(broker).subject, "away", "guardian durability --cluster live", brokers=(broker,))
        for broker in (1, 2)
    ]
    watch = looked(Watch(), place, 1000, sightings, times)
    watch = looked(watch, place, 7000, sightings, times)
    watch = looked(watch, place, 13_000, sightings[:1], times)
    found = troubles(watch, "live")
    assert [(each.subject.name, each.standing, each.since_ms) for each in found] == [
        ("broker 1", Standing.PRESENT, 1000),
        ("broker 2", Standing.OVER, 1000),
    ]
    assert {each.standing for each in troubles(failed(watch, place, 14_000, "away"), "live")} == {Standing.UNKNOWN}
    assert troubles(watch, "other") == ()
    weak = Seen(place, Sighting(Subject(FindingKind.TOPIC_WEAK, "live", "t"), "", ""), 0, 13_000)
    assert troubles(Watch({weak.sighting.subject: weak}, watch.looks), "live") == ()


def near(crossing: Crossing, cluster: str = "live") -> Watch:
    """A line that is near its limit, as two looks have seen it."""
    subject = Subject(FindingKind.LINE_NEAR_LIMIT, "", "sh to sz")
    crosser = Crosser(Direction("sh", "sz"), crossing, cluster, "orders", 9)
    sighting = Sighting(subject, "sh to sz carried 9 of 10 Gbit/s", "guardian links", crossers=(crosser,))
    watch = Watch()
    for at_ms in (NOW - 70 * MINUTE, NOW):
        watch = looked(watch, Place(Detector.LINKS, ""), at_ms, [sighting], LookTimes(MINUTE, MINUTE, 99 * MINUTE))
    return watch


PLACES = {name: ClusterPlaces({1: "sh", 2: "sz"}) for name in ("live", "other")}


def test_a_line_near_its_limit_is_relieved_by_a_draft_in_the_cluster_that_can() -> None:
    lines = line_troubles(near(Crossing.CONSUME), PLACES, ())
    assert lines.keys() == {"live"}
    cure = decide(POLICY, known(*troubles(Watch(), "live", lines["live"])), NOW).cure
    assert cure is not None
    assert (cure.kind, cure.cluster, cure.submits) == (CureKind.LEADERS, "live", False)
    assert evidence_of(cure, NOW).splitlines() == [
        "line_near_limit sh to sz: sh to sz carried 9 of 10 Gbit/s (for 1.2 h)",
        "leaders of orders go to sz, where clients read over the line now: nothing is copied",
    ]


def test_a_line_stays_with_the_cluster_that_has_a_ticket_for_it() -> None:
    lines = line_troubles(near(Crossing.CONSUME), PLACES, ())
    draft = ticket(*lines["live"], state=TicketState.DRAFT)
    moved = line_troubles(near(Crossing.CONSUME, "other"), PLACES, (draft,))
    assert moved.keys() == {"live"}
    decision = decide(POLICY, known(*moved["live"], tickets=(draft,)), NOW)
    assert (decision.cure, decision.verdicts[0].ticket_id) == (None, "t-1")
    over = replace(draft, state=TicketState.EXPIRED)
    assert line_troubles(near(Crossing.CONSUME, "other"), PLACES, (over,)).keys() == {"other"}


def test_a_line_that_no_plan_relieves_calls_a_person() -> None:
    (trouble,) = line_troubles(near(Crossing.PRODUCE), PLACES, ())["live"]
    decision = decide(POLICY, known(trouble), NOW)
    assert (decision.cure, decision.verdicts[0].phase) == (None, Phase.PERSON)
    assert decision.called[0].subject.name == "line_near_limit sh to sz"


def test_where_nobody_has_looked_yet_nothing_is_known_to_be_present() -> None:
    place, subject = Place(Detector.BROKERS, "live"), Subject(FindingKind.BROKER_DOWN, "live", "broker 3")
    seen = Seen(place, Sighting(subject, "it is gone", "", brokers=(3,)), 0, 10, is_raised=True)
    (restored,) = troubles(Watch({subject: seen}), "live")
    assert restored.standing is Standing.UNKNOWN
    (looked_at,) = troubles(Watch({subject: seen}, {place: LastLook(10)}), "live")
    assert looked_at.standing is Standing.PRESENT

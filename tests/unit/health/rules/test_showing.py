"""Who sees some clusters is shown the findings of those, and of links the end that he knows."""

from __future__ import annotations

from dataclasses import dataclass

from guardian.health.model.finding import Detector, FindingKind, Place, Sighting, Subject
from guardian.health.rules.findings import Times, Watch, failed, findings, in_grace, looked
from guardian.health.rules.showing import finding_of, looks_of, watch_of
from guardian.model.links import Direction

TIMES = Times(1, 1, 10**9)
LINKS = Place(Detector.LINKS, "")


@dataclass(frozen=True)
class Sees:
    """Of cluster `mine`, whose brokers are in `east`."""

    is_whole: bool = False

    def sees(self, cluster: str) -> bool:
        return cluster == "mine"

    def has_end(self, *ends: str) -> bool:
        return "east" in ends

    def idc(self, name: str) -> str:
        return name if name == "east" else "another IDC"


def of_line(one: str, other: str) -> Sighting:
    subject = Subject(FindingKind.LINE_NEAR_LIMIT, "", f"{one} to {other}")
    line = Direction(one, other)
    return Sighting(subject, f"{one} to {other} is full of theirs", "links", 5, line=line, load="is full")


def of_disk(cluster: str) -> Sighting:
    return Sighting(Subject(FindingKind.SLOW_DISK, cluster, "disk sdb"), f"{cluster} is slow", "disk show", 5)


def watched() -> Watch:
    watch = Watch()
    lines = [of_line("east", "west"), of_line("west", "east"), of_line("west", "north")]
    for place, sightings in (
        (LINKS, lines),
        (Place(Detector.DISKS, "mine"), [of_disk("mine")]),
        (Place(Detector.DISKS, "theirs"), [of_disk("theirs")]),
        (Place(Detector.MEMBERS, ""), [Sighting(Subject(FindingKind.MEMBER_DOWN, "", "member g2"), "down", "raft", 5)]),
    ):
        watch = looked(looked(watch, place, 10, sightings, TIMES), place, 20, sightings, TIMES)
    return watch


def shown(sees: Sees) -> dict[str, str]:
    watch = watch_of(watched(), sees)
    return {(found := finding_of(each, sees)).subject.name: found.evidence for each in findings(watch)}


def test_of_a_link_the_end_that_is_elsewhere_and_who_crosses_it_are_withheld() -> None:
    assert shown(Sees()) == {
        "east to another IDC": "east to another IDC is full",
        "another IDC to east": "another IDC to east is full",
        "disk sdb": "mine is slow",
        "member g2": "down",
    }


def test_who_sees_all_clusters_is_shown_all_of_it() -> None:
    assert watch_of(watched(), Sees(is_whole=True)) == watched()
    assert shown(Sees(is_whole=True))["west to north"] == "west to north is full of theirs"


def test_what_is_counted_is_what_is_shown() -> None:
    place = Place(Detector.REPLICAS, "theirs")
    young = looked(watched(), place, 30, [of_disk("theirs")], Times(10**6, 10**6, 10**9))
    stuck = Sighting(Subject(FindingKind.STUCK_REASSIGNMENT, "theirs", "t-0"), "stuck", "topic show")
    young = looked(young, place, 40, [stuck], Times(10**6, 10**6, 10**9))
    assert (in_grace(young), in_grace(watch_of(young, Sees()))) == (1, 0)


def test_why_nobody_could_look_at_links_is_withheld_and_of_his_own_cluster_it_is_told() -> None:
    mine = Place(Detector.DISKS, "mine")
    watch = watch_of(failed(failed(watched(), LINKS, 50, "theirs is gone"), mine, 50, "mine is gone"), Sees())
    told = looks_of(watch.looks, Sees())
    assert told[mine].error == "mine is gone"
    assert "theirs" not in told[LINKS].error
    assert told[LINKS].error
    assert Place(Detector.DISKS, "theirs") not in told

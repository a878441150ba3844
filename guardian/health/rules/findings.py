"""From what detectors see, again and again, to what people are told. Pure.

    look ─▶ sightings ─▶ seen often and for long enough? ─▶ finding ─▶ not seen for a while ─▶ gone

A spike is no finding: a sighting becomes one after `raise_ms`, when two looks or more in a row have seen it. One look
that does not see it begins its grace period anew. A finding ends when no look has seen it for `clear_ms`, so that what
comes and goes stays one finding. A look that failed has seen nothing and missed nothing: it changes no finding, and is
told beside them.

All of it can be worked out again. Whoever keeps this in memory loses no more than a grace period, and less where the
detector itself knows since when (a slow disk's samples are in the lake).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from guardian.health.model.finding import (
    EFFECTS,
    Detector,
    Finding,
    FindingKind,
    LastLook,
    Place,
    Seen,
    Sighting,
    Subject,
)


@dataclass(frozen=True, slots=True)
class Times:
    """Milliseconds: between two looks, from the first sighting to a finding, and from the last sighting to its end."""

    look_ms: int
    raise_ms: int
    clear_ms: int

    @staticmethod
    def of_interval(collect_ms: int) -> dict[Detector, Times]:
        """Set how often detectors look. What brokers are asked for every so often is looked at every five times of
        that; lines are judged by whole minutes, each of them once. What Kafka itself tells does not wait for
        collections.
        """
        looks = {detector: max(least_ms, _INTERVALS * collect_ms) for detector, least_ms in _LEAST_LOOK_MS.items()}
        return {detector: Times(look_ms, look_ms, 2 * look_ms) for detector, look_ms in {**looks, **_LOOK_MS}.items()}


_INTERVALS = 5
_LEAST_LOOK_MS = {Detector.DURABILITY: 10_000, Detector.DISKS: 10_000, Detector.LINKS: 60_000}
_LOOK_MS = {
    Detector.BROKERS: 5_000,
    Detector.REPLICAS: 20_000,
    Detector.CONTROLLERS: 20_000,
    Detector.BALANCE: 600_000,
    Detector.READS: 600_000,
    Detector.MEMBERS: 10_000,
    Detector.HEALING: 5_000,
}
# Each in every cluster; lines and members are of no one cluster, and healing tells by itself what it can't do.
_OF_A_CLUSTER = (
    Detector.BROKERS,
    Detector.REPLICAS,
    Detector.CONTROLLERS,
    Detector.DURABILITY,
    Detector.DISKS,
    Detector.BALANCE,
    Detector.READS,
)


@dataclass(frozen=True, slots=True)
class Watch:
    """What is known after some looks."""

    seen: Mapping[Subject, Seen] = field(default_factory=dict)
    looks: Mapping[Place, LastLook] = field(default_factory=dict)


def looked(watch: Watch, place: Place, at_ms: int, sightings: Iterable[Sighting], times: Times) -> Watch:
    """After a look that succeeded."""
    now = {sighting.subject: sighting for sighting in sightings}
    seen: dict[Subject, Seen] = {}
    for subject, known in watch.seen.items():
        is_kept = known.is_raised and at_ms - known.last_seen_ms < times.clear_ms
        if known.place != place or is_kept:
            seen[subject] = known
    for subject, sighting in now.items():
        seen[subject] = _seen(watch.seen.get(subject), place, sighting, at_ms, times)
    last = watch.looks.get(place, LastLook())
    return Watch(seen, {**watch.looks, place: LastLook(at_ms, last.failed_at_ms)})


def failed(watch: Watch, place: Place, at_ms: int, error: str) -> Watch:
    """After a look that saw nothing because it could not."""
    last = watch.looks.get(place, LastLook())
    return replace(watch, looks={**watch.looks, place: LastLook(last.looked_at_ms, at_ms, error)})


def only(watch: Watch, places: Iterable[Place]) -> Watch:
    """Drop what was seen where nobody looks any more: a cluster that is not registered now."""
    wanted = set(places)
    return Watch(
        {subject: known for subject, known in watch.seen.items() if known.place in wanted},
        {place: last for place, last in watch.looks.items() if place in wanted},
    )


def places_of_healing(clusters: Iterable[str]) -> list[Place]:
    """Return the places that healing tells of by itself: nobody looks there, and nothing is due."""
    return [Place(Detector.HEALING, cluster) for cluster in clusters]


def places_of(clusters: Iterable[str], *, has_lines: bool) -> list[Place]:
    """Return where to look. Lines are those of all clusters together; without limits given there is nothing to
    watch.
    """
    found = [Place(detector, cluster) for cluster in clusters for detector in _OF_A_CLUSTER]
    found.append(Place(Detector.MEMBERS, ""))
    return [*found, Place(Detector.LINKS, "")] if has_lines else found


def due(watch: Watch, wanted: Sequence[Place], now_ms: int, times: Mapping[Detector, Times]) -> list[Place]:
    """Return where to look now, whoever has waited longest first. A look that failed is made again at its usual
    time.
    """

    def last_ms(place: Place) -> int:
        last = watch.looks.get(place, LastLook())
        return max(last.looked_at_ms, last.failed_at_ms)

    return sorted((place for place in wanted if now_ms - last_ms(place) >= times[place.detector].look_ms), key=last_ms)


def findings(watch: Watch, cluster: str = "") -> list[Finding]:
    """The gravest first, then the oldest; a cause before the gravest of its effects. Of one cluster: its own, and those
    that are of no one cluster."""
    raised = [
        Finding(
            known.sighting.subject,
            known.sighting.evidence,
            known.sighting.show,
            known.since_ms,
            known.last_seen_ms,
            known.sighting.line,
            known.sighting.load,
            known.sighting.brokers,
        )
        for known in watch.seen.values()
        if known.is_raised and (not cluster or known.sighting.subject.cluster in (cluster, ""))
    ]
    present: dict[str, set[FindingKind]] = {}
    for finding in raised:
        present.setdefault(finding.subject.cluster, set()).add(finding.subject.kind)
    return sorted(raised, key=lambda finding: (*_rank(finding.subject, present), finding.since_ms, finding.subject))


def _rank(subject: Subject, present: Mapping[str, set[FindingKind]]) -> tuple[int, bool]:
    """Return the gravity of the finding, or of the gravest of its effects that are there, and whether it is its own."""
    effects = EFFECTS.get(subject.kind, frozenset()) & present[subject.cluster]
    gravest = min((kind.gravity for kind in effects), default=subject.kind.gravity)
    return min(gravest, subject.kind.gravity), gravest >= subject.kind.gravity


def looks(watch: Watch, cluster: str = "") -> dict[Place, LastLook]:
    """Return what was looked at, for one cluster as `findings`."""
    return {place: last for place, last in watch.looks.items() if not cluster or place.cluster in (cluster, "")}


def in_grace(watch: Watch, cluster: str = "") -> int:
    """Return how many subjects are seen, and not for long enough."""
    return sum(
        not known.is_raised and (not cluster or known.sighting.subject.cluster in (cluster, ""))
        for known in watch.seen.values()
    )


def counts(watch: Watch) -> dict[tuple[str, FindingKind], int]:
    """Findings by cluster and kind, with zeros where somebody looked: what ends must be seen to end."""
    found = {
        (place.cluster, kind): 0
        for place, last in watch.looks.items()
        if last.looked_at_ms
        for kind in _KINDS[place.detector]
    }
    for finding in findings(watch):
        key = (finding.subject.cluster, finding.subject.kind)
        found[key] = found.get(key, 0) + 1
    return found


_KINDS = {
    Detector.DURABILITY: (FindingKind.TOPIC_OFFLINE, FindingKind.TOPIC_AT_RISK, FindingKind.TOPIC_WEAK),
    Detector.DISKS: (FindingKind.SLOW_DISK,),
    Detector.LINKS: (FindingKind.LINE_NEAR_LIMIT,),
    Detector.BROKERS: (
        FindingKind.FENCED_SERVES,
        FindingKind.BROKER_DOWN,
        FindingKind.CLUSTER_UNREACHABLE,
        FindingKind.STATE_UNKNOWN,
    ),
    Detector.REPLICAS: (
        FindingKind.LOG_DIR_OFFLINE,
        FindingKind.UNDER_MIN_ISR,
        FindingKind.AT_MIN_ISR,
        FindingKind.STUCK_REASSIGNMENT,
        FindingKind.REPLICAS_EMPTY,
        FindingKind.TOPIC_LOST,
    ),
    Detector.CONTROLLERS: (
        FindingKind.CONTROLLERS_AT_RISK,
        FindingKind.CONTROLLER_BEHIND,
        FindingKind.METADATA_GROWS,
    ),
    Detector.BALANCE: (FindingKind.SKEW, FindingKind.DISK_FILLS),
    Detector.READS: (FindingKind.READS_LEAVE_IDC,),
    Detector.MEMBERS: (
        FindingKind.MEMBER_STOPPED,
        FindingKind.MEMBER_DOWN,
        FindingKind.CLOCK_OFF,
        FindingKind.CERTIFICATE_EXPIRES,
    ),
    Detector.HEALING: (FindingKind.STORM, FindingKind.HEALING_FAILED),
}


def _seen(known: Seen | None, place: Place, sighting: Sighting, at_ms: int, times: Times) -> Seen:
    since_ms = sighting.since_ms or at_ms
    if known is None:
        return Seen(place, sighting, since_ms, at_ms)
    since_ms = min(known.since_ms, since_ms)
    return Seen(place, sighting, since_ms, at_ms, known.is_raised or at_ms - since_ms >= times.raise_ms)

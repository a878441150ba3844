"""Which troubles there are in a cluster, and what kind of plan would cure each. Pure.

    what detectors saw (guardian.health) ─▶ troubles: those that a plan cures, the gravest first
    lines between IDCs near their limit  ─▶ line_troubles: each falls to one cluster

A trouble counts, raised or not, until a look at its place sees it no more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import Enum, StrEnum

from guardian.healing.rules.relieving import ClusterPlaces, Relief, cluster_of, relief_of
from guardian.health.model.finding import Detector, FindingKind, LastLook, Place, Seen, Subject
from guardian.health.rules.findings import Watch
from guardian.model.text import Text
from guardian.model.ticket import Ticket


class CureKind(StrEnum):
    """The kind of plan, as tickets name it."""

    HEAL = "heal"
    EMPTY_DISK = "empty-disk"
    BALANCE = "balance"
    RELIEVE = "relieve"
    LEADERS = "leaders"
    MIGRATE_IDC = "migrate-idc"


_CURES = {
    FindingKind.BROKER_DOWN: CureKind.HEAL,
    FindingKind.LOG_DIR_OFFLINE: CureKind.HEAL,
    FindingKind.SLOW_DISK: CureKind.EMPTY_DISK,
    FindingKind.DISK_FILLS: CureKind.RELIEVE,
    FindingKind.SKEW: CureKind.BALANCE,
}
_WAITED_OUT = (FindingKind.FENCED_SERVES, FindingKind.STATE_UNKNOWN)  # nothing is healed before
_OF_LINES = (CureKind.LEADERS, CureKind.MIGRATE_IDC)
# What is not urgent is proposed at most: when to move so much for evenness is for a person to say.
PROPOSED_AT_MOST = (CureKind.BALANCE, CureKind.RELIEVE, *_OF_LINES)
URGENT_KINDS = frozenset(kind.value for kind in CureKind if kind not in PROPOSED_AT_MOST)
CURE_KINDS = frozenset(kind.value for kind in CureKind)  # of its author are also tickets of the guard of exclusions


class Standing(Enum):
    """What the last look at a trouble's place says of it."""

    PRESENT = "seen"
    OVER = "seen no more"
    UNKNOWN = "the last look failed"


@dataclass(frozen=True, slots=True)
class Trouble:
    """Something that was seen, raised or not, and that healing knows a cure for. `relief` is that of a line; None:
    nothing can be planned that takes load off it. `disks` are how many its broker has, 0: not known."""

    subject: Subject
    evidence: Text
    since_ms: int
    standing: Standing = Standing.PRESENT
    brokers: tuple[int, ...] = ()
    log_dirs: tuple[str, ...] = ()
    replicas: int | None = None
    is_raised: bool = True
    relief: Relief | None = None
    disks: int = 0

    @property
    def is_healed(self) -> bool:
        """Nothing is left that it could harm: its replicas are elsewhere by now."""
        return self.replicas == 0

    @property
    def cure(self) -> CureKind:
        if self.subject.kind is FindingKind.LINE_NEAR_LIMIT:
            return CureKind.MIGRATE_IDC if self.relief is not None and self.relief.policy else CureKind.LEADERS
        return _CURES[self.subject.kind]


def troubles(watch: Watch, cluster: str, of_lines: Iterable[Trouble] = ()) -> tuple[Trouble, ...]:
    """Return the troubles of one cluster, the gravest first, with those `of_lines` that fall to it. Findings that no
    plan cures are left out.
    """
    found = [
        _trouble(subject, seen, watch)
        for subject, seen in watch.seen.items()
        if subject.cluster == cluster and subject.kind in _CURES
    ]
    return tuple(sorted((*found, *of_lines), key=lambda each: (each.subject.kind.gravity, each.since_ms, each.subject)))


def has_lines(watch: Watch) -> bool:
    """Return whether a line between IDCs is among what was seen."""
    return any(subject.kind is FindingKind.LINE_NEAR_LIMIT for subject in watch.seen)


def line_troubles(
    watch: Watch, places: Mapping[str, ClusterPlaces], tickets: Iterable[Ticket]
) -> Mapping[str, tuple[Trouble, ...]]:
    """Return by cluster the lines near their limits that fall to it: a line is of no one cluster, its relief is planned
    in one. That is where a ticket for it is open already, or else where the most can be done about it. `tickets` are
    all of healing's own.
    """
    own = [ticket for ticket in tickets if not ticket.state.is_over]
    found: dict[str, tuple[Trouble, ...]] = {}
    for subject, seen in watch.seen.items():
        if subject.kind is not FindingKind.LINE_NEAR_LIMIT:
            continue
        crossers = seen.sighting.crossers
        under_way = (each.cluster for each in own if covers(each, subject._replace(cluster=each.cluster)))
        cluster = next(under_way, cluster_of(crossers, places))
        if cluster in places:
            trouble = _trouble(subject._replace(cluster=cluster), seen, watch)
            relief = relief_of(crossers, cluster, places[cluster])
            found[cluster] = (*found.get(cluster, ()), replace(trouble, relief=relief))
    return found


def _trouble(subject: Subject, seen: Seen, watch: Watch) -> Trouble:
    return Trouble(
        subject,
        seen.sighting.evidence,
        seen.since_ms,
        _standing(seen.last_seen_ms, watch.looks.get(seen.place, LastLook())),
        seen.sighting.brokers,
        seen.sighting.log_dirs,
        seen.sighting.replicas,
        seen.is_raised,
        disks=seen.sighting.disks,
    )


def is_seen(watch: Watch, cluster: str) -> bool:
    """Return whether the last looks at the cluster's brokers and replicas succeeded: then what is not among the
    troubles is none.
    """
    lasts = [watch.looks.get(Place(each, cluster), LastLook()) for each in (Detector.BROKERS, Detector.REPLICAS)]
    return all(last.looked_at_ms > last.failed_at_ms for last in lasts) and not why_wait(watch, cluster)


def why_wait(watch: Watch, cluster: str) -> str:
    """Return why nothing is healed, as of the last look. The cluster's state is unknown, or a broker has lost the
    controllers and serves clients all the same; empty: nothing is in the way.
    """
    for subject, seen in sorted(watch.seen.items()):
        if subject.cluster == cluster and subject.kind in _WAITED_OUT:
            standing = _standing(seen.last_seen_ms, watch.looks.get(seen.place, LastLook()))
            if standing is not Standing.OVER:
                return seen.sighting.evidence
    return ""


def _standing(last_seen_ms: int, last: LastLook) -> Standing:
    if last.failed_at_ms > last.looked_at_ms or not last.looked_at_ms:
        return Standing.UNKNOWN
    return Standing.PRESENT if last_seen_ms >= last.looked_at_ms else Standing.OVER


def troubled_brokers(found: Iterable[Trouble]) -> frozenset[int]:
    """Those that something present is about."""
    return frozenset(broker for each in found if each.standing is not Standing.OVER for broker in each.brokers)


def covers(ticket: Ticket, subject: Subject) -> bool:
    """Return whether the ticket was made because of this, among others."""
    kind, cluster, name = subject
    return ticket.cluster == cluster and any((each.kind, each.subject) == (kind, name) for each in ticket.troubles)


def newest_for(tickets: Iterable[Ticket], subject: Subject) -> Ticket | None:
    """Return the newest ticket that was made because of this; None: there is none."""
    found = [ticket for ticket in tickets if covers(ticket, subject)]
    return max(found, key=lambda ticket: (ticket.created_at_ms, ticket.id), default=None)

"""Do consumers read in their own data centre? Brokers' replica selectors, held against the federation. Pure.

    no replica.selector.class      consumers read from leaders, wherever those are
    Kafka's rack-aware one         in their own rack, else from leaders: good enough, and there is no mapping to check
    Guardian's IDC-aware one       in their own IDC, by the mapping of racks that each broker has for itself; it is good
                                   where it says of every rack what the federation says
    another one, or nobody tells   not known, which is not wrong

A leader decides by its own mapping for the racks of all replicas, so each broker is asked about each rack of its
cluster. A cluster in one data centre has nothing to check.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from guardian.model.finding import FindingKind, Sighting, Subject
from guardian.model.replica_selector import IDC_AWARE, RACK_AWARE, SELECTOR_CLASS, ReplicaSelector
from guardian.model.topology import Broker, broker_names


@dataclass(frozen=True, slots=True)
class Misread:
    """A rack that some brokers' selectors place in another data centre than the federation does."""

    rack: str
    idc: str  # the federation's
    by_selector: str
    brokers: tuple[int, ...]

    @property
    def sentence(self) -> str:
        return (
            f"rack {self.rack} is in {self.idc} by the federation and in {self.by_selector} by the replica selector of "
            f"{broker_names(self.brokers)}: clients there are served from elsewhere. Give {self.rack}:{self.idc} in "
            "guardian.replica.idc.of.rack on all brokers, or correct the federation "
            f"(guardian cluster add --idc {self.rack}={self.by_selector})"
        )


@dataclass(frozen=True, slots=True)
class NearReads:
    """Brokers `without` a selector, racks that are `misread`, and brokers of which it is `unknown`."""

    without: tuple[int, ...] = ()
    misread: tuple[Misread, ...] = ()
    unknown: tuple[int, ...] = ()

    @property
    def without_sentence(self) -> str:
        has, them = ("has", "it") if len(self.without) == 1 else ("have", "them")
        return (
            f"{broker_names(self.without)} {has} no {SELECTOR_CLASS}: what is led there is read there, from whichever "
            f"data centre consumers are in. Set it to {IDC_AWARE} there and restart {them}"
        )

    @property
    def unknown_sentence(self) -> str:
        return (
            f"whether consumers read in their own data centre is not known of {broker_names(self.unknown)}: nobody "
            "tells the replica selector there, or it is not one of Guardian's"
        )


def spans_idcs(brokers: Sequence[Broker]) -> bool:
    """Whether they stand in more than one data centre."""
    return len({broker.idc for broker in brokers if broker.idc}) > 1


def near_reads(
    brokers: Sequence[Broker], selectors: Mapping[int, ReplicaSelector], of: Collection[int] | None = None
) -> NearReads:
    """`brokers` are all of a cluster, `selectors` what is told of some, `of` those to judge; None: all."""
    if not spans_idcs(brokers):
        return NearReads()
    places = sorted({(broker.rack, broker.idc) for broker in brokers if broker.rack and broker.idc})
    without, unknown = [], []
    misread: dict[tuple[str, str, str], list[int]] = defaultdict(list)
    for broker in sorted({broker.id for broker in brokers} if of is None else of):
        selector = selectors.get(broker)
        if selector is None:
            unknown.append(broker)
        elif not selector.class_name:
            without.append(broker)
        elif selector.mapping is not None:
            for rack, idc in places:
                if selector.mapping.idc(rack) != idc:
                    misread[rack, idc, selector.mapping.idc(rack)].append(broker)
        elif selector.class_name != RACK_AWARE:
            unknown.append(broker)
    found = tuple(Misread(*place, tuple(each)) for place, each in sorted(misread.items()))
    return NearReads(tuple(without), found, tuple(unknown))


def sightings(cluster: str, reads: NearReads) -> Iterator[Sighting]:
    """What is wrong. What is not known is no sighting."""
    show = "guardian cluster list"
    if reads.without:
        subject = Subject(FindingKind.READS_LEAVE_IDC, cluster, "brokers without a replica selector")
        yield Sighting(subject, reads.without_sentence, show, brokers=reads.without)
    for each in reads.misread:
        subject = Subject(FindingKind.READS_LEAVE_IDC, cluster, f"rack {each.rack}, {each.by_selector} for {each.idc}")
        yield Sighting(subject, each.sentence, show, brokers=each.brokers)


def notes(reads: NearReads) -> tuple[str, ...]:
    """For a plan that brings replicas to these brokers: a sentence each, also of what is not known."""
    found = [reads.without_sentence] if reads.without else []
    found += [each.sentence for each in reads.misread]
    return (*found, reads.unknown_sentence) if reads.unknown else tuple(found)

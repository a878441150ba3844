"""Do consumers read in their own data centre? Brokers' replica selectors, held against the federation. Pure.

    no replica.selector.class      consumers read from leaders, wherever those are
    Kafka's rack-aware one         in their own rack, else from leaders: good where each data centre is one rack, for it
                                   compares whole names of racks, and there is no mapping to check
    Guardian's IDC-aware one       in their own IDC, by the mapping of racks that each broker has for itself; it is good
                                   where it says of every rack what the federation says
    another one, or nobody tells   not known, which is not wrong
    any, on a broker without rack  no selector takes that broker's replicas for near

A leader decides by its own mapping for the racks of all replicas, so each broker is asked about each rack of its
cluster. A cluster in one data centre has nothing to check.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from guardian.health.model.finding import FindingKind, Sighting, Subject
from guardian.links.model import IDC_AWARE, RACK_AWARE, SELECTOR_CLASS, ReplicaSelector
from guardian.model.plan import PartitionMove
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
    """Brokers `without` a selector, racks that are `misread`, and brokers of which it is `unknown`. `by_rack` have a
    selector that knows racks alone, while the data centres `of_racks` have several; `rackless` are in a data centre,
    and in no rack."""

    without: tuple[int, ...] = ()
    misread: tuple[Misread, ...] = ()
    unknown: tuple[int, ...] = ()
    by_rack: tuple[int, ...] = ()
    of_racks: tuple[str, ...] = ()
    rackless: tuple[int, ...] = ()

    @property
    def without_sentence(self) -> str:
        has, them = ("has", "it") if len(self.without) == 1 else ("have", "them")
        return (
            f"{broker_names(self.without)} {has} no {SELECTOR_CLASS}: what is led there is read there, from whichever "
            f"data centre consumers are in. Set it to {IDC_AWARE} there and restart {them}"
        )

    @property
    def by_rack_sentence(self) -> str:
        has, them = ("has", "it") if len(self.by_rack) == 1 else ("have", "them")
        return (
            f"{broker_names(self.by_rack)} {has} Kafka's {RACK_AWARE.rpartition('.')[2]}, which compares whole racks, "
            f"and there are several in {', '.join(self.of_racks)}: where no replica is in a consumer's own rack it "
            f"reads from the leader, in whichever data centre that is. Set {SELECTOR_CLASS} to {IDC_AWARE} there and "
            f"restart {them}"
        )

    @property
    def rackless_sentence(self) -> str:
        has, them = ("has", "it") if len(self.rackless) == 1 else ("have", "them")
        return (
            f"{broker_names(self.rackless)} {has} a data centre in the federation, and no rack: no replica selector "
            "takes what is there for near, and consumers of that data centre read elsewhere. Set broker.rack there and "
            f"restart {them}"
        )

    @property
    def unknown_sentence(self) -> str:
        return (
            f"whether consumers read in their own data centre is not known of {broker_names(self.unknown)}: nobody "
            "tells the replica selector there, or it is not one of Guardian's"
        )


def spans_idcs(brokers: Sequence[Broker]) -> bool:
    """Return whether the brokers stand in more than one data centre."""
    return len({broker.idc for broker in brokers if broker.idc}) > 1


def near_reads(
    brokers: Sequence[Broker], selectors: Mapping[int, ReplicaSelector], of: Collection[int] | None = None
) -> NearReads:
    """`brokers` are all of a cluster, `selectors` what is told of some, `of` those to judge; None: all."""
    if not spans_idcs(brokers):
        return NearReads()
    places = sorted({(broker.rack, broker.idc) for broker in brokers if broker.rack and broker.idc})
    racks = {idc: {rack for rack, of_rack in places if of_rack == idc} for _, idc in places}
    of_racks = tuple(sorted(idc for idc, found in racks.items() if len(found) > 1))
    without, unknown, by_rack = [], [], []
    misread: dict[tuple[str, str, str], list[int]] = defaultdict(list)
    judged = sorted({broker.id for broker in brokers} if of is None else of)
    rackless = {broker.id for broker in brokers if broker.idc and not broker.rack}
    for broker in judged:
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
        elif of_racks:
            by_rack.append(broker)
    found = tuple(Misread(*place, tuple(each)) for place, each in sorted(misread.items()))
    return NearReads(
        tuple(without),
        found,
        tuple(unknown),
        tuple(by_rack),
        of_racks if by_rack else (),
        tuple(broker for broker in judged if broker in rackless),
    )


def left_behind(moves: Sequence[PartitionMove], brokers: Sequence[Broker]) -> tuple[str, ...]:
    """Note how many partitions some consumers may read elsewhere, or not at all, when all is as planned; () when none.

    A client of librdkafka (2.16.1) that reads from a follower and hears that it leads may be left with the leader of
    before (confluentinc/librdkafka, pull 5593). As long as that one has a replica it serves the client.
    """
    idcs = {broker.id: broker.idc for broker in brokers}
    found = sum(_leaves_behind(move, idcs) for move in moves)
    if not found:
        return ()
    partitions = "1 partition" if found == 1 else f"{found} partitions"
    return (
        f"a follower becomes the leader of {partitions}: consumers with librdkafka (2.16.1) that read from it may be "
        "left with the leader of before, in another data centre, and get nothing when its replica is gone. Restart "
        "them afterwards, or let another broker lead for a moment",
    )


def _leaves_behind(move: PartitionMove, idcs: Mapping[int, str]) -> bool:
    if not move.original:
        return False
    leader, next_leader = move.original_brokers[0], move.target_brokers[0]
    if next_leader not in move.original_brokers[1:]:
        return False
    return leader not in move.target_brokers or idcs.get(leader) != idcs.get(next_leader)


def sightings(cluster: str, reads: NearReads) -> Iterator[Sighting]:
    """Yield what is wrong. What is not known is no sighting."""
    show = "guardian cluster list"
    if reads.without:
        subject = Subject(FindingKind.READS_LEAVE_IDC, cluster, "brokers without a replica selector")
        yield Sighting(subject, reads.without_sentence, show, brokers=reads.without)
    if reads.by_rack:
        subject = Subject(FindingKind.READS_LEAVE_IDC, cluster, "brokers whose replica selector knows racks alone")
        yield Sighting(subject, reads.by_rack_sentence, show, brokers=reads.by_rack)
    if reads.rackless:
        subject = Subject(FindingKind.READS_LEAVE_IDC, cluster, "brokers without a rack")
        yield Sighting(subject, reads.rackless_sentence, show, brokers=reads.rackless)
    for each in reads.misread:
        subject = Subject(FindingKind.READS_LEAVE_IDC, cluster, f"rack {each.rack}, {each.by_selector} for {each.idc}")
        yield Sighting(subject, each.sentence, show, brokers=each.brokers)


def notes(reads: NearReads) -> tuple[str, ...]:
    """Return notes for a plan that brings replicas to these brokers: a sentence each, also of what is not known."""
    found = [reads.without_sentence] if reads.without else []
    found += [reads.by_rack_sentence] if reads.by_rack else []
    found += [reads.rackless_sentence] if reads.rackless else []
    found += [each.sentence for each in reads.misread]
    return (*found, reads.unknown_sentence) if reads.unknown else tuple(found)

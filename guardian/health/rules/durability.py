"""How safe the data of a cluster is, from what Kafka says of it. Pure.

With acks=all a record is acknowledged once everybody in sync has it, and Kafka refuses it while fewer than
min.insync.replicas are. So min.insync.replicas is what acknowledged data can count on at any time, and the ISR what it
has now. What is lost with a broker, a rack or a data centre follows from where these stand. With acks=0 or 1 the
leader's copy is all that counts, whatever is set here.

Cuts and losses: DESIGN.md, "What can happen to a cluster".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from guardian.model.cluster_state import Eligible, PartitionState
from guardian.model.durability import (
    BrokerPlace,
    Durability,
    Loss,
    Rating,
    Scope,
    TopicDurability,
    TopicFacts,
    TopicSettings,
)
from guardian.model.faults.times import LATEST_SHRINK
from guardian.model.text import some

# A follower may be this far behind and still count as in sync; Kafka's default since 2.5.
USUAL_REPLICA_LAG_MS = 30_000
_MAX_NAMED = 5


def audit(topics: Mapping[str, TopicFacts], brokers: Mapping[int, BrokerPlace]) -> Durability:
    """Rates the topics, and says what each loss would do. `brokers` are all that the federation knows of."""
    return Durability(
        topics=tuple(rate_all(topics, brokers)),
        losses=tuple(losses(topics, brokers)),
        remarks=tuple(remarks(brokers)),
    )


def rate_all(topics: Mapping[str, TopicFacts], brokers: Mapping[int, BrokerPlace]) -> list[TopicDurability]:
    """Rate the topics, and return the worst first."""
    racks = _Racks.of(brokers)
    rated = [_rate(name, facts, brokers, racks) for name, facts in topics.items()]
    return sorted(rated, key=lambda topic: (topic.rating.gravity, topic.topic))


def rate(name: str, facts: TopicFacts, brokers: Mapping[int, BrokerPlace]) -> TopicDurability:
    """Tell what one topic's data survives."""
    return _rate(name, facts, brokers, _Racks.of(brokers))


def _rate(name: str, facts: TopicFacts, brokers: Mapping[int, BrokerPlace], racks: _Racks) -> TopicDurability:
    partitions = facts.partitions.values()
    settings = facts.settings
    factor = min((len(each.replicas) for each in partitions), default=0)
    # Out-of-sync replicas may lead: what was acknowledged meanwhile is gone, whatever min.insync.replicas is.
    promised = 1 if settings.is_unclean else min(settings.min_isr, factor)
    awaited = _awaited(facts)
    found = [*_reasons_now(facts, brokers, awaited, racks), *_reasons_of_settings(settings, factor)]
    found.sort(key=lambda each: each[0].gravity)
    return TopicDurability(
        topic=name,
        rating=found[0][0] if found else Rating.SOUND,
        partitions=len(facts.partitions),
        replication_factor=factor,
        min_isr=settings.min_isr,
        is_unclean=settings.is_unclean,
        offline=sum(each.leader < 0 for each in partitions),
        under_min_isr=sum(len(each.isr) < _needed(settings, each) for each in partitions),
        under_replicated=sum(len(each.isr) < len(each.replicas) for each in partitions),
        preferred_leaders=sum(each.leader == each.replicas[0] for each in partitions if each.replicas),
        survives_brokers=max(0, promised - 1),
        reasons=tuple(reason for _, reason in found),
        start_first=tuple(dict.fromkeys(broker for waits in awaited for broker in waits)),
    )


def _needed(settings: TopicSettings, partition: PartitionState) -> int:
    """Return the min.insync.replicas that Kafka applies: since 3.7 never more than there are replicas."""
    return min(settings.min_isr, len(partition.replicas))


def _awaited(facts: TopicFacts) -> dict[tuple[int, ...], list[int]]:
    """Return the partitions without a leader by the brokers that they wait for: who led last comes first.

    A broker that ended uncleanly is in no ELR any more once it is back; who led last may lead even then.
    """
    found: dict[tuple[int, ...], list[int]] = {}
    for number, partition in sorted(facts.partitions.items()):
        if partition.leader < 0:
            eligible = facts.eligible.get(number, Eligible())
            waits = dict.fromkeys((*eligible.last_known, *partition.isr, *eligible.replicas))
            found.setdefault(tuple(waits), []).append(number)
    return found


def losses(topics: Mapping[str, TopicFacts], brokers: Mapping[int, BrokerPlace]) -> Iterator[Loss]:
    """Each broker that lives, each rack and each IDC of which more than one is known; the worst first in each scope.

    One pass over the partitions: each looks only at the few groups that its replicas stand in.
    """
    groups = [
        _Group(scope, name, inside) for scope, members in _scopes(brokers).items() for name, inside in members.items()
    ]
    of_broker: dict[int, list[_Group]] = {}
    for group in groups:
        for broker in group.brokers:
            of_broker.setdefault(broker, []).append(group)
    for facts in topics.values():
        promised = 1 if facts.settings.is_unclean else facts.settings.min_isr
        for partition in facts.partitions.values():
            _add_losses(of_broker, partition, facts.settings.min_isr, promised)
    for scope in Scope:
        found = [group.loss() for group in groups if group.scope is scope]
        yield from sorted(found, key=lambda loss: (-loss.offline, -loss.unwritable, -loss.exposed, -loss.leaders))


def remarks(brokers: Mapping[int, BrokerPlace]) -> Iterator[str]:
    """Yield what is worth a look in the brokers' settings, a sentence each."""
    dead = sorted(broker for broker, place in brokers.items() if not place.is_alive)
    if dead:
        yield f"{_named('broker', dead)} not alive: what is there counts for nothing here"
    lags = Counter(place.replica_lag_ms for place in brokers.values() if place.replica_lag_ms is not None)
    if len(lags) > 1:
        yield f"replica.lag.time.max.ms differs between brokers ({', '.join(map(str, sorted(lags)))}): align it"
    for lag in sorted(lags):
        usual = f" (the default is {USUAL_REPLICA_LAG_MS})" if lag > USUAL_REPLICA_LAG_MS else ""
        yield (
            f"replica.lag.time.max.ms is {lag} on {lags[lag]} brokers: a follower that hangs silences acks=all for "
            f"{lag / 1000:g} to {lag * LATEST_SHRINK / 1000:g} s before it leaves the ISR{usual}"
        )
    if any(place.rebalances_leaders for place in brokers.values()):
        yield (
            "auto.leader.rebalance.enable is true: Kafka moves leaders back to the first replica by itself, so plans "
            "move leaders by the order of replicas"
        )
    if any(not place.rack for place in brokers.values()):
        unknown = sorted(broker for broker, place in brokers.items() if not place.rack)
        yield f"{_named('broker', unknown)} without broker.rack: the loss of a rack can't be told for them"


def _reasons_now(
    facts: TopicFacts, brokers: Mapping[int, BrokerPlace], awaited: Mapping[tuple[int, ...], list[int]], racks: _Racks
) -> Iterator[tuple[Rating, str]]:
    """Yield what is wrong with the copies as they are now."""
    partitions, settings = facts.partitions, facts.settings
    for waits, numbers in awaited.items():
        yield (
            Rating.OFFLINE,
            f"{_named('partition', numbers)} without a leader: nobody can read or write{_start(waits)}",
        )
    spared = {n for n in partitions if _has_living_eligible(facts.eligible.get(n), brokers)}
    alone = [n for n, each in partitions.items() if len(each.isr) == 1 < len(each.replicas)]
    yield from _counted(
        Rating.AT_RISK,
        (n for n in alone if n not in spared),
        "with one copy in sync: the next loss takes it offline",
    )
    yield from _counted(
        Rating.DEGRADED,
        (n for n in alone if n in spared),
        "with one copy in sync, and another that may lead without loss of what acks=all took (ELR)",
    )
    under = [n for n, each in partitions.items() if 1 < len(each.isr) < _needed(settings, each)]
    for rating, numbers in (
        (Rating.AT_RISK, [n for n in under if n not in spared]),
        (Rating.DEGRADED, [n for n in under if n in spared]),
    ):
        yield from _counted(rating, numbers, "under min.insync.replicas: acks=all is refused")
    yield from _counted(
        Rating.ONE_RACK,
        (n for n, each in partitions.items() if racks.has_all_in_one(each, facts.eligible.get(n, Eligible()))),
        "with all in-sync copies in one rack: its power takes what was never fsynced; move one to another",
    )
    yield from _counted(
        Rating.DEGRADED,
        (n for n, each in partitions.items() if max(1, settings.min_isr - 1) < len(each.isr) < len(each.replicas)),
        "with replicas out of sync",
    )


def _start(waits: tuple[int, ...]) -> str:
    if not waits:
        return ""
    then = f", then {some(waits[1:], _MAX_NAMED)}" if len(waits) > 1 else ""
    return f"; start broker {waits[0]} first{then}"


def _has_living_eligible(eligible: Eligible | None, brokers: Mapping[int, BrokerPlace]) -> bool:
    return eligible is not None and any(brokers[each].is_alive for each in eligible.replicas if each in brokers)


def _reasons_of_settings(settings: TopicSettings, factor: int) -> Iterator[tuple[Rating, str]]:
    """Yield one advice at most: what holds whatever the copies do now."""
    if factor == 1:
        counts = f"; min.insync.replicas {settings.min_isr} counts as 1" if settings.min_isr > 1 else ""
        yield Rating.WEAK, f"replication factor 1: a lost disk is lost data; raise it to 3{counts}"
    elif settings.is_unclean:
        yield (
            Rating.WEAK,
            "unclean.leader.election.enable is true: a stale replica may lead and drop what it lacks; set it to false",
        )
    elif factor == 2:
        without = "acks=all may be on the leader alone" if settings.min_isr == 1 else "writes stop when one is away"
        rating = Rating.WEAK if settings.min_isr == 1 else Rating.DEGRADED
        yield rating, f"replication factor 2: {without}; raise it to 3 with min.insync.replicas 2"
    elif settings.min_isr == 1:
        yield Rating.WEAK, "min.insync.replicas is 1: acks=all may be on the leader alone; set it to 2"
    elif settings.min_isr >= factor > 2:
        more = "equals" if settings.min_isr == factor else f"is {settings.min_isr}, above"
        yield (
            Rating.DEGRADED,
            (
                f"min.insync.replicas {more} the replication factor, {factor}: writes stop when one replica is away; "
                f"set it to {factor - 1}"
            ),
        )


@dataclass(frozen=True, slots=True)
class _Racks:
    """Of brokers, by id; `are_several`: there are some to choose from."""

    by_broker: Mapping[int, str]
    are_several: bool

    @staticmethod
    def of(brokers: Mapping[int, BrokerPlace]) -> _Racks:
        known = {broker: place.rack for broker, place in brokers.items()}
        return _Racks(known, len(set(known.values()) - {""}) > 1)

    def has_all_in_one(self, partition: PartitionState, eligible: Eligible) -> bool:
        """Tell whether all copies with what was acknowledged stand in one rack, though there are others."""
        copies = (*partition.isr, *eligible.replicas)
        if not self.are_several or len(copies) < 2:
            return False
        first = self.by_broker.get(copies[0], "")
        return bool(first) and all(self.by_broker.get(broker, "") == first for broker in copies)


def _counted(rating: Rating, partitions: Iterable[int], what: str) -> Iterator[tuple[Rating, str]]:
    numbers = sorted(partitions)
    if numbers:
        yield rating, f"{_named('partition', numbers)} {what}"


def _named(noun: str, numbers: list[int]) -> str:
    if len(numbers) == 1:
        return f"{noun} {numbers[0]}"
    return f"{noun}s {some(numbers, _MAX_NAMED)}"


def _scopes(brokers: Mapping[int, BrokerPlace]) -> dict[Scope, dict[str, frozenset[int]]]:
    racks: dict[str, set[int]] = {}
    idcs: dict[str, set[int]] = {}
    for broker, place in brokers.items():
        racks.setdefault(place.rack, set()).add(broker)
        idcs.setdefault(place.idc, set()).add(broker)
    return {
        Scope.BROKER: {str(broker): frozenset({broker}) for broker, place in sorted(brokers.items()) if place.is_alive},
        Scope.RACK: _known(racks),
        Scope.IDC: _known(idcs),
    }


def _known(groups: Mapping[str, set[int]]) -> dict[str, frozenset[int]]:
    """Return the named groups. With one group alone, its loss is the loss of the cluster: nothing to tell."""
    named = {name: frozenset(inside) for name, inside in sorted(groups.items()) if name}
    return named if len(groups) > 1 else {}


@dataclass(slots=True, eq=False)
class _Group:
    """What may be lost at once, and the partitions that this would hit, counted up."""

    scope: Scope
    name: str
    brokers: frozenset[int]
    leaders: int = 0
    offline: int = 0
    unwritable: int = 0
    exposed: int = 0

    def loss(self) -> Loss:
        hit = (self.leaders, self.offline, self.unwritable, self.exposed)
        return Loss(self.scope, self.name, tuple(sorted(self.brokers)), *hit)


def _add_losses(
    of_broker: Mapping[int, Sequence[_Group]], partition: PartitionState, min_isr: int, promised: int
) -> None:
    """An unclean election finds a leader among those not in sync, at the price of data: offline all the same."""
    inside: dict[_Group, int] = {}
    for broker in partition.replicas:
        for group in of_broker.get(broker, ()):
            inside[group] = inside.get(group, 0) + 1
    in_sync, was_online = len(partition.isr), partition.leader >= 0
    is_whole = in_sync == len(partition.replicas)
    for group in of_broker.get(partition.leader, ()):
        group.leaders += 1
    for group, replicas in inside.items():
        lost = replicas if is_whole else sum(broker in group.brokers for broker in partition.isr)
        left = in_sync - lost
        group.exposed += replicas >= promised
        if was_online:
            group.offline += not left
            group.unwritable += 0 < left < min_isr <= in_sync

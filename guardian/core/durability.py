"""How safe the data of a cluster is, from what Kafka says of it. Pure.

With acks=all a record is acknowledged once everybody in sync has it, and Kafka refuses it while fewer than
min.insync.replicas are. So min.insync.replicas is what acknowledged data can count on at any time, and the ISR what it
has now; what is lost with a broker, a rack or a data centre follows from where these stand. With acks=0 or 1 the
leader's copy is all that counts, whatever is set here.

Cuts and losses: DESIGN.md, "What can happen to a cluster".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from guardian.model.cluster_state import PartitionState
from guardian.model.durability import (
    BrokerPlace,
    Durability,
    Loss,
    Rating,
    Scope,
    TopicDurability,
    TopicFacts,
)

# A follower may be this far behind and still count as in sync; Kafka's default since 2.5.
USUAL_REPLICA_LAG_MS = 30_000
_MAX_NAMED = 5


def audit(topics: Mapping[str, TopicFacts], brokers: Mapping[int, BrokerPlace]) -> Durability:
    """Rates the topics, and says what each loss would do. `brokers` are all that the federation knows of."""
    rated = [rate(name, facts, brokers) for name, facts in topics.items()]
    return Durability(
        topics=tuple(sorted(rated, key=lambda topic: (topic.rating, topic.topic))),
        losses=tuple(losses(topics, brokers)),
        remarks=tuple(remarks(brokers)),
    )


def rate(name: str, facts: TopicFacts, brokers: Mapping[int, BrokerPlace]) -> TopicDurability:
    """What one topic's data survives."""
    partitions = facts.partitions.values()
    settings = facts.settings
    factor = min((len(each.replicas) for each in partitions), default=0)
    offline = sum(each.leader < 0 for each in partitions)
    under_min_isr = sum(len(each.isr) < settings.min_isr for each in partitions)
    under_replicated = sum(len(each.isr) < len(each.replicas) for each in partitions)
    # Out-of-sync replicas may lead: what was acknowledged meanwhile is gone, whatever min.insync.replicas is.
    promised = 1 if settings.is_unclean else min(settings.min_isr, factor)
    found = list(_reasons(facts, factor, brokers))
    rating = min((rating for rating, _ in found), default=Rating.SOUND)
    return TopicDurability(
        topic=name,
        rating=rating,
        partitions=len(facts.partitions),
        replication_factor=factor,
        min_isr=settings.min_isr,
        is_unclean=settings.is_unclean,
        offline=offline,
        under_min_isr=under_min_isr,
        under_replicated=under_replicated,
        preferred_leaders=sum(each.leader == each.replicas[0] for each in partitions if each.replicas),
        survives_brokers=max(0, promised - 1),
        reasons=tuple(reason for _, reason in sorted(found, key=lambda each: each[0])),
    )


def losses(topics: Mapping[str, TopicFacts], brokers: Mapping[int, BrokerPlace]) -> Iterator[Loss]:
    """Each broker that lives, each rack and each IDC of which more than one is known; the worst first in each scope."""
    for scope, groups in _scopes(brokers).items():
        found = [_loss(scope, name, inside, topics) for name, inside in groups.items()]
        yield from sorted(found, key=lambda loss: (-loss.offline, -loss.unwritable, -loss.exposed, -loss.leaders))


def remarks(brokers: Mapping[int, BrokerPlace]) -> Iterator[str]:
    """What is worth a look in the brokers' settings, a sentence each."""
    dead = sorted(broker for broker, place in brokers.items() if not place.is_alive)
    if dead:
        yield f"{_named('broker', dead)} not alive: what is there counts for nothing here"
    lags = Counter(place.replica_lag_ms for place in brokers.values() if place.replica_lag_ms is not None)
    if len(lags) > 1:
        yield f"replica.lag.time.max.ms differs between brokers ({', '.join(map(str, sorted(lags)))}): align it"
    for lag in sorted(lags):
        if lag > USUAL_REPLICA_LAG_MS:
            yield (
                f"replica.lag.time.max.ms is {lag} on {lags[lag]} brokers: a follower that hangs holds up acks=all for "
                f"so long before it leaves the ISR (the default is {USUAL_REPLICA_LAG_MS})"
            )
    if any(place.rebalances_leaders for place in brokers.values()):
        yield (
            "auto.leader.rebalance.enable is true: Kafka moves leaders back to the first replica by itself, so plans "
            "move leaders by the order of replicas"
        )
    if any(not place.rack for place in brokers.values()):
        unknown = sorted(broker for broker, place in brokers.items() if not place.rack)
        yield f"{_named('broker', unknown)} without broker.rack: the loss of a rack can't be told for them"


def _reasons(facts: TopicFacts, factor: int, brokers: Mapping[int, BrokerPlace]) -> Iterator[tuple[Rating, str]]:
    partitions, settings = facts.partitions, facts.settings
    yield from _counted(
        Rating.OFFLINE,
        (n for n, each in partitions.items() if each.leader < 0),
        "without a leader: nobody can read or write",
    )
    yield from _counted(
        Rating.AT_RISK,
        (n for n, each in partitions.items() if len(each.isr) == 1 < len(each.replicas)),
        "with one copy in sync: the next loss takes it offline",
    )
    yield from _counted(
        Rating.AT_RISK,
        (n for n, each in partitions.items() if 1 < len(each.isr) < min(settings.min_isr, len(each.replicas))),
        "under min.insync.replicas: acks=all is refused",
    )
    if factor == 1:
        yield Rating.WEAK, "replication factor 1: a lost disk is lost data; raise it to 3"
    elif settings.is_unclean:
        yield (
            Rating.WEAK,
            "unclean.leader.election.enable is true: a stale replica may lead and drop what it lacks; set it to false",
        )
    elif settings.min_isr == 1:
        yield Rating.WEAK, "min.insync.replicas is 1: acks=all may be on the leader alone; set it to 2"
    elif settings.min_isr > factor:
        yield (
            Rating.WEAK,
            (
                f"min.insync.replicas is {settings.min_isr} with replication factor {factor}: acks=all is never "
                f"possible; set it to {max(1, factor - 1)}"
            ),
        )
    elif settings.min_isr == factor:
        yield (
            Rating.DEGRADED,
            (
                f"min.insync.replicas equals the replication factor, {factor}: writes stop when one replica is away; "
                f"set it to {factor - 1}"
            ),
        )
    yield from _counted(
        Rating.DEGRADED,
        (n for n, each in partitions.items() if max(1, settings.min_isr - 1) < len(each.isr) < len(each.replicas)),
        "with replicas out of sync",
    )
    yield from _counted(
        Rating.DEGRADED,
        (n for n, each in partitions.items() if _is_in_one_rack(each, brokers)),
        "with all replicas in one rack: move one to another",
    )


def _is_in_one_rack(partition: PartitionState, brokers: Mapping[int, BrokerPlace]) -> bool:
    """Only where there are several racks to choose from."""
    known = {place.rack for place in brokers.values() if place.rack}
    racks = {brokers[broker].rack if broker in brokers else "" for broker in partition.replicas}
    return len(known) > 1 and len(partition.replicas) > 1 and len(racks) == 1 and "" not in racks


def _counted(rating: Rating, partitions: Iterable[int], what: str) -> Iterator[tuple[Rating, str]]:
    numbers = sorted(partitions)
    if numbers:
        yield rating, f"{_named('partition', numbers)} {what}"


def _named(noun: str, numbers: list[int]) -> str:
    if len(numbers) == 1:
        return f"{noun} {numbers[0]}"
    more = f" and {len(numbers) - _MAX_NAMED} more" if len(numbers) > _MAX_NAMED else ""
    return f"{noun}s {', '.join(map(str, numbers[:_MAX_NAMED]))}{more}"


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
    """With one group alone, its loss is the loss of the cluster: nothing to tell."""
    named = {name: frozenset(inside) for name, inside in sorted(groups.items()) if name}
    return named if len(groups) > 1 else {}


def _loss(scope: Scope, name: str, inside: frozenset[int], topics: Mapping[str, TopicFacts]) -> Loss:
    leaders = offline = unwritable = exposed = 0
    for facts in topics.values():
        settings = facts.settings
        for partition in facts.partitions.values():
            if inside.isdisjoint(partition.replicas):
                continue
            leaders += partition.leader in inside
            left = sum(broker not in inside for broker in partition.isr)
            was_online = partition.leader >= 0
            # An unclean election finds a leader among those that are not in sync, at the price of data.
            offline += was_online and not left
            unwritable += was_online and 0 < left < settings.min_isr <= len(partition.isr)
            promised = 1 if settings.is_unclean else settings.min_isr
            exposed += sum(broker in inside for broker in partition.replicas) >= promised
    return Loss(scope, name, tuple(sorted(inside)), leaders, offline, unwritable, exposed)

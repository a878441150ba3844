"""What crosses the lines between data centres, by minute, topic and client. Pure.

    replication   what a leader takes in, once for each follower in another IDC; a topic's bytes on a broker are divided
                  among the partitions led there by the messages that these gained
    produce       client's IDC to the leader's, as the brokers' slices of client activity count it
    consume       the leader's IDC to the client's, likewise

Brokers count a client's bytes only where quotas make them. What a topic took or gave in an IDC beyond the known bytes
is divided among the clients without known bytes, by their requests, and marked as estimated.

Counters are totals at moments; between two of them bytes are spread evenly over the minutes that they span.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from guardian.model.links import Crosser, Crossing, Direction, LinkSettings, LinkUse
from guardian.model.units import human_bytes

MINUTE_MS = 60_000
_NAMED = 3

Numbers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Minutes:
    """Whole minutes, from the first that was asked for to the last."""

    from_ms: int
    count: int

    @staticmethod
    def of(from_ms: int, to_ms: int) -> Minutes:
        first = from_ms // MINUTE_MS * MINUTE_MS
        return Minutes(first, max(1, -(-(to_ms - first) // MINUTE_MS)))

    def begin_ms(self, minute: int) -> int:
        return self.from_ms + minute * MINUTE_MS

    def index_of(self, at_ms: Numbers) -> Numbers:
        found: Numbers = (at_ms - self.from_ms) // MINUTE_MS
        return found

    def spread(self, from_ms: Numbers, to_ms: Numbers, amounts: Floats) -> tuple[Numbers, Numbers, Floats]:
        """Which entry, which minute, how much of it: even over the time. What lies outside is left out."""
        lasts = np.maximum(to_ms - from_ms, 1)
        first, last = self.index_of(from_ms), self.index_of(from_ms + lasts - 1)
        touched = last - first + 1
        entries = np.repeat(np.arange(len(amounts)), touched)
        begins = np.cumsum(touched) - touched
        minutes = first[entries] + np.arange(len(entries)) - begins[entries]
        starts = self.from_ms + minutes * MINUTE_MS
        overlap = np.minimum(starts + MINUTE_MS, (from_ms + lasts)[entries]) - np.maximum(starts, from_ms[entries])
        inside = (minutes >= 0) & (minutes < self.count)
        shares = amounts[entries] * overlap / lasts[entries]
        return entries[inside], minutes[inside], shares[inside]

    def sums(self, minutes: Numbers, amounts: Floats) -> Floats:
        """By minute."""
        return np.bincount(minutes, amounts, self.count).astype(np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class TopicCounters:
    """A topic's totals on a broker, a row a sample; by broker, topic and time. `topics` names the codes."""

    at_ms: Numbers
    broker: Numbers
    topic: Numbers
    life_ms: Numbers
    bytes_in: Numbers
    bytes_out: Numbers
    topics: Sequence[str]


@dataclass(frozen=True, slots=True)
class Replica:
    """What a broker had of a partition in the time asked for: `gained` messages as its leader, None as a follower."""

    broker: int
    topic: str
    partition: int
    gained: int | None


@dataclass(frozen=True, slots=True, eq=False)
class Moved:
    """Bytes of topics by minute: parallel columns."""

    broker: Numbers
    topic: Numbers
    minute: Numbers
    bytes_in: Floats
    bytes_out: Floats
    topics: Sequence[str]

    def in_minute(self, number: int) -> Moved:
        """What moved in this one, as its minute 0."""
        at = np.flatnonzero(self.minute == number)
        minute = np.zeros(len(at), np.int64)
        return Moved(self.broker[at], self.topic[at], minute, self.bytes_in[at], self.bytes_out[at], self.topics)


def moved(counters: TopicCounters, minutes: Minutes) -> Moved:
    """Differences of a broker's totals within one of its lives, spread over the minutes between."""
    order = np.lexsort((counters.at_ms, counters.topic, counters.broker))
    at, broker, topic, life, taken, given = (
        column[order]
        for column in (
            counters.at_ms,
            counters.broker,
            counters.topic,
            counters.life_ms,
            counters.bytes_in,
            counters.bytes_out,
        )
    )
    steps_in, steps_out = np.diff(taken), np.diff(given)
    is_pair = (np.diff(broker) == 0) & (np.diff(topic) == 0) & (np.diff(life) == 0) & (np.diff(at) > 0)
    pairs = np.flatnonzero(is_pair & (steps_in >= 0) & (steps_out >= 0) & ((steps_in > 0) | (steps_out > 0)))
    entries, minute, bytes_in = minutes.spread(at[:-1][pairs], at[1:][pairs], steps_in[pairs].astype(np.float64))
    _, _, bytes_out = minutes.spread(at[:-1][pairs], at[1:][pairs], steps_out[pairs].astype(np.float64))
    rows = pairs[entries]
    return Moved(broker[rows], topic[rows], minute, bytes_in, bytes_out, counters.topics)


@dataclass(slots=True)
class Traffic:
    """What crosses, summed up as it is found: by direction and reason, the bytes of each minute; and who."""

    minutes: Minutes
    by_minute: dict[tuple[Direction, Crossing], Floats] = field(default_factory=dict)
    estimated: dict[Direction, float] = field(default_factory=lambda: defaultdict(float))
    crossers: list[Crosser] = field(default_factory=list)
    unplaced: float = 0.0

    def add(self, direction: Direction, crossing: Crossing, bytes_by_minute: Floats) -> None:
        key = (direction, crossing)
        known = self.by_minute.get(key)
        self.by_minute[key] = bytes_by_minute if known is None else known + bytes_by_minute


def add_replication(
    traffic: Traffic, cluster: str, found: Moved, replicas: Iterable[Replica], idcs: Mapping[int, str]
) -> None:
    """`idcs` by broker; a broker without one crosses nothing."""
    weights = _copies(replicas, idcs)
    codes = {name: code for code, name in enumerate(found.topics)}
    per_topic: dict[tuple[Direction, str], float] = defaultdict(float)
    by_pair = _rows_by(found.broker, found.topic)
    for (broker, topic), targets in weights.items():
        rows = by_pair.get((broker, codes.get(topic, -1)))
        if rows is None:
            continue
        taken = traffic.minutes.sums(found.minute[rows], found.bytes_in[rows])
        for idc, copies in targets.items():
            direction = Direction(idcs[broker], idc)
            traffic.add(direction, Crossing.REPLICATE, taken * copies)
            per_topic[direction, topic] += float(taken.sum()) * copies
    traffic.crossers.extend(
        Crosser(direction, Crossing.REPLICATE, cluster, topic, round(amount))
        for (direction, topic), amount in per_topic.items()
        if amount >= 1
    )


def _rows_by(broker: Numbers, topic: Numbers) -> dict[tuple[int, int], Numbers]:
    """The rows of each broker and topic."""
    if not len(broker):
        return {}
    order = np.lexsort((topic, broker))
    brokers, topics = broker[order], topic[order]
    cuts = np.flatnonzero((np.diff(brokers) != 0) | (np.diff(topics) != 0)) + 1
    groups = np.split(order, cuts)
    return {(int(broker[rows[0]]), int(topic[rows[0]])): rows for rows in groups}


def _copies(replicas: Iterable[Replica], idcs: Mapping[int, str]) -> dict[tuple[int, str], dict[str, float]]:
    """By leading broker and topic, how often a byte taken in goes to each other IDC."""
    led: dict[tuple[int, str], list[tuple[int, int]]] = defaultdict(list)
    hosts: dict[tuple[str, int], set[int]] = defaultdict(set)
    for replica in replicas:
        hosts[replica.topic, replica.partition].add(replica.broker)
        if replica.gained is not None:
            led[replica.broker, replica.topic].append((replica.partition, replica.gained))
    result: dict[tuple[int, str], dict[str, float]] = {}
    for (broker, topic), partitions in led.items():
        own = idcs.get(broker, "")
        total = sum(gained for _, gained in partitions)
        targets: dict[str, float] = defaultdict(float)
        for partition, gained in partitions:
            share = gained / total if total else 1 / len(partitions)
            for host in hosts[topic, partition]:
                idc = idcs.get(host, "")
                if own and idc and idc != own:
                    targets[idc] += share
        if targets:
            result[broker, topic] = targets
    return result


@dataclass(frozen=True, slots=True)
class ClientMinutes:
    """Known bytes of clients in a slice of time; an empty IDC is unknown."""

    crossing: Crossing
    broker_idc: str
    client_idc: str
    from_ms: int
    to_ms: int
    bytes: int


@dataclass(frozen=True, slots=True)
class ClientTopic:
    """What clients of an IDC did with a topic on brokers of an IDC: known bytes, and requests whose bytes are not."""

    crossing: Crossing
    broker_idc: str
    client_idc: str
    topic: str
    bytes: int
    blind_requests: int


@dataclass(frozen=True, slots=True)
class Client:
    """One client's part of that, when it crosses."""

    crossing: Crossing
    broker_idc: str
    client_idc: str
    topic: str
    principal: str
    client_id: str
    address: str
    bytes: int
    blind_requests: int


@dataclass(frozen=True, slots=True)
class ClientActivity:
    """What the slices of client activity say of a cluster."""

    minutes: Sequence[ClientMinutes] = ()
    topics: Sequence[ClientTopic] = ()
    clients: Sequence[Client] = ()


_TopicPlace = tuple[Crossing, str, str]  # of a topic's bytes: why, the brokers' IDC, the topic


def add_clients(
    traffic: Traffic, cluster: str, found: Moved, activity: ClientActivity, idcs: Mapping[int, str]
) -> None:
    """Known bytes as they are, then what the clients without known bytes must have moved."""
    _add_known(traffic, activity.minutes)
    per_request = _add_estimated(traffic, found, activity.topics, idcs)
    for client in activity.clients:
        guessed = per_request.get((client.crossing, client.broker_idc, client.topic), 0.0) * client.blind_requests
        amount = round(client.bytes + guessed)
        if amount:
            traffic.crossers.append(
                Crosser(
                    _direction(client.crossing, client.broker_idc, client.client_idc),
                    client.crossing,
                    cluster,
                    client.topic,
                    amount,
                    client.principal,
                    client.client_id,
                    client.address,
                    guessed > 0,
                )
            )


def _direction(crossing: Crossing, broker_idc: str, client_idc: str) -> Direction:
    return Direction(client_idc, broker_idc) if crossing is Crossing.PRODUCE else Direction(broker_idc, client_idc)


def _crosses(broker_idc: str, client_idc: str) -> bool:
    return bool(broker_idc and client_idc and broker_idc != client_idc)


def _add_known(traffic: Traffic, rows: Sequence[ClientMinutes]) -> None:
    groups: dict[tuple[Direction, Crossing], list[ClientMinutes]] = defaultdict(list)
    for row in rows:
        if _crosses(row.broker_idc, row.client_idc):
            groups[_direction(row.crossing, row.broker_idc, row.client_idc), row.crossing].append(row)
        elif not row.client_idc:
            traffic.unplaced += row.bytes
    for (direction, crossing), members in groups.items():
        starts, ends = (np.array([getattr(each, name) for each in members], np.int64) for name in ("from_ms", "to_ms"))
        amounts = np.array([each.bytes for each in members], np.float64)
        _, minute, shares = traffic.minutes.spread(starts, ends, amounts)
        traffic.add(direction, crossing, traffic.minutes.sums(minute, shares))


def _add_estimated(
    traffic: Traffic, found: Moved, rows: Sequence[ClientTopic], idcs: Mapping[int, str]
) -> dict[_TopicPlace, float]:
    """Bytes of a request whose bytes are unknown, by reason, IDC and topic."""
    groups: dict[_TopicPlace, list[ClientTopic]] = defaultdict(list)
    for row in rows:
        groups[row.crossing, row.broker_idc, row.topic].append(row)
    per_request: dict[_TopicPlace, float] = {}
    totals = _topic_minutes(traffic.minutes, found, idcs, {place for place in groups if place[1]})
    for place, members in groups.items():
        total = totals.get(place)
        requests = sum(each.blind_requests for each in members)
        if total is None or not requests:
            continue
        amount = float(total.sum())
        rest = max(0.0, amount - sum(each.bytes for each in members))
        if rest < 1:
            continue
        per_request[place] = rest / requests
        for member in members:
            share = total * (rest / amount) * (member.blind_requests / requests)
            if _crosses(member.broker_idc, member.client_idc):
                direction = _direction(member.crossing, member.broker_idc, member.client_idc)
                traffic.add(direction, member.crossing, share)
                traffic.estimated[direction] += float(share.sum())
            elif not member.client_idc:
                traffic.unplaced += float(share.sum())
    return per_request


def _topic_minutes(
    minutes: Minutes, found: Moved, idcs: Mapping[int, str], places: set[_TopicPlace]
) -> dict[_TopicPlace, Floats]:
    """What topics took in and gave out by minute, on all brokers of an IDC."""
    codes = {name: code for code, name in enumerate(found.topics)}
    wanted = {(idc, codes[topic]) for _, idc, topic in places if topic in codes}
    sums: dict[tuple[str, int], tuple[Floats, Floats]] = {}
    for (broker, code), rows in _rows_by(found.broker, found.topic).items():
        key = (idcs.get(broker, ""), code)
        if key in wanted:
            taken, given = (
                minutes.sums(found.minute[rows], amounts[rows]) for amounts in (found.bytes_in, found.bytes_out)
            )
            known = sums.get(key)
            sums[key] = (taken, given) if known is None else (known[0] + taken, known[1] + given)
    result: dict[_TopicPlace, Floats] = {}
    for crossing, idc, topic in places:
        both = sums.get((idc, codes.get(topic, -1)))
        if both is not None:
            result[crossing, idc, topic] = both[0] if crossing is Crossing.PRODUCE else both[1]
    return result


def link_uses(traffic: Traffic, settings: LinkSettings) -> list[LinkUse]:
    """Each direction that was used: nearest to its limit first, then the largest."""
    directions = {direction for direction, _ in traffic.by_minute}
    uses = [_use(direction, traffic, settings) for direction in directions]
    return sorted(uses, key=lambda use: (-use.share, -use.bytes, use.direction))


def _use(direction: Direction, traffic: Traffic, settings: LinkSettings) -> LinkUse:
    by_crossing = {
        crossing: traffic.by_minute[direction, crossing]
        for crossing in Crossing
        if (direction, crossing) in traffic.by_minute
    }
    total: Any = sum(by_crossing.values())
    peak = int(np.argmax(total))
    return LinkUse(
        direction,
        {crossing: round(float(amounts.sum())) for crossing, amounts in by_crossing.items()},
        round(traffic.estimated.get(direction, 0.0)),
        tuple(round(float(amount)) for amount in total),
        traffic.minutes.begin_ms(peak),
        float(total[peak]) * 8 * 1000 / MINUTE_MS,
        settings.line(direction),
    )


def largest(crossers: Iterable[Crosser], direction: Direction, count: int) -> list[Crosser]:
    """Of one direction, the largest first."""
    of_line = [crosser for crosser in crossers if crosser.direction == direction]
    of_line.sort(key=lambda each: (-each.bytes, each.cluster, each.topic, each.principal, each.client_id, each.address))
    return of_line[:count]


def is_near(use: LinkUse, settings: LinkSettings) -> bool:
    return use.share >= settings.near


def finding(use: LinkUse, at: str, crossers: Sequence[Crosser]) -> str:
    """One sentence on a line near its limit; `at` is its busiest minute, `crossers` are those of that minute."""
    named = "; ".join(_crosser(crosser) for crosser in crossers[:_NAMED])
    return (
        f"{use.direction.from_idc} to {use.direction.to_idc} carried {use.peak_bits_per_s / 1e9:.2f} of "
        f"{use.line.bits_per_s / 1e9:g} Gbit/s ({use.share:.0%}) in the minute of {at}"
        + (f"; the most by {named}" if named else "")
    )


def _crosser(crosser: Crosser) -> str:
    what = {Crossing.PRODUCE: "produced to", Crossing.CONSUME: "consumed from", Crossing.REPLICATE: "replication of"}
    who = f"{crosser.principal or crosser.client_id} " if crosser.principal or crosser.client_id else ""
    return f"{who}{what[crosser.crossing]} {crosser.topic} of {crosser.cluster}, {human_bytes(crosser.bytes)}"


def remarks(traffic: Traffic, settings: LinkSettings, unknown_idc: Sequence[str]) -> Iterator[str]:
    """What the numbers lack. `unknown_idc` names brokers that have none."""
    if unknown_idc:
        more = f" and {len(unknown_idc) - _NAMED} more" if len(unknown_idc) > _NAMED else ""
        yield (
            f"brokers {', '.join(unknown_idc[:_NAMED])}{more} have no IDC: what they send and take is not in the "
            "numbers, register them with one"
        )
    if traffic.unplaced >= 1:
        fix = "give their networks" if settings.networks else "give [networks] in the file that `links` names"
        yield f"clients moved {human_bytes(traffic.unplaced)} from addresses that are in no network: {fix}"
    unpriced = sorted({use.line.between for use in link_uses(traffic, settings) if use.line.price_gb is None})
    if unpriced and settings.lines:
        yield f"no price_gb is given between {' and '.join(unpriced[0])}: its cost is left out"

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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from guardian.activity.rules.joining import joined
from guardian.model.links import Crosser, Crossing, Direction, LinkSettings, LinkUse
from guardian.model.text import some
from guardian.model.units import human_bytes

MINUTE_MS = 60_000
_NAMED = 3
_SPREAD = 1 << 19  # spans at a time: what is worked out on the way takes several times their memory
_PACKED_BITS = 62

Numbers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


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

    def overlaps(self, from_ms: Numbers, to_ms: Numbers) -> tuple[Numbers, Numbers, Floats]:
        """Return which span, which minute, and what share of the span lies in it. What lies outside is left out."""
        lasts = np.maximum(to_ms - from_ms, 1)
        first, last = self.index_of(from_ms), self.index_of(from_ms + lasts - 1)
        touched = last - first + 1
        entries = np.repeat(np.arange(len(lasts)), touched)
        begins = np.cumsum(touched) - touched
        minutes = first[entries] + np.arange(len(entries)) - begins[entries]
        starts = self.from_ms + minutes * MINUTE_MS
        overlap = np.minimum(starts + MINUTE_MS, (from_ms + lasts)[entries]) - np.maximum(starts, from_ms[entries])
        inside = (minutes >= 0) & (minutes < self.count)
        return entries[inside], minutes[inside], (overlap / lasts[entries])[inside]

    def spread(self, from_ms: Numbers, to_ms: Numbers, amounts: Floats) -> tuple[Numbers, Numbers, Floats]:
        """Return which entry, which minute, how much of it: even over the time. What lies outside is left out."""
        entries, minutes, shares = self.overlaps(from_ms, to_ms)
        return entries, minutes, amounts[entries] * shares

    def sums(self, minutes: Numbers, amounts: Floats) -> Floats:
        """Add up the amounts by minute."""
        return np.bincount(minutes, amounts, self.count).astype(np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class TopicCounters:
    """A topic's totals on a broker, a row a sample, in any order; one that comes twice does no harm. `topics` names the
    codes."""

    at_ms: Numbers
    broker: Numbers
    topic: Numbers
    life_ms: Numbers
    bytes_in: Numbers
    bytes_out: Numbers
    topics: Sequence[str]


@dataclass(frozen=True, slots=True, eq=False)
class Replicas:
    """What brokers had of partitions in the time asked for, a row a broker, partition and role. `gained` are the
    messages that came to the partition, as this broker saw it.
    """

    broker: Numbers
    topic: Numbers
    partition: Numbers
    is_leader: Flags
    gained: Numbers


@dataclass(frozen=True, slots=True, eq=False)
class Moved:
    """Bytes of topics on brokers: a row a pair of these, by broker and topic, and a column a minute."""

    broker: Numbers
    topic: Numbers
    bytes_in: Floats
    bytes_out: Floats
    topics: Sequence[str]

    def in_minute(self, number: int) -> Moved:
        """Return what moved in this one minute, as its minute 0."""
        at = slice(number, number + 1)
        return Moved(self.broker, self.topic, self.bytes_in[:, at], self.bytes_out[:, at], self.topics)


def moved(counters: TopicCounters, minutes: Minutes) -> Moved:
    """Differences of a broker's totals within one of its lives, spread over the minutes between."""
    order = in_order(counters.broker, counters.topic, counters.at_ms)
    broker, topic = counters.broker[order], counters.topic[order]
    at, life = counters.at_ms[order], counters.life_ms[order]
    steps_in, steps_out = np.diff(counters.bytes_in[order]), np.diff(counters.bytes_out[order])
    is_pair = (np.diff(broker) == 0) & (np.diff(topic) == 0) & (np.diff(life) == 0) & (np.diff(at) > 0)
    pairs = np.flatnonzero(is_pair & (steps_in >= 0) & (steps_out >= 0) & ((steps_in > 0) | (steps_out > 0)))
    owners = _pair(broker[pairs], topic[pairs])
    is_first = np.ones(len(pairs), np.bool_)
    is_first[1:] = np.diff(owners) != 0
    seats = np.cumsum(is_first) - 1
    shape = (int(is_first.sum()), minutes.count)
    bytes_in, bytes_out = np.zeros(shape), np.zeros(shape)
    for begin in range(0, len(pairs), _SPREAD):
        some = pairs[begin : begin + _SPREAD]
        entries, minute, shares = minutes.overlaps(at[some], at[some + 1])
        cells = seats[begin : begin + _SPREAD][entries] * minutes.count + minute
        bytes_in += np.bincount(cells, steps_in[some][entries] * shares, bytes_in.size).reshape(shape)
        bytes_out += np.bincount(cells, steps_out[some][entries] * shares, bytes_out.size).reshape(shape)
    firsts = pairs[is_first]
    return Moved(broker[firsts], topic[firsts], bytes_in, bytes_out, counters.topics)


def in_order(*columns: Numbers) -> Numbers:
    """The positions of rows sorted by these columns, the first of them first. Packed into one number where they fit:
    that takes less than half of the time."""
    packed, bits = np.zeros(len(columns[0]), np.int64), 0
    for column in columns:
        low = int(column.min(initial=np.iinfo(np.int64).max)) if len(column) else 0
        width = (int(column.max()) - low).bit_length() if len(column) else 0
        bits += width
        if bits > _PACKED_BITS:
            return np.lexsort(columns[::-1])
        packed = (packed << width) | (column - low)
    return np.argsort(packed)


@dataclass(slots=True)
class Traffic:
    """What crosses, summed up as it is found: by direction and reason, the bytes of each minute; and who.

    `unplaced` are bytes of clients whose IDC is not known, `unplaced_by_minute` these by reason and the brokers' IDC.
    """

    minutes: Minutes
    by_minute: dict[tuple[Direction, Crossing], Floats] = field(default_factory=dict)
    unplaced_by_minute: dict[tuple[Crossing, str], Floats] = field(default_factory=dict)
    estimated: dict[Direction, float] = field(default_factory=lambda: defaultdict(float))
    crossers: list[Crosser] = field(default_factory=list)
    unplaced: float = 0.0

    def add(self, direction: Direction, crossing: Crossing, bytes_by_minute: Floats) -> None:
        key = (direction, crossing)
        known = self.by_minute.get(key)
        self.by_minute[key] = bytes_by_minute if known is None else known + bytes_by_minute

    def add_unplaced(self, crossing: Crossing, broker_idc: str, bytes_by_minute: Floats) -> None:
        key = (crossing, broker_idc)
        known = self.unplaced_by_minute.get(key)
        self.unplaced_by_minute[key] = bytes_by_minute if known is None else known + bytes_by_minute

    def most_per_s(self, direction: Direction) -> float:
        """bytes/s in the busiest minute, if clients of no known place are wherever they would cross."""
        found = [amounts for (way, _), amounts in self.by_minute.items() if way == direction]
        found += [amounts for place, amounts in self.unplaced_by_minute.items() if _may_cross(*place, direction)]
        total: Any = sum(found)
        return float(total.max()) * 1000 / MINUTE_MS if found else 0.0


class _Idcs:
    """The places of brokers, as numbers; -1: unknown."""

    def __init__(self, idcs: Mapping[int, str]) -> None:
        known = {broker: idc for broker, idc in sorted(idcs.items()) if idc}
        self.names = sorted(set(known.values()))
        self._brokers = np.array(list(known), np.int64)
        self._places = np.array([self.names.index(idc) for idc in known.values()], np.int64)

    def of(self, brokers: Numbers) -> Numbers:
        if not len(self._brokers):
            return np.full(len(brokers), -1, np.int64)
        at = np.minimum(np.searchsorted(self._brokers, brokers), len(self._brokers) - 1)
        return np.where(self._brokers[at] == brokers, self._places[at], -1)


def add_replication(traffic: Traffic, cluster: str, found: Moved, replicas: Replicas, idcs: Mapping[int, str]) -> None:
    """`idcs` by broker; a broker without one crosses nothing."""
    places = _Idcs(idcs)
    copies = _copies(replicas, places)
    rows, targets = joined(_pair(found.broker, found.topic), copies.pair)
    directions = places.of(found.broker[rows]) * len(places.names) + copies.idc[targets]
    for code in np.unique(directions).tolist():
        chosen = directions == code
        direction = Direction(places.names[code // len(places.names)], places.names[code % len(places.names)])
        amounts = found.bytes_in[rows[chosen]] * copies.times[targets[chosen], np.newaxis]
        traffic.add(direction, Crossing.REPLICATE, amounts.sum(axis=0))
        of_topics = np.bincount(found.topic[rows[chosen]], amounts.sum(axis=1))
        traffic.crossers.extend(
            Crosser(direction, Crossing.REPLICATE, cluster, found.topics[topic], round(float(of_topics[topic])))
            for topic in np.flatnonzero(of_topics >= 1).tolist()
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Copies:
    """How often a byte that a broker takes in of a topic goes to another IDC; `pair` (of broker and topic) ascends."""

    pair: Numbers
    idc: Numbers
    times: Floats


def _copies(replicas: Replicas, places: _Idcs) -> _Copies:
    partitions = _pair(replicas.topic, replicas.partition)
    order = in_order(replicas.topic, replicas.partition, replicas.broker)
    hosted, hosts = partitions[order], replicas.broker[order]
    is_first = np.ones(len(order), np.bool_)
    is_first[1:] = (np.diff(hosted) != 0) | (np.diff(hosts) != 0)
    hosted, hosts = hosted[is_first], hosts[is_first]
    led = np.flatnonzero(replicas.is_leader)
    shares = _shares(_pair(replicas.broker[led], replicas.topic[led]), replicas.gained[led])
    leaders, followers = joined(partitions[led], hosted)
    own, others = places.of(replicas.broker[led][leaders]), places.of(hosts[followers])
    crosses = (own >= 0) & (others >= 0) & (own != others)
    pairs = _pair(replicas.broker[led], replicas.topic[led])[leaders][crosses]
    idc, amounts = others[crosses], shares[leaders][crosses]
    return _Copies(*_summed(pairs, idc, amounts))


def _pair(high: Numbers, low: Numbers) -> Numbers:
    """Two numbers of 31 bits as one."""
    return (high << 32) | low


def _shares(groups: Numbers, amounts: Numbers) -> Floats:
    """Return the share of each in the sum of its group; where that is nothing, evenly."""
    _, group = np.unique(groups, return_inverse=True)
    totals, counts = np.bincount(group, amounts), np.bincount(group)
    if not len(totals):
        return np.empty(0)
    evenly = 1 / np.maximum(counts, 1)
    return np.where(totals[group] > 0, amounts / np.maximum(totals[group], 1), evenly[group])


def _summed(pairs: Numbers, idc: Numbers, amounts: Floats) -> tuple[Numbers, Numbers, Floats]:
    """One row a pair and IDC, ascending."""
    order = in_order(pairs, idc)
    pairs, idc, amounts = pairs[order], idc[order], amounts[order]
    if not len(pairs):
        return pairs, idc, amounts
    begins = np.flatnonzero(np.r_[True, (np.diff(pairs) != 0) | (np.diff(idc) != 0)])
    return pairs[begins], idc[begins], np.add.reduceat(amounts, begins)


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


def _may_cross(crossing: Crossing, broker_idc: str, direction: Direction) -> bool:
    """A client of no known place, with brokers there; an empty IDC is unknown."""
    return broker_idc in ("", direction.to_idc if crossing is Crossing.PRODUCE else direction.from_idc)


def _add_known(traffic: Traffic, rows: Sequence[ClientMinutes]) -> None:
    groups: dict[tuple[Direction, Crossing], list[ClientMinutes]] = defaultdict(list)
    unplaced: dict[tuple[Crossing, str], list[ClientMinutes]] = defaultdict(list)
    for row in rows:
        if _crosses(row.broker_idc, row.client_idc):
            groups[_direction(row.crossing, row.broker_idc, row.client_idc), row.crossing].append(row)
        elif not row.client_idc:
            traffic.unplaced += row.bytes
            unplaced[row.crossing, row.broker_idc].append(row)
    for (direction, crossing), members in groups.items():
        traffic.add(direction, crossing, _by_minute(traffic.minutes, members))
    for (crossing, broker_idc), members in unplaced.items():
        traffic.add_unplaced(crossing, broker_idc, _by_minute(traffic.minutes, members))


def _by_minute(minutes: Minutes, rows: Sequence[ClientMinutes]) -> Floats:
    starts, ends = (np.array([getattr(each, name) for each in rows], np.int64) for name in ("from_ms", "to_ms"))
    amounts = np.array([each.bytes for each in rows], np.float64)
    _, minute, shares = minutes.spread(starts, ends, amounts)
    return minutes.sums(minute, shares)


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
                traffic.add_unplaced(member.crossing, member.broker_idc, share)
    return per_request


def _topic_minutes(
    minutes: Minutes, found: Moved, idcs: Mapping[int, str], wanted: set[_TopicPlace]
) -> dict[_TopicPlace, Floats]:
    """Return what topics took in and gave out by minute, on all brokers of an IDC."""
    places = _Idcs(idcs)
    idc_codes = {name: code for code, name in enumerate(places.names)}
    topic_codes = {name: code for code, name in enumerate(found.topics)}
    known = {
        place: idc_codes[place[1]] << 32 | topic_codes[place[2]]
        for place in wanted
        if place[1] in idc_codes and place[2] in topic_codes
    }
    keys = np.array(sorted(set(known.values())), np.int64)
    rows, at = joined(_pair(places.of(found.broker), found.topic), keys)
    cells = (at[:, np.newaxis] * minutes.count + np.arange(minutes.count)).ravel()
    sums = {
        crossing: np.bincount(cells, amounts[rows].ravel(), len(keys) * minutes.count).reshape(len(keys), minutes.count)
        for crossing, amounts in ((Crossing.PRODUCE, found.bytes_in), (Crossing.CONSUME, found.bytes_out))
    }
    return {place: sums[place[0]][int(np.searchsorted(keys, key))].astype(np.float64) for place, key in known.items()}


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
    """Return the crossers of one direction, the largest first, at most `count`."""
    of_line = [crosser for crosser in crossers if crosser.direction == direction]
    of_line.sort(key=lambda each: (-each.bytes, each.cluster, each.topic, each.principal, each.client_id, each.address))
    return of_line[:count]


def is_near(use: LinkUse, settings: LinkSettings) -> bool:
    return use.share >= settings.near


def load(use: LinkUse, at: str) -> str:
    """Return what a line carried, without a name; `at` is its busiest minute."""
    return (
        f"carried {use.peak_bits_per_s / 1e9:.2f} of {use.line.bits_per_s / 1e9:g} Gbit/s ({use.share:.0%}) in the "
        f"minute of {at}"
    )


def finding(line: Direction, carried: str, crossers: Sequence[Crosser]) -> str:
    """Return one sentence on a line near its limit, by its load and the crossers of its busiest minute."""
    named = "; ".join(_crosser(crosser) for crosser in crossers[:_NAMED])
    return f"{line.from_idc} to {line.to_idc} {carried}" + (f"; the most by {named}" if named else "")


def _crosser(crosser: Crosser) -> str:
    what = {Crossing.PRODUCE: "produced to", Crossing.CONSUME: "consumed from", Crossing.REPLICATE: "replication of"}
    who = f"{crosser.principal or crosser.client_id} " if crosser.principal or crosser.client_id else ""
    return f"{who}{what[crosser.crossing]} {crosser.topic} of {crosser.cluster}, {human_bytes(crosser.bytes)}"


def remarks(
    traffic: Traffic, settings: LinkSettings, unknown_idc: Sequence[str], idc: Callable[[str], str] = str
) -> Iterator[str]:
    """Return what the numbers lack. `unknown_idc` names brokers that have none, `idc` says how an IDC is named."""
    if unknown_idc:
        yield (
            f"brokers {some(unknown_idc)} have no IDC: what they send and take is not in the "
            "numbers, register them with one"
        )
    if traffic.unplaced >= 1:
        fix = "give their networks" if settings.networks else "give [networks] in the file that `links` names"
        yield f"clients moved {human_bytes(traffic.unplaced)} from addresses that are in no network: {fix}"
    unpriced = sorted({use.line.between for use in link_uses(traffic, settings) if use.line.price_gb is None})
    if unpriced and settings.lines:
        yield f"no price_gb is given between {' and '.join(map(idc, unpriced[0]))}: its cost is left out"

"""From which data centres a cluster's clients write and read, by topic: what a move of the topic would change. Pure.

Brokers count a client's bytes only where quotas make them. What a topic took or gave in an IDC beyond the known bytes
is divided among the clients without known bytes, by their requests, as `links` does for those that cross.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from guardian.links.rules.links import ClientTopic, Minutes, Moved
from guardian.model.links import ClientPlace, Crossing
from guardian.model.units import human_bytes

_MOST = 20_000
_LITTLE = 0.01  # of the traffic: less than so much unknown is not worth a sentence


@dataclass(frozen=True, slots=True)
class ClientPlaces:
    """Bytes/s: `total` of all topics, `unplaced` by clients at addresses in no network, `untold` by clients unknown."""

    places: tuple[ClientPlace, ...] = ()
    total: float = 0.0
    unplaced: float = 0.0
    untold: float = 0.0
    left_out: int = 0

    def remarks(self, cluster: str, has_networks: bool) -> Iterator[str]:
        """Yield what is not known of the clients, a sentence each."""
        if self.unplaced > _LITTLE * self.total:
            fix = "give their networks" if has_networks else "give [networks] in the file that `links` names"
            yield f"clients of {cluster} move {human_bytes(self.unplaced)}/s from addresses in no network: {fix}"
        if self.untold > _LITTLE * self.total:
            yield f"nobody has told who moves {human_bytes(self.untold)}/s of {cluster}'s topics: these are not in it"
        if self.left_out:
            yield f"only the {_MOST} largest of {self.left_out + _MOST} topics and IDCs of clients are in it"


def client_places(
    found: Moved, rows: Sequence[ClientTopic], idcs: Mapping[int, str], minutes: Minutes, to_ms: int
) -> ClientPlaces:
    """`found` are the topics' bytes on brokers, `idcs` is by broker."""
    seconds = _seconds(found, minutes, to_ms)
    if not seconds:
        return ClientPlaces()
    totals = _totals(found, idcs)
    groups: dict[tuple[Crossing, str, str], list[ClientTopic]] = defaultdict(list)
    for row in rows:
        groups[row.crossing, row.broker_idc, row.topic].append(row)
    produced: dict[tuple[str, str], float] = defaultdict(float)
    fetched: dict[tuple[str, str], float] = defaultdict(float)
    untold = sum(amount for place, amount in totals.items() if place not in groups)
    for place, members in groups.items():
        known, requests = sum(each.bytes for each in members), sum(each.blind_requests for each in members)
        rest = max(0.0, totals.get(place, 0.0) - known)
        untold += 0.0 if requests else rest
        amounts = produced if place[0] is Crossing.PRODUCE else fetched
        for each in members:
            guessed = rest * each.blind_requests / requests if requests else 0.0
            amounts[each.topic, each.client_idc] += each.bytes + guessed
    everyone = [
        ClientPlace(*key, produced.get(key, 0.0) / seconds, fetched.get(key, 0.0) / seconds)
        for key in {*produced, *fetched}
    ]
    known_places = [each for each in everyone if each.idc and each.produced + each.fetched > 0]
    known_places.sort(key=lambda each: (-each.produced - each.fetched, each.topic, each.idc))
    return ClientPlaces(
        tuple(known_places[:_MOST]),
        sum(totals.values()) / seconds,
        sum(each.produced + each.fetched for each in everyone if not each.idc),
        untold / seconds,
        max(0, len(known_places) - _MOST),
    )


def _seconds(found: Moved, minutes: Minutes, to_ms: int) -> float:
    """Return the time from the first minute in which anything moved to the last, in s."""
    active = np.flatnonzero(found.bytes_in.sum(axis=0) + found.bytes_out.sum(axis=0))
    if not len(active):
        return 0.0
    end_ms = min(to_ms, minutes.begin_ms(int(active[-1]) + 1))
    return max(1.0, (end_ms - minutes.begin_ms(int(active[0]))) / 1000)


def _totals(found: Moved, idcs: Mapping[int, str]) -> dict[tuple[Crossing, str, str], float]:
    """Return what topics took in and gave out on all brokers of an IDC, in bytes."""
    totals: dict[tuple[Crossing, str, str], float] = defaultdict(float)
    for crossing, amounts in ((Crossing.PRODUCE, found.bytes_in), (Crossing.CONSUME, found.bytes_out)):
        rows = zip(found.broker.tolist(), found.topic.tolist(), amounts.sum(axis=1).tolist(), strict=True)
        for broker, topic, amount in rows:
            if amount:
                totals[crossing, idcs.get(broker, ""), found.topics[topic]] += amount
    return totals

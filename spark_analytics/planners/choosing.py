"""Choose some of many at the least cost: machines for a label, replicas to take off a full disk. Deterministic."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from math import comb

import numpy as np

from spark_analytics.model.cluster_model import Floats, Ints

_TRIES = 2000
_STEPS = 4000  # of a sum: the finest difference that is seen
_TABLED = 2000  # items, the largest

Cost = tuple[float, ...]
Fits = Callable[[Sequence[int]], bool]


def cheapest(costs: Sequence[Cost], count: int, fits: Fits, likeliest: Sequence[int]) -> tuple[int, ...] | None:
    """`count` of the items, ascending: those of the least cost that fit together; None where none was found to fit.

    `likeliest` are the items, those first that most likely fit. Of many items not all sets are tried. Then the
    likeliest are tried first, to see whether it can be at all, then as many of the cheapest as there is time for. At
    last single ones are exchanged for cheaper ones.
    """
    if count > len(costs):
        return None
    order = sorted(range(len(costs)), key=lambda item: (costs[item], item))
    ranked = [costs[item] for item in order]
    all_tried = comb(len(costs), count) <= _TRIES
    if not all_tried and not fits(sorted(likeliest[:count])):
        return None
    for tries, ranks in enumerate(_ascending(ranked, count)):
        chosen = sorted(order[rank] for rank in ranks)
        if fits(chosen):
            return tuple(chosen)
        if tries == _TRIES and not all_tried:
            break
    return None if all_tried else _exchanged(order, likeliest[:count], fits)


def _ascending(ranked: Sequence[Cost], count: int) -> Iterator[tuple[int, ...]]:
    """Sets of `count` ranks, the cheapest first."""
    first = tuple(range(count))
    heap = [(_sum(ranked, first), first)]
    seen = {first}
    while heap:
        _, ranks = heapq.heappop(heap)
        yield ranks
        for place in range(count):
            rank = ranks[place] + 1
            if rank < len(ranked) and (place + 1 == count or ranks[place + 1] > rank):
                more = (*ranks[:place], rank, *ranks[place + 1 :])
                if more not in seen:
                    seen.add(more)
                    heapq.heappush(heap, (_sum(ranked, more), more))


def _sum(costs: Sequence[Cost], items: Sequence[int]) -> Cost:
    return tuple(sum(parts) for parts in zip(*(costs[item] for item in items), strict=True))


def _exchanged(order: Sequence[int], chosen: Sequence[int], fits: Fits) -> tuple[int, ...]:
    """Each for the cheapest that will do instead, the dearest first."""
    now = list(chosen)
    for item in sorted(chosen, key=order.index, reverse=True):
        others = [each for each in now if each != item]
        for cheaper in order[: order.index(item)]:
            if cheaper not in others and fits(sorted([*others, cheaper])):
                now = [*others, cheaper]
                break
    return tuple(sorted(now))


def least_sum(sizes: Floats, needed: float) -> Ints:
    """Items whose sizes come to `needed` or more, by as little more as is found; all of them where that is too little.

    It is the best of three: one item alone, or the largest first with the smallest that suffices as the last. The third
    is found by a table of sums in steps of a four-thousandth of what is needed.
    """
    if needed <= 0:
        return np.zeros(0, dtype=np.int64)
    if sizes.sum() <= needed:
        return np.flatnonzero(sizes > 0)
    smaller = np.flatnonzero((sizes > 0) & (sizes < needed))
    answers = [_largest_first(sizes, smaller, needed), _by_table(sizes, smaller, needed)]
    if (enough := np.flatnonzero(sizes >= needed)).size:
        answers.append(enough[[int(sizes[enough].argmin())]])
    found = [answer for answer in answers if answer is not None]
    return np.sort(min(found, key=lambda items: (float(sizes[items].sum()), len(items))))


def _largest_first(sizes: Floats, items: Ints, needed: float) -> Ints | None:
    if sizes[items].sum() < needed:
        return None
    order = items[np.argsort(-sizes[items], kind="stable")]
    chosen: list[int] = []
    for place, item in enumerate(order.tolist()):
        rest = order[place:]
        suffices = rest[sizes[rest] >= needed]
        if len(suffices):
            return np.array([*chosen, int(suffices[-1])], dtype=np.int64)
        chosen.append(item)
        needed -= sizes[item]
    return np.array(chosen, dtype=np.int64)


def _by_table(sizes: Floats, items: Ints, needed: float) -> Ints | None:
    """most[s]: the largest true sum of items whose steps, each item's rounded, come to s.

    As every item is smaller than what is needed, no set that is needed whole comes to twice of it.
    """
    items = items[np.argsort(-sizes[items], kind="stable")[:_TABLED]]
    items = items[sizes[items] * _STEPS > needed]
    steps = np.rint(sizes[items] / needed * _STEPS).astype(np.int64)
    width = 2 * _STEPS + len(items)
    most = np.full(width, -np.inf)
    most[0] = 0.0
    taken = np.zeros((len(items), width), dtype=np.bool_)
    for row, (item, step) in enumerate(zip(items.tolist(), steps.tolist(), strict=True)):
        with_it = np.full(width, -np.inf)
        with_it[step:] = most[: width - step] + sizes[item]
        taken[row] = with_it > most
        most = np.maximum(most, with_it)
    enough = np.flatnonzero(most >= needed)
    if not len(enough):
        return None
    chosen, left = [], int(enough[most[enough].argmin()])
    for row in range(len(items) - 1, -1, -1):
        if taken[row, left]:
            chosen.append(int(items[row]))
            left -= int(steps[row])
    return np.array(chosen, dtype=np.int64)

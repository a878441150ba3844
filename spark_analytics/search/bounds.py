"""What no placement can go below: proofs that a target is out of reach, made of what replicas, racks and rules are.

    replicas  one is larger than a broker's share: wherever it lies, that broker is above the mean
    racks     a partition puts so many replicas, and no more, into one rack: racks have bounds on what they hold
    counts    brokers hold whole replicas
    fixed     what rules do not let move lies where it lies

Each gives the least use that the fullest broker has, and the least sum of (use - mean)^2. Use is relative to capacity,
so that its mean weighted by capacity is what it is whatever moves. The spread that is told is against the plain mean,
which does move where capacities differ. Two facts turn one into the other:

    no broker above m   the plain mean is largest when the smallest brokers are filled to m, one after another
    Cauchy-Schwarz      plain and weighted mean differ by at most (cv of the capacities) * (standard deviation of use)

CPU has a second bound, for placements that keep the targets of NW_OUT and LEADERS: leaders could carry CPU anywhere
but for what else they carry. In a rack, for any prices a, b >= 0 of what leading sends and of its number,

    CPU of leading <= sum over partitions of max(0, cpu - a * nw_out - b) + a * (most NW_OUT) + b * (most LEADERS)

and likewise of any weighted sum over racks, such as the one in which followers weigh most where there are too many.

What a pool holds of partitions that lie partly outside of it may be in any of its racks.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from spark_analytics.model.cluster_model import Bools, Floats, Ints
from spark_analytics.model.resources import RESOURCES, Resource
from spark_analytics.search.goal import Targets
from spark_analytics.search.kernels import State

_COUNTS = (Resource.REPLICAS, Resource.LEADERS)
_PRICES = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25)
_FINER = 5
# Of a load that was planned for, and did not come.
_NOTHING = 1e-6
# Sums of floats in another order differ by less.
_NOISE = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Least:
    """[RESOURCES] each. The last two hold for placements that keep the targets of NW_OUT and LEADERS."""

    cv: Floats
    max_over_mean: Floats
    cv_with_others: Floats
    max_with_others: Floats


@dataclass(frozen=True, slots=True, eq=False)
class _Pool:
    """Its brokers by rack, the partitions that are inside with all their replicas, and what else is there."""

    brokers: Ints
    rack: Ints  # [brokers] from 0 on
    fixed: Floats  # [brokers, RESOURCES] of replicas that stay where they are
    total: Floats  # [RESOURCES]
    # partitions inside
    replicas: Ints
    limit: Ints  # in a rack
    smallest: Floats  # [partitions, RESOURCES] of its replicas as followers
    largest: Floats  # [partitions, RESOURCES]
    extra: Floats  # [partitions, RESOURCES]
    # others
    held: Floats  # [racks, RESOURCES] of replicas that stay
    loose: Floats  # [RESOURCES] of those that may be in any rack


@dataclass(frozen=True, slots=True, eq=False)
class _Share:
    """One resource of a pool: how much each broker has when all are used alike. Use of 1 is that."""

    of: Floats  # [brokers]
    of_rack: Floats
    squares: Floats  # [racks]
    total: float

    @property
    def unevenness(self) -> float:
        """cv of the capacities."""
        return float(self.of.std() / self.of.mean())


@dataclass(frozen=True, slots=True)
class _Below:
    """What cannot be: the fullest broker's use below `use`, the sum of (use - 1)^2 below `squares`."""

    use: float = 1.0
    squares: float = 0.0


def least(state: State, pool_of_slot: Ints, still: Bools, broken: Bools, targets: Targets) -> Least:
    """`pool_of_slot` is the pool where each replica is, or is to come; -1: none. Those that are `still` stay at home.

    Partitions that are `broken` may have more replicas in a rack than rules allow.
    """
    found = Least(np.zeros(RESOURCES), np.ones(RESOURCES), np.zeros(RESOURCES), np.ones(RESOURCES))
    for number in range(int(state.pool.max(initial=-1)) + 1 if len(state.partition) else 0):
        pool = _pool(state, pool_of_slot, number, still, broken)
        shares = [_share(state, pool, r) for r in range(RESOURCES)]
        for r, share in enumerate(shares):
            if share is None:
                continue
            below = _below(pool, r, share, *_led(pool, r))
            _note(found.cv, found.max_over_mean, r, share, below)
            _note(found.cv_with_others, found.max_with_others, r, share, below)
            if r == Resource.CPU:
                below = _below(pool, r, share, *_cpu_led(pool, shares, targets))
                below = _Below(below.use, max(below.squares, _cpu_squares(pool, share, shares, targets)))
                _note(found.cv_with_others, found.max_with_others, r, share, below)
    return found


def strict(found: Least) -> Least:
    """Return the bounds that hold whether or not other targets are kept."""
    return replace(found, cv_with_others=found.cv, max_with_others=found.max_over_mean)


def stays_in_pools(state: State, pool_of_slot: Ints) -> bool:
    """Return whether each partition lies in one pool: then no step changes how much is in each."""
    first_of = pool_of_slot[state.first[:-1]]
    return bool((pool_of_slot == first_of[state.partition]).all())


def _pool(state: State, pool_of_slot: Ints, number: int, still: Bools, broken: Bools) -> _Pool:
    brokers = np.flatnonzero(state.pool == number)
    racks, rack = np.unique(state.rack[brokers], return_inverse=True)
    there = pool_of_slot == number
    goes = np.asarray(state.may_take.any(axis=1))[state.class_of]
    stays = there & (still | ~goes[state.partition]) & (state.home >= 0)
    inside = goes & ~broken & np.logical_and.reduceat(there, state.first[:-1])
    inside &= ~np.logical_and.reduceat(stays, state.first[:-1])
    leads = there[state.leader]
    held_leader = leads & ~goes
    outside = ~inside[state.partition]
    held = _by_broker(state, stays & outside, held_leader)[brokers]
    loose = there & outside & ~stays
    loads = state.load[loose].sum(axis=0) + state.extra[leads & ~inside & ~held_leader].sum(axis=0)
    smallest, largest = (
        fold.reduceat(state.load, state.first[:-1], axis=0)[inside] for fold in (np.minimum, np.maximum)
    )
    return _Pool(
        brokers=brokers,
        rack=rack,
        fixed=_by_broker(state, stays, held_leader)[brokers],
        total=state.load[there].sum(axis=0) + state.extra[leads].sum(axis=0),
        replicas=np.diff(state.first)[inside],
        limit=state.rack_max[state.class_of[inside]],
        smallest=smallest,
        largest=largest,
        extra=state.extra[inside],
        held=np.column_stack([np.bincount(rack, held[:, r], len(racks)) for r in range(RESOURCES)]),
        loose=loads,
    )


def _by_broker(state: State, slots: Bools, leaders: Bools) -> Floats:
    """[brokers, RESOURCES] of these replicas as followers, and of leading these partitions, at home."""
    size = len(state.pool)
    at, led = state.home[slots], state.home[state.leader[leaders]]
    return np.column_stack(
        [
            np.bincount(at, state.load[slots, r], size) + np.bincount(led, state.extra[leaders, r], size)
            for r in range(RESOURCES)
        ]
    )


def _share(state: State, pool: _Pool, r: int) -> _Share | None:
    """None where there is no load to speak of."""
    unit = state.unit[pool.brokers, r]
    if not (unit > 0).all():
        return None
    total, planned = float(pool.total[r]), float((1 / unit).sum())
    if total < _NOTHING * planned:
        return None
    of = (1 / unit) * (total / planned)
    of_rack, squares = (np.bincount(pool.rack, each).astype(np.float64) for each in (of, of * of))
    return _Share(of, of_rack, squares, total)


def _note(cv: Floats, most: Floats, r: int, share: _Share, below: _Below) -> None:
    """Against the plain mean, which may be above the weighted one."""
    uneven = share.unevenness
    deviation = np.sqrt(below.squares / len(share.of) / (1 + uneven**2))
    cv[r] = max(cv[r], float(deviation / (1 + uneven * deviation)) - _NOISE)
    most[r] = max(most[r], below.use / _highest_mean(share, below.use) - _NOISE)


def _highest_mean(share: _Share, use: float) -> float:
    """The plain mean of use when no broker is used more than so."""
    filled = np.cumsum(np.sort(share.of)) * use
    full = int(np.searchsorted(filled, share.total * (1 + 1e-12), side="right"))
    if full == len(filled):
        return use
    before = filled[full - 1] if full else 0.0
    rest = (share.total - before) / (filled[full] - before)
    return use * (full + float(rest)) / len(filled)


def _led(pool: _Pool, r: int) -> tuple[Floats, Floats]:
    """[1] each: what leading costs a rack at the least and at the most, when leaders are anywhere."""
    extra = pool.extra[:, r]
    return np.array([np.minimum(extra, 0).sum()]), np.array([np.maximum(extra, 0).sum()])


def _below(pool: _Pool, r: int, share: _Share, led_low: Floats, led_high: Floats) -> _Below:
    found = [_of_items(pool, r, share), _of_fixed(pool, r, share), _of_racks(pool, r, share, led_low, led_high)]
    if r in _COUNTS:
        found.append(_of_count(share))
    return _Below(max(each.use for each in found), max(each.squares for each in found))


def _of_items(pool: _Pool, r: int, share: _Share) -> _Below:
    """Replicas above a broker's share, each on a broker of its own: two on one are worse."""
    if not len(pool.extra):
        return _Below()
    item = np.maximum(pool.largest[:, r] + np.minimum(pool.extra[:, r], 0), pool.smallest[:, r] + pool.extra[:, r])
    largest = float(share.of.max())
    above = np.sort(item[item > largest])[::-1][: len(share.of) - 1] / largest - 1
    if not len(above):
        return _Below()
    others = float(np.sort(share.of**2)[len(above) :].sum())
    return _Below(float(above[0]) + 1, float((above**2).sum()) + (largest * float(above.sum())) ** 2 / others)


def _of_fixed(pool: _Pool, r: int, share: _Share) -> _Below:
    """Brokers above their share by what may not move."""
    over = np.maximum(pool.fixed[:, r] / share.of - 1, 0)
    others = float((share.of[over == 0] ** 2).sum())
    if not others:
        return _Below()
    return _Below(float(over.max()) + 1, float((over**2).sum()) + float((share.of * over).sum()) ** 2 / others)


def _of_racks(pool: _Pool, r: int, share: _Share, led_low: Floats, led_high: Floats) -> _Below:
    """Every rack holds as near to its share as rules let it."""
    if len(share.of_rack) == 1:
        return _Below()
    low, high = _held_by_racks(pool, r)
    low, high = low + led_low, high + led_high
    nothing = np.zeros(len(low))
    use = max(float((low / share.of_rack).max()), _level(nothing, share.of_rack, nothing, high, share.total))
    rise = _level(share.of_rack, share.squares, low, high, share.total)
    loads = np.clip(share.of_rack + rise * share.squares, low, high)
    return _Below(max(use, 1.0), float(((loads - share.of_rack) ** 2 / share.squares).sum()))


def _held_by_racks(pool: _Pool, r: int) -> tuple[Floats, Floats]:
    """[racks] the least and the most of it that followers, and what is not inside, may cost each."""
    brokers = np.bincount(pool.rack)
    room = [np.minimum(pool.limit, each) for each in brokers.tolist()]
    everywhere = np.sum(room, axis=0)
    low, high = pool.held[:, r].copy(), pool.held[:, r] + pool.loose[r]
    for k, here in enumerate(room):
        low[k] += float((np.maximum(pool.replicas - (everywhere - here), 0) * pool.smallest[:, r]).sum())
        high[k] += float((np.minimum(pool.replicas, here) * pool.largest[:, r]).sum())
    return low, high


def _level(start: Floats, slope: Floats, low: Floats, high: Floats, total: float) -> float:
    """The x at which start + x * slope, each between its bounds, come to this total, as far as they can; or less."""
    total = min(max(total, float(low.sum())), float(high.sum()))
    bottom, top = -1.0, 1.0
    while np.clip(start + bottom * slope, low, high).sum() > total:
        bottom *= 2
    while np.clip(start + top * slope, low, high).sum() < total:
        top *= 2
    for _ in range(60):
        middle = (bottom + top) / 2
        if np.clip(start + middle * slope, low, high).sum() < total:
            bottom = middle
        else:
            top = middle
    return bottom


def _of_count(share: _Share) -> _Below:
    """Whole replicas: some brokers have one more than others, unless they divide evenly."""
    mean = float(share.of.mean())
    part = mean - np.floor(mean)
    if part < 1e-9 or part > 1 - 1e-9:
        return _Below()
    return _Below(float(np.ceil(mean)) / mean, len(share.of) * part * (1 - part) / mean**2)


# --- CPU, while NW_OUT and LEADERS keep their targets ----------------------------------------------------------------


def _cpu_led(pool: _Pool, shares: list[_Share | None], targets: Targets) -> tuple[Floats, Floats]:
    """[racks] each: what leading costs at the least and at the most."""
    extra = pool.extra[:, Resource.CPU]
    sent, sent_low, sent_high = _priced(pool, shares, targets, Resource.NW_OUT)
    number, number_low, number_high = _priced(pool, shares, targets, Resource.LEADERS)
    low, high = np.full(len(sent_low), np.minimum(extra, 0).sum()), np.full(len(sent_low), np.maximum(extra, 0).sum())
    for a in _PRICES:
        for b in _PRICES:
            left = extra - a * sent - b * number
            high = np.minimum(high, np.maximum(left, 0).sum() + a * sent_high + b * number_high)
            low = np.maximum(low, np.minimum(left, 0).sum() + a * sent_low + b * number_low)
    return low, high


def _priced(pool: _Pool, shares: list[_Share | None], targets: Targets, r: int) -> tuple[Floats, Floats, Floats]:
    """[partitions] what leading each has of it, [racks] its least and most; all of it together is as much as CPU's."""
    extra = pool.extra[:, r]
    share = shares[r]
    racks = len(pool.held)
    if share is None or not (extra >= 0).all() or not extra.sum() > 1e-9 * share.total:
        return np.zeros(len(extra)), np.zeros(racks), np.zeros(racks)
    low, high = _reach(share, float(targets.cv[r]), float(targets.max_over_mean[r]))
    followers_low, followers_high = _held_by_racks(pool, r)
    rate = max(float(pool.extra[:, Resource.CPU].sum()), 0.0) / float(extra.sum())
    all_of_it = float(extra.sum())
    low, high = np.maximum(low - followers_high, 0), np.clip(high - followers_low, 0, all_of_it)
    return extra * rate, low * rate, high * rate


def _reach(share: _Share, cv: float, most: float) -> tuple[Floats, Floats]:
    """[racks] the least and the most that each holds when brokers are as even as this."""
    uneven = share.unevenness
    if uneven > 1e-12 and not uneven * cv < 1:
        return np.zeros(len(share.of_rack)), np.full(len(share.of_rack), share.total)
    highest_mean = 1.0 if uneven <= 1e-12 else 1 / (1 - uneven * cv)
    high = np.minimum(most * highest_mean * share.of_rack, share.total)
    low = np.zeros(len(high))
    if np.isfinite(cv):
        squares, together = share.squares, share.squares.sum()
        off = _deviation(share, cv) * np.sqrt(squares * (together - squares) / together)
        low, high = np.maximum(share.of_rack - off, 0), np.minimum(high, share.of_rack + off)
    return np.maximum(low, share.total - (high.sum() - high)), high


def _cpu_squares(pool: _Pool, cpu: _Share, shares: list[_Share | None], targets: Targets) -> float:
    """The least sum of (use - 1)^2, by the weighted sum of racks that followers make largest."""
    low, high = _held_by_racks(pool, Resource.CPU)
    extra = pool.extra[:, Resource.CPU]
    weight = ((low + high) / 2 + extra.sum() * cpu.of_rack / cpu.total) / cpu.of_rack - 1
    if not len(extra) or weight.max() - weight.min() < 1e-6:
        return 0.0
    sent, sent_least = _along(pool, shares, targets, Resource.NW_OUT, weight)
    number, number_least = _along(pool, shares, targets, Resource.LEADERS, weight)

    def led(a: float, b: float) -> float:
        left = extra - a * sent - b * number
        where_best = weight.min() * np.maximum(left, 0).sum() + weight.max() * np.minimum(left, 0).sum()
        return float(where_best) + a * sent_least + b * number_least

    best, a, b = max((led(a, b), a, b) for a in _PRICES for b in _PRICES)
    step = _PRICES[1] - _PRICES[0]
    for _ in range(_FINER):
        step /= 2
        near = [(max(a + i * step, 0.0), max(b + j * step, 0.0)) for i in (-1, 0, 1) for j in (-1, 0, 1)]
        best, a, b = max((led(*prices), *prices) for prices in near)
    beyond = float(np.where(weight > 0, weight * low, weight * high).sum()) + best - float(weight @ cpu.of_rack)
    return max(beyond, 0.0) ** 2 / _along_squares(cpu, weight)


def _along(pool: _Pool, shares: list[_Share | None], targets: Targets, r: int, weight: Floats) -> tuple[Floats, float]:
    """[partitions] what leading each has of it, and the least weighted sum of that, scaled as by `_priced`."""
    amounts, _, _ = _priced(pool, shares, targets, r)
    share = shares[r]
    if share is None or not amounts.any():
        return amounts, 0.0
    rate = float(amounts.sum()) / float(pool.extra[:, r].sum())
    least_of_any = float(weight.min()) * float(amounts.sum())
    deviation = _deviation(share, float(targets.cv[r]))
    if not np.isfinite(deviation):
        return amounts, least_of_any
    low, high = _held_by_racks(pool, r)
    others = float(np.where(weight > 0, weight * high, weight * low).sum())
    sum_at_least = float(weight @ share.of_rack) - deviation * np.sqrt(_along_squares(share, weight))
    return amounts, max((sum_at_least - others) * rate, least_of_any)


def _along_squares(share: _Share, weight: Floats) -> float:
    """The square of the weighted sum over racks of what they are off, at most, for each sum of (use - 1)^2."""
    squares = share.squares
    return float((weight**2 * squares).sum() - (weight * squares).sum() ** 2 / squares.sum())


def _deviation(share: _Share, cv: float) -> float:
    """The root of the sum of (use - 1)^2 that this cv allows; inf: any."""
    uneven = share.unevenness
    if uneven <= 1e-12:
        return cv * float(np.sqrt(len(share.of)))
    return cv / (1 - uneven * cv) * float(np.sqrt((1 + uneven**2) * len(share.of))) if uneven * cv < 1 else np.inf

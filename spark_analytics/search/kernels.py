"""The loops of the search, compiled: what a step gains, whether rules allow it, and passes over all replicas.

Use is counted as `dev`: a broker's use of a resource relative to the mean of its pool, less 1. What is made small is

    sum over brokers and resources of  weight * (dev^2 + 8 * max(0, dev - margin)^2)
    + for each replica away from home, its bytes / the bytes of a mean broker
    + for each leader away from home, a little

With a given weight a broker stops giving a resource away when its dev is about 1 / (4 weight). Weights are prices, and
the search raises them until the targets hold. Replicas keep to `may_go`, leaders to `may_hand_over`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from spark_analytics.model.cluster_model import Bools, Floats, Ints
from spark_analytics.search.compiled import compiled, fixed, inlined, inner, lean

# Beyond its margin a broker pays eight times as much: no target on max/mean is met by squares alone.
TAIL = 8.0
# How candidates are chosen: the emptiest by each of so many criteria (weights of resources), rack by rack.
CRITERIA = 5
# A step is taken at once when it gains this share of what it might.
PROMISED = 0.7
TURNS = 4
# How many replicas of a broker are tried against how many of another.
EXCHANGED = 48
EXCHANGED_FOR = 192
DISK = 3
WITH_CAPACITY = 4  # CPU, NW_IN, NW_OUT, DISK
WITH_LIMIT = 5  # and REPLICAS
BYTES, LEADER_MOVES, BROKER_BYTES = 0, 1, 2
NOWHERE = fixed(-1)
GIVES, TAKES = fixed(-1), fixed(1)
# What gives way where a replica that must move finds no place: a topic's spread, then an old crowd in its rack.
NOTHING, TOPICS, CROWDS = fixed(0), fixed(1), fixed(2)


class State(NamedTuple):
    """A placement under trial, with all that rules and model say of it. Only the last group changes."""

    # replicas
    first: Ints  # [partitions + 1] slots of a partition
    partition: Ints  # [slots]
    home: Ints  # [slots] broker; -1: none
    returns: Bools  # [slots] may go home again
    free: Bools  # [slots] may move without need
    load: Floats  # [slots, RESOURCES] as a follower
    extra: Floats  # [partitions, RESOURCES] for leading
    price: Floats  # [slots] of being away from home
    leader_home: Ints  # [partitions] broker; -1: none
    leader_price: float
    # topics
    topic: Ints  # [partitions]
    topic_first: Ints  # [topics + 1] slots of a topic
    topic_row: Ints  # [topics] of topic_count; -1: so few slots that they are counted when asked for
    topic_most: Ints  # [topics] replicas on one broker
    # brokers
    pool: Ints  # [brokers]; -1: takes and gives nothing, and is not measured
    rack: Ints  # [brokers]
    idc: Ints  # [brokers]
    unit: Floats  # [brokers, RESOURCES] dev that one unit of load makes
    ceiling: Floats  # [brokers, RESOURCES] dev up to which it takes
    largest: Floats  # [brokers] bytes that its roomiest log dir may take
    # rules by class
    class_of: Ints  # [partitions]
    may_take: Bools  # [classes, brokers]
    may_lead: Bools  # [classes, brokers]
    rack_max: Ints  # [classes]
    keeps_crowds: bool  # a rack may keep as many replicas of a partition as it has at home
    idc_min: Ints  # [classes, idcs]
    idc_max: Ints  # [classes, idcs]
    least_led: Ints  # [topics] partitions that each broker leads that must
    led_row: Ints  # [topics] of must_lead and led; -1: nobody must lead any
    must_lead: Bools  # [rows, brokers]
    # budget
    budget: Floats  # [3] BYTES copied, LEADER_MOVES, bytes into or out of one broker
    # what changes
    broker: Ints  # [slots]; -1: nowhere
    leader: Ints  # [partitions] slot
    dev: Floats  # [brokers, RESOURCES]
    topic_count: npt.NDArray[np.int16]  # [rows, brokers]
    room: Floats  # [brokers] bytes that may still be copied in
    led: Ints  # [rows, brokers] partitions
    waits: Bools  # [slots] found no place: nothing but another place for it takes it from home
    spent: Floats  # [2] BYTES copied, LEADER_MOVES
    copied_in: Floats  # [brokers]
    copied_out: Floats  # [brokers] by the leaders that copies are made from


@inlined
def load_of(s: State, slot: int, out: Floats) -> None:
    p = s.partition[slot]
    leads = s.leader[p] == slot
    for r in range(out.shape[0]):
        out[r] = s.load[slot, r] + (s.extra[p, r] if leads else 0.0)


@inlined
def penalty(dev: float, margin: float) -> float:
    over = dev - margin
    return dev * dev + (TAIL * over * over if over > 0 else 0.0)


@inlined
def change(s: State, broker: int, load: Floats, sign: float, weight: Floats, margin: Floats) -> float:
    """Return the change of the objective when the broker takes (1) or gives (-1) this load."""
    total = 0.0
    for r in range(load.shape[0]):
        if weight[r] > 0.0 and load[r] != 0.0:
            dev = s.dev[broker, r]
            after = dev + sign * load[r] * s.unit[broker, r]
            total += weight[r] * (penalty(after, margin[r]) - penalty(dev, margin[r]))
    return total


@inlined
def copy_price(s: State, slot: int, broker: int) -> float:
    return 0.0 if broker == s.home[slot] else s.price[slot]


@inlined
def lead_price(s: State, p: int, broker: int) -> float:
    return 0.0 if broker == s.leader_home[p] else s.leader_price


@inlined
def topic_on(s: State, topic: int, broker: int) -> int:
    row = s.topic_row[topic]
    if row >= 0:
        return int(s.topic_count[row, broker])
    count = 0
    for slot in range(s.topic_first[topic], s.topic_first[topic + 1]):
        if s.broker[slot] == broker:
            count += 1
    return count


@inlined
def takes(s: State, slot: int, broker: int, load: Floats) -> bool:
    """Return whether the broker has the capacity, and its disks the room, for this replica."""
    for r in range(WITH_LIMIT):
        if load[r] > 0.0 and s.dev[broker, r] + load[r] * s.unit[broker, r] > s.ceiling[broker, r]:
            return False
    return has_room(s, slot, broker)


@inlined
def has_room(s: State, slot: int, broker: int) -> bool:
    size = s.load[slot, DISK]
    return bool(broker == s.home[slot] or size <= min(s.room[broker], s.largest[broker]))


@inlined
def is_affordable(s: State, slot: int, here: int, broker: int) -> bool:
    """Return whether the budget of each broker, and that of leader moves, bear this step. A forced move costs
    nothing.
    """
    p = s.partition[slot]
    if s.leader[p] == slot and not may_spend_lead(s, p, here, broker):
        return False
    size = s.load[slot, DISK]
    if s.price[slot] == 0.0 or broker == s.home[slot]:
        return True
    if s.copied_in[broker] + size > s.budget[BROKER_BYTES]:
        return False
    if here != s.home[slot]:
        return True
    source = s.leader_home[p]
    return bool(source < 0 or s.copied_out[source] + size <= s.budget[BROKER_BYTES])


@inlined
def may_spend_lead(s: State, p: int, before: int, after: int) -> bool:
    home = s.leader_home[p]
    return bool(after == home or before != home or s.spent[LEADER_MOVES] + 1.0 <= s.budget[LEADER_MOVES])


@inlined
def is_old_crowd(s: State, slot: int, broker: int, others: int) -> bool:
    """Whether this replica comes back into a rack that, with so many others there, crowds it no more than at first."""
    home = s.home[slot]
    if not s.keeps_crowds or home < 0 or s.rack[home] != s.rack[broker]:
        return False
    p = s.partition[slot]
    had = 0
    for each in range(s.first[p], s.first[p + 1]):
        had += s.home[each] >= 0 and s.rack[s.home[each]] == s.rack[broker]
    return bool(others < had)


@inlined
def is_needed_to_lead(s: State, p: int, broker: int) -> bool:
    """Return whether the broker would lead too few partitions of the topic without this one."""
    row = s.led_row[s.topic[p]]
    if row < 0 or broker < 0 or not s.must_lead[row, broker]:
        return False
    return bool(s.led[row, broker] <= s.least_led[s.topic[p]])


@lean
def may_go(s: State, slot: int, here: int, broker: int, load: Floats) -> bool:  # noqa: PLR0911, PLR0912 - one rule after another
    """Return whether every rule allows this replica to go from here to another broker."""
    p = s.partition[slot]
    c = s.class_of[p]
    if broker == s.home[slot]:
        if not s.returns[slot]:
            return False
    elif not s.may_take[c, broker] or s.waits[slot]:
        return False
    if s.leader[p] == slot:
        if not s.may_lead[c, broker] and s.may_lead[c, here]:
            return False
        if s.broker[slot] == here and is_needed_to_lead(s, p, here):
            return False
    same_rack = 0
    to_idc = 0
    from_idc = 0
    for other in range(s.first[p], s.first[p + 1]):
        if other != slot:
            on = s.broker[other]
            if on == broker or s.home[other] == broker:
                return False
            if on >= 0:
                same_rack += s.rack[on] == s.rack[broker]
                to_idc += s.idc[on] == s.idc[broker]
                from_idc += s.idc[on] == s.idc[here]
    comes_back = broker == s.home[slot] and is_old_crowd(s, slot, broker, same_rack)
    if same_rack >= s.rack_max[c] and s.rack[here] != s.rack[broker] and not comes_back:
        return False
    if s.idc[here] != s.idc[broker]:
        if s.idc[broker] >= 0 and to_idc >= s.idc_max[c, s.idc[broker]]:
            return False
        if s.idc[here] >= 0 and from_idc < s.idc_min[c, s.idc[here]]:
            return False
    if not takes(s, slot, broker, load) or not is_affordable(s, slot, here, broker):
        return False
    return bool(topic_on(s, s.topic[p], broker) < s.topic_most[s.topic[p]])


@inlined
def count_leader(s: State, p: int, broker: int, sign: int) -> None:
    row = s.led_row[s.topic[p]]
    if row >= 0:
        s.led[row, broker] += sign


@inlined
def add(s: State, slot: int, broker: int, sign: int) -> None:
    """Count a replica, and its leadership if it leads, on a broker (1), or no more (-1)."""
    p = s.partition[slot]
    leads = s.leader[p] == slot
    for r in range(s.dev.shape[1]):
        s.dev[broker, r] += sign * (s.load[slot, r] + (s.extra[p, r] if leads else 0.0)) * s.unit[broker, r]
    row = s.topic_row[s.topic[p]]
    if row >= 0:
        s.topic_count[row, broker] += sign
    if leads:
        count_leader(s, p, broker, sign)
        if broker != s.leader_home[p]:
            s.spent[LEADER_MOVES] += sign
    home = s.home[slot]
    if broker != home:
        size = s.load[slot, DISK]
        s.room[broker] -= sign * size
        if s.price[slot] > 0.0:
            s.spent[BYTES] += sign * size
            s.copied_in[broker] += sign * size
            if s.leader_home[p] >= 0:
                s.copied_out[s.leader_home[p]] += sign * size


@lean
def put(s: State, slot: int, broker: int) -> None:
    """-1: nowhere."""
    if s.broker[slot] >= 0:
        add(s, slot, s.broker[slot], GIVES)
    s.broker[slot] = broker
    if broker >= 0:
        add(s, slot, broker, TAKES)


@compiled
def put_all(s: State, slots: Ints, brokers: Ints) -> None:
    for k in range(slots.shape[0]):
        put(s, slots[k], brokers[k])


@lean
def lead(s: State, slot: int) -> None:
    p = s.partition[slot]
    was, now = s.broker[s.leader[p]], s.broker[slot]
    home = s.leader_home[p]
    for r in range(s.dev.shape[1]):
        if was >= 0:
            s.dev[was, r] -= s.extra[p, r] * s.unit[was, r]
        s.dev[now, r] += s.extra[p, r] * s.unit[now, r]
    if was >= 0:
        count_leader(s, p, was, GIVES)
    count_leader(s, p, now, TAKES)
    s.spent[LEADER_MOVES] += int(now != home) - int(was != home and was >= 0)
    s.leader[p] = slot


# --- candidates ------------------------------------------------------------------------------------------------------


@inner
def criteria_of(weight: Floats) -> Floats:
    """[CRITERIA, RESOURCES]: disk; traffic in; what leading costs; the number of replicas; all together."""
    criteria = np.zeros((CRITERIA, weight.shape[0]))
    criteria[0, 3] = 1.0
    criteria[1, 1] = 1.0
    criteria[2, 0] = weight[0]
    criteria[2, 2] = weight[2]
    criteria[2, 5] = weight[5] * 0.5
    criteria[3, 4] = 1.0
    for r in range(weight.shape[0]):
        criteria[4, r] = weight[r]
    return criteria


@inner
def choose_candidates(s: State, pool: int, criteria: Floats, groups: int, each: int, out: Ints) -> int:
    """The emptiest brokers of a pool by each criterion, `each` of every group of racks; how many they are."""
    value = np.full((CRITERIA, groups, each), np.inf)
    who = np.full((CRITERIA, groups, each), -1, np.int64)
    for b in range(s.dev.shape[0]):
        if s.pool[b] != pool:
            continue
        g = s.rack[b] % groups
        for c in range(CRITERIA):
            v = 0.0
            for r in range(criteria.shape[1]):
                v += criteria[c, r] * s.dev[b, r]
            if v < value[c, g, each - 1]:
                at = each - 1
                while at > 0 and value[c, g, at - 1] > v:
                    value[c, g, at] = value[c, g, at - 1]
                    who[c, g, at] = who[c, g, at - 1]
                    at -= 1
                value[c, g, at] = v
                who[c, g, at] = b
    seen = np.zeros(s.dev.shape[0], np.bool_)
    count = 0
    for c in range(CRITERIA):
        for g in range(groups):
            for at in range(each):
                b = who[c, g, at]
                if b >= 0 and not seen[b]:
                    seen[b] = True
                    out[count] = b
                    count += 1
    return count


@inlined
def fill_row(s: State, broker: int, weight: Floats, row: Floats) -> None:
    """Fill in what taking load x costs this broker, beyond-margin apart: the sum of x * (row[r] + x * row[R + r])."""
    n = weight.shape[0]
    for r in range(n):
        row[r] = 2.0 * weight[r] * s.dev[broker, r] * s.unit[broker, r]
        row[n + r] = weight[r] * s.unit[broker, r] * s.unit[broker, r]


# --- replicas --------------------------------------------------------------------------------------------------------


@lean
def best_candidate(
    s: State,
    slot: int,
    x: Floats,
    at_source: float,
    least: float,
    candidates: Ints,
    rows: Floats,
    count: int,
    weight: Floats,
    margin: Floats,
) -> tuple[float, int]:
    """The candidate where this replica gains most, above `least`; -1: none. Arithmetic first, rules for the best."""
    p = s.partition[slot]
    here = s.broker[slot]
    base = at_source - s.price[slot]
    leads = s.leader[p] == slot
    if leads:
        base += lead_price(s, p, here) - s.leader_price
    best = least
    who = NOWHERE
    x0, x1, x2, x3, x4, x5 = x[0], x[1], x[2], x[3], x[4], x[5]
    for i in range(count):
        row = rows[i]
        gain = (
            base
            - x0 * (row[0] + x0 * row[6])
            - x1 * (row[1] + x1 * row[7])
            - x2 * (row[2] + x2 * row[8])
            - x3 * (row[3] + x3 * row[9])
            - x4 * (row[4] + x4 * row[10])
            - x5 * (row[5] + x5 * row[11])
        )
        if gain <= best:
            continue
        b = candidates[i]
        if b == here or b == s.home[slot]:
            continue
        gain = base - change(s, b, x, 1.0, weight, margin)
        if gain > best and may_go(s, slot, here, b, x):
            best = gain
            who = i
    return best, who


@inner
def best_by_squares(loads: Floats, rows: Floats, count: int) -> Floats:
    """[slots] the most that each load gains at any candidate when rules and margins are left out: a cheap bound.

    `loads` are x and x * x, [2 * RESOURCES, slots]: the inner loop runs over slots, so that it is done many at a time.
    """
    slots = loads.shape[1]
    best = np.full(slots, -np.inf)
    for i in range(count):
        a0, a1, a2, a3, a4, a5 = rows[i, 0], rows[i, 1], rows[i, 2], rows[i, 3], rows[i, 4], rows[i, 5]
        b0, b1, b2, b3, b4, b5 = rows[i, 6], rows[i, 7], rows[i, 8], rows[i, 9], rows[i, 10], rows[i, 11]
        for k in range(slots):
            cost = (
                loads[0, k] * a0
                + loads[1, k] * a1
                + loads[2, k] * a2
                + loads[3, k] * a3
                + loads[4, k] * a4
                + loads[5, k] * a5
                + loads[6, k] * b0
                + loads[7, k] * b1
                + loads[8, k] * b2
                + loads[9, k] * b3
                + loads[10, k] * b4
                + loads[11, k] * b5
            )
            best[k] = -cost if -cost > best[k] else best[k]
    return best


@lean
def gain_of_return(s: State, slot: int, x: Floats, at_source: float, weight: Floats, margin: Floats) -> float:
    home = s.home[slot]
    here = s.broker[slot]
    if home < 0 or home == here or not may_go(s, slot, here, home, x):
        return -1.0
    p = s.partition[slot]
    gain = at_source - change(s, home, x, 1.0, weight, margin)
    if s.leader[p] == slot:
        gain += lead_price(s, p, here) - lead_price(s, p, home)
    return gain


@inner
def slots_by_broker(s: State) -> tuple[Ints, Ints]:
    """[brokers + 1] where each broker's slots begin in the other array."""
    brokers = s.dev.shape[0]
    first = np.zeros(brokers + 1, np.int64)
    for slot in range(s.broker.shape[0]):
        if s.broker[slot] >= 0:
            first[s.broker[slot] + 1] += 1
    for b in range(brokers):
        first[b + 1] += first[b]
    at = first[:-1].copy()
    slots = np.empty(first[brokers], np.int64)
    for slot in range(s.broker.shape[0]):
        b = s.broker[slot]
        if b >= 0:
            slots[at[b]] = slot
            at[b] += 1
    return first, slots


@inner
def promises_of(
    s: State, b: int, mine: Ints, rows: Floats, count: int, weight: Floats, margin: Floats
) -> tuple[Floats, Floats]:
    """Return for each of a broker's replicas at most: its gain at the best candidate, and that with the broker's own
    gain.
    """
    n = weight.shape[0]
    x = np.empty(n)
    loads = np.empty((2 * n, mine.shape[0]))
    bound = np.empty(mine.shape[0])
    for k in range(mine.shape[0]):
        slot = mine[k]
        load_of(s, slot, x)
        for r in range(n):
            loads[r, k] = x[r]
            loads[n + r, k] = x[r] * x[r]
        bound[k] = -change(s, b, x, -1.0, weight, margin)
    at_best = best_by_squares(loads, rows, count)
    for k in range(mine.shape[0]):
        at_best[k] += s.leader_price - (s.price[mine[k]] if b == s.home[mine[k]] else 0.0)
        bound[k] += at_best[k]
        if b != s.home[mine[k]]:
            bound[k] += s.price[mine[k]]
    return at_best, bound


@compiled
def sweep(
    s: State, order: Ints, groups: int, each: int, every: int, weight: Floats, margin: Floats, least: float
) -> int:
    """Brokers in this order give replicas away while that gains more than `least`; the number of steps.

    Candidates are chosen anew after every so many brokers, and when the next one is of another pool.
    """
    n = weight.shape[0]
    first, slots = slots_by_broker(s)
    candidates = np.empty(CRITERIA * groups * each, np.int64)
    rows = np.empty((CRITERIA * groups * each, 2 * n))
    criteria = criteria_of(weight)
    x = np.empty(n)
    steps = 0
    count = 0
    chosen_for = NOWHERE
    for i in range(order.shape[0]):
        b = order[i]
        mine = slots[first[b] : first[b + 1]]
        if s.pool[b] != chosen_for or i % every == 0:
            count = choose_candidates(s, s.pool[b], criteria, groups, each, candidates)
            chosen_for = s.pool[b]
        for k in range(count):
            fill_row(s, candidates[k], weight, rows[k])
        at_best, bound = promises_of(s, b, mine, rows, count, weight, margin)
        # The most promising first. What gives much less than it promised, as rules forbid the best or as others went
        # before, waits until the others had their turn. One loop: a call within it would cost more than a step.
        for _ in range(TURNS):
            later = np.full(mine.shape[0], -1.0)
            for k in np.argsort(-bound, kind="mergesort"):
                if bound[k] <= least:
                    break
                slot = mine[k]
                if not s.free[slot]:
                    continue
                load_of(s, slot, x)
                away = b != s.home[slot]
                at_source = -change(s, b, x, -1.0, weight, margin) + copy_price(s, slot, b)
                promise = at_source + at_best[k]
                to_home = gain_of_return(s, slot, x, at_source, weight, margin) if away else -1.0
                if max(promise, to_home) < PROMISED * bound[k]:
                    later[k] = max(promise, to_home)
                    continue
                gain, who = best_candidate(
                    s, slot, x, at_source, max(least, to_home), candidates, rows, count, weight, margin
                )
                if who < 0 and to_home > least:
                    put(s, slot, s.home[slot])
                    steps += 1
                elif who >= 0 and gain < PROMISED * bound[k]:
                    later[k] = gain
                elif who >= 0:
                    put(s, slot, candidates[who])
                    fill_row(s, candidates[who], weight, rows[who])
                    steps += 1
            bound = later
    return steps


@inner
def best_exchange(
    s: State, b: int, d: int, mine: Ints, theirs: Ints, weight: Floats, margin: Floats, least: float
) -> tuple[float, int, int]:
    """The two replicas of these brokers that gain most by changing places; -1: none gains more than `least`."""
    x = np.empty(weight.shape[0])
    y = np.empty(weight.shape[0])
    best = least
    one = NOWHERE
    two = NOWHERE
    for slot in mine:
        if s.broker[slot] != b or not s.free[slot]:
            continue
        load_of(s, slot, x)
        price = copy_price(s, slot, b) - copy_price(s, slot, d)
        for other in theirs:
            if s.broker[other] != d or not s.free[other] or s.partition[slot] == s.partition[other]:
                continue
            load_of(s, other, y)
            for r in range(y.shape[0]):
                y[r] = x[r] - y[r]
            gain = price + copy_price(s, other, d) - copy_price(s, other, b)
            if gain - change(s, b, y, -1.0, weight, margin) <= best:
                continue
            gain -= change(s, b, y, -1.0, weight, margin) + change(s, d, y, 1.0, weight, margin)
            if gain > best and may_exchange(s, slot, other):
                best = gain
                one = slot
                two = other
    return best, one, two


@lean
def keeps_share(s: State, slot: int) -> bool:
    """Return whether the brokers that this copy goes to and comes from bear what is copied now."""
    source = s.leader_home[s.partition[slot]]
    return bool(
        s.copied_in[s.broker[slot]] <= s.budget[BROKER_BYTES]
        and (source < 0 or s.copied_out[source] <= s.budget[BROKER_BYTES])
    )


@inner
def may_exchange(s: State, one: int, two: int) -> bool:
    """Rules see either replica arrive when the other has gone."""
    b, d = s.broker[one], s.broker[two]
    for slot in (one, two):
        p = s.partition[slot]
        if s.leader[p] == slot and is_needed_to_lead(s, p, s.broker[slot]):
            return False
    x = np.empty(s.dev.shape[1])
    put(s, one, NOWHERE)
    put(s, two, NOWHERE)
    load_of(s, one, x)
    allowed = may_go(s, one, b, d, x)
    put(s, one, d)
    load_of(s, two, x)
    allowed = allowed and may_go(s, two, d, b, x)
    put(s, two, b)
    allowed = allowed and keeps_share(s, one) and keeps_share(s, two)
    put(s, two, NOWHERE)
    put(s, one, b)
    put(s, two, d)
    return allowed


@inner
def heaviest(s: State, b: int, slots: Ints, weight: Floats) -> Ints:
    """The replicas with most of what this broker has too much of."""
    x = np.empty(weight.shape[0])
    load = np.zeros(slots.shape[0])
    for k in range(slots.shape[0]):
        load_of(s, slots[k], x)
        for r in range(x.shape[0]):
            load[k] -= weight[r] * max(s.dev[b, r], 0.0) * x[r] * s.unit[b, r]
    return slots[np.argsort(load, kind="mergesort")[:EXCHANGED]]


@compiled
def exchange(s: State, order: Ints, groups: int, each: int, weight: Floats, margin: Floats, least: float) -> int:
    """Exchange two replicas where single ones are too large to go: the best pair of each of these brokers."""
    first, slots = slots_by_broker(s)
    candidates = np.empty(CRITERIA * groups * each, np.int64)
    criteria = criteria_of(weight)
    steps = 0
    for b in order:
        count = choose_candidates(s, s.pool[b], criteria, groups, each, candidates)
        mine = heaviest(s, b, slots[first[b] : first[b + 1]], weight)
        best = least
        one = NOWHERE
        two = NOWHERE
        for k in range(count):
            d = candidates[k]
            if d == b:
                continue
            theirs = slots[first[d] : first[d + 1]]
            some = theirs[:: 1 + theirs.shape[0] // EXCHANGED_FOR]
            gain, a, c = best_exchange(s, b, d, mine, some, weight, margin, best)
            if a >= 0:
                best, one, two = gain, a, c
        if one >= 0:
            d = s.broker[two]
            put(s, one, NOWHERE)
            put(s, two, b)
            put(s, one, d)
            steps += 1
    return steps


# --- budgets ---------------------------------------------------------------------------------------------------------


@compiled
def restore(s: State, brokers: Ints, leaders: Ints) -> None:
    """Back to a placement that was."""
    for slot in range(brokers.shape[0]):
        if s.broker[slot] != brokers[slot]:
            put(s, slot, brokers[slot])
    for p in range(leaders.shape[0]):
        if s.leader[p] != leaders[p]:
            lead(s, leaders[p])


@compiled
def go_towards(s: State, slots: Ints, brokers: Ints) -> None:
    """These replicas go to these brokers, in this order, as far as the budget of bytes bears each."""
    x = np.empty(s.dev.shape[1])
    for k in range(slots.shape[0]):
        slot, broker = slots[k], brokers[k]
        is_new = s.broker[slot] == s.home[slot] and s.price[slot] > 0.0
        if is_new and s.spent[BYTES] + s.load[slot, DISK] > s.budget[BYTES]:
            continue
        load_of(s, slot, x)
        if may_go(s, slot, s.broker[slot], broker, x):
            put(s, slot, broker)


# --- leaders ---------------------------------------------------------------------------------------------------------


@lean
def may_hand_over(s: State, p: int, slot: int, load: Floats) -> bool:
    """Return whether rules allow this replica to lead its partition in the leader's place."""
    b, now = s.broker[slot], s.leader[p]
    c = s.class_of[p]
    if b < 0 or s.pool[b] < 0 or not s.free[slot] or not s.free[now]:
        return False
    if not s.may_lead[c, b] and s.may_lead[c, s.broker[now]]:
        return False
    if is_needed_to_lead(s, p, s.broker[now]):
        return False
    for r in range(WITH_CAPACITY):
        if load[r] > 0.0 and s.dev[b, r] + load[r] * s.unit[b, r] > s.ceiling[b, r]:
            return False
    return may_spend_lead(s, p, s.broker[now], b)


@compiled
def leader_pass(s: State, weight: Floats, margin: Floats, least: float) -> int:
    """Each partition's leader hands over to the follower where that gains most, if more than `least`."""
    steps = 0
    for p in range(s.leader.shape[0]):
        now = s.leader[p]
        here = s.broker[now]
        if here < 0:
            continue
        extra = s.extra[p]
        at_source = -change(s, here, extra, -1.0, weight, margin) + lead_price(s, p, here)
        best = least
        who = NOWHERE
        for slot in range(s.first[p], s.first[p + 1]):
            b = s.broker[slot]
            if slot == now or b < 0:
                continue
            gain = at_source - change(s, b, extra, 1.0, weight, margin) - lead_price(s, p, b)
            if gain > best and may_hand_over(s, p, slot, extra):
                best = gain
                who = slot
        if who >= 0:
            lead(s, who)
            steps += 1
    return steps


# --- giving back -----------------------------------------------------------------------------------------------------


@inner
def sums_of(s: State, pools: int) -> tuple[Ints, Floats, Floats]:
    """Per pool: brokers, and per resource the sum and the sum of squares of 1 + dev."""
    count = np.zeros(pools, np.int64)
    total = np.zeros((pools, s.dev.shape[1]))
    squares = np.zeros((pools, s.dev.shape[1]))
    for b in range(s.dev.shape[0]):
        k = s.pool[b]
        if k >= 0:
            count[k] += 1
            for r in range(s.dev.shape[1]):
                v = 1.0 + s.dev[b, r]
                total[k, r] += v
                squares[k, r] += v * v
    return count, total, squares


@inner
def floor_of(count: Ints, total: Floats) -> Floats:
    """[pools, RESOURCES] a little below the mean of each pool."""
    floor = np.empty(total.shape)
    for k in range(total.shape[0]):
        for r in range(total.shape[1]):
            floor[k, r] = total[k, r] / max(count[k], 1) * 0.9995
    return floor


@lean
def still_holds(
    s: State,
    k: int,
    was: int,
    now: int,
    load: Floats,
    cv: Floats,
    most: Floats,
    count: Ints,
    total: Floats,
    squares: Floats,
    floor: Floats,
    commit: bool,
) -> bool:
    """Return whether pool k keeps within cv and max/mean when this load goes from one of its brokers to another.

    max/mean is held against `floor`, a mean that may not be left downwards: so a later step can't break it.
    """
    for r in range(load.shape[0]):
        if load[r] == 0.0:
            continue
        a, b = 1.0 + s.dev[was, r], 1.0 + s.dev[now, r]
        a2, b2 = a - load[r] * s.unit[was, r], b + load[r] * s.unit[now, r]
        t = total[k, r] - a - b + a2 + b2
        q = squares[k, r] - a * a - b * b + a2 * a2 + b2 * b2
        if commit:
            total[k, r] = t
            squares[k, r] = q
            continue
        mean = t / count[k]
        if q / count[k] - mean * mean > (cv[r] * mean) ** 2 or b2 > most[r] * floor[k, r] or mean < floor[k, r]:
            return False
    return True


@compiled
def give_back(s: State, slots: Ints, pools: int, cv: Floats, most: Floats) -> int:
    """Replicas go home, in this order, while cv and max/mean of every resource hold."""
    count, total, squares = sums_of(s, pools)
    floor = floor_of(count, total)
    x = np.empty(s.dev.shape[1])
    back = 0
    for slot in slots:
        here, home = s.broker[slot], s.home[slot]
        if home < 0 or here < 0 or here == home or not s.free[slot]:
            continue
        k = s.pool[here]
        if k < 0 or s.pool[home] != k:
            continue
        load_of(s, slot, x)
        if not may_go(s, slot, here, home, x):
            continue
        if still_holds(s, k, here, home, x, cv, most, count, total, squares, floor, False):
            still_holds(s, k, here, home, x, cv, most, count, total, squares, floor, True)
            put(s, slot, home)
            back += 1
    return back


@compiled
def give_leaders_back(s: State, partitions: Ints, pools: int, cv: Floats, most: Floats) -> int:
    """Leadership goes home, in this order, where a replica is there and while cv and max/mean hold."""
    count, total, squares = sums_of(s, pools)
    floor = floor_of(count, total)
    back = 0
    for p in partitions:
        here = s.broker[s.leader[p]]
        home = s.leader_home[p]
        if home < 0 or here < 0 or here == home:
            continue
        k = s.pool[here]
        if k < 0 or s.pool[home] != k:
            continue
        for slot in range(s.first[p], s.first[p + 1]):
            if s.broker[slot] == home and may_hand_over(s, p, slot, s.extra[p]):
                if still_holds(s, k, here, home, s.extra[p], cv, most, count, total, squares, floor, False):
                    still_holds(s, k, here, home, s.extra[p], cv, most, count, total, squares, floor, True)
                    lead(s, slot)
                    back += 1
                break
    return back


# --- what rules force ------------------------------------------------------------------------------------------------


@lean
def refusal(s: State, slot: int, broker: int, load: Floats, at_last: int) -> int:  # noqa: PLR0911, PLR0912 - one rule after another
    """0: a replica without a place may go there; else how far it came: 1 rule, 2 rack, 3 IDC, 4 capacity, 5 room.

    `at_last` is what gives way: NOTHING, TOPICS (a topic's spread), or CROWDS as well (an old crowd of its rack).
    """
    p = s.partition[slot]
    c = s.class_of[p]
    if not s.may_take[c, broker] or (broker == s.home[slot] and not s.returns[slot]):
        return 1
    same_rack = 0
    same_idc = 0
    homeless = 1
    for other in range(s.first[p], s.first[p + 1]):
        if other != slot:
            on = s.broker[other]
            if on == broker or s.home[other] == broker:
                return 1
            if on < 0:
                homeless += 1
            else:
                same_rack += s.rack[on] == s.rack[broker]
                same_idc += s.idc[on] == s.idc[broker]
    if same_rack >= s.rack_max[c] and (at_last < CROWDS or not is_old_crowd(s, slot, broker, same_rack)):
        return 2
    i = s.idc[broker]
    if i >= 0 and same_idc >= s.idc_max[c, i]:
        return 3
    if i < 0 or same_idc >= s.idc_min[c, i]:
        # a place that no IDC lacks may be taken only while enough others are without one
        lack = 0
        for k in range(s.idc_min.shape[1]):
            if s.idc_min[c, k] > 0:
                there = 0
                for other in range(s.first[p], s.first[p + 1]):
                    there += s.broker[other] >= 0 and s.idc[s.broker[other]] == k
                lack += max(0, s.idc_min[c, k] - there)
        if lack >= homeless:
            return 3
    if not takes(s, slot, broker, load):
        return 5 if not has_room(s, slot, broker) else 4
    if at_last == NOTHING and topic_on(s, s.topic[p], broker) >= s.topic_most[s.topic[p]]:
        return 6
    return 0


@lean
def best_place(
    s: State, slot: int, x: Floats, brokers: Ints, count: int, weight: Floats, margin: Floats, at_last: int
) -> tuple[int, int]:
    """The broker where a replica without a place costs least, and 0; or -1, and how far the best of them came."""
    best = np.inf
    who = NOWHERE
    why = 1
    for k in range(count):
        b = brokers[k]
        cost = change(s, b, x, 1.0, weight, margin)
        if cost >= best:
            continue
        refused = refusal(s, slot, b, x, at_last)
        if refused == 0:
            best = cost
            who = b
        else:
            why = max(why, refused)
    return who, why


@compiled
def place_forced(
    s: State, slots: Ints, groups: int, each: int, every: int, weight: Floats, margin: Floats, why: Ints
) -> None:
    """Each of these replicas, in this order, goes where it costs least; `why` is 0, or what hindered it.

    The emptiest brokers of its pool are looked at first, all others when they refuse. A topic's spread gives way; then,
    of a replica that finds no other place, an old crowd in its own rack.
    """
    everyone = np.arange(s.dev.shape[0])
    candidates = np.empty(CRITERIA * groups * each, np.int64)
    criteria = criteria_of(weight)
    x = np.empty(weight.shape[0])
    chosen_for = NOWHERE
    chosen_at = 0
    count = 0
    for k in range(slots.shape[0]):
        slot = slots[k]
        load_of(s, slot, x)
        c = s.class_of[s.partition[slot]]
        pool = NOWHERE
        for b in everyone:
            if s.may_take[c, b] and s.pool[b] >= 0:
                pool = s.pool[b]
                break
        if pool < 0:
            why[k] = 1
            continue
        if pool != chosen_for or k - chosen_at >= every:
            count = choose_candidates(s, pool, criteria, groups, each, candidates)
            chosen_for = pool
            chosen_at = k
        who, _ = best_place(s, slot, x, candidates, count, weight, margin, NOTHING)
        why[k] = 0
        for at_last in (NOTHING, TOPICS, CROWDS):
            if who < 0 and (at_last < CROWDS or s.keeps_crowds):
                who, why[k] = best_place(s, slot, x, everyone, everyone.shape[0], weight, margin, at_last)
        if who >= 0:
            why[k] = 0
            put(s, slot, who)


@compiled
def find_crowding(s: State, lost: Bools, partitions: Ints, why: Ints) -> None:
    """Find `why` each replica of these that moved may not stay there, now that others found no place: 2 rack, 3 IDC; or
    0.

    Its rack or IDC would have more than allowed, or the one that it left fewer, and that was not so at first. What is
    `lost` [slots] where it is keeps no rack from others.
    """
    for p in partitions:
        c = s.class_of[p]
        for slot in range(s.first[p], s.first[p + 1]):
            b, home = s.broker[slot], s.home[slot]
            why[slot] = 0
            if b < 0 or home < 0 or b == home:
                continue
            i, j = s.idc[b], s.idc[home]
            in_rack, in_i, in_j = 0, 0, 0
            rack_had, i_had, j_had = 0, 0, 0
            for other in range(s.first[p], s.first[p + 1]):
                on, was = s.broker[other], s.home[other]
                if on >= 0:
                    in_rack += s.rack[on] == s.rack[b] and not (on == was and lost[other])
                    in_i += s.idc[on] == i
                    in_j += s.idc[on] == j
                if was >= 0:
                    rack_had += s.rack[was] == s.rack[b]
                    i_had += s.idc[was] == i
                    j_had += s.idc[was] == j
            too_many = i >= 0 and in_i > max(s.idc_max[c, i], i_had)
            too_few = j >= 0 and in_j < min(s.idc_min[c, j], j_had)
            if s.rack[b] != s.rack[home] and in_rack > max(s.rack_max[c], rack_had):
                why[slot] = 2
            elif i != j and (too_many or too_few):
                why[slot] = 3


@compiled
def settle_leaders(s: State, which: Bools, weight: Floats, margin: Floats) -> None:
    """Let the follower that may and gains most take over where the leader has no place, or leads where it may not.

    That is forced: neither capacity nor the budget of leader moves hinders it. `which` [partitions] are looked at.
    """
    for p in range(s.leader.shape[0]):
        now = s.leader[p]
        here = s.broker[now]
        c = s.class_of[p]
        if here >= 0 and (s.may_lead[c, here] or not which[p]):
            continue
        best = np.inf
        who = NOWHERE
        for slot in range(s.first[p], s.first[p + 1]):
            b = s.broker[slot]
            if b < 0 or slot == now or (here >= 0 and not s.may_lead[c, b]):
                continue
            cost = change(s, b, s.extra[p], 1.0, weight, margin) + (0.0 if s.may_lead[c, b] else 1e12)
            if cost < best:
                best = cost
                who = slot
        if who >= 0:
            lead(s, who)


@inner
def best_to_lead(s: State, t: int, b: int, copies: bool, weight: Floats, margin: Floats) -> int:
    """The replica of the topic with which broker b leads a partition more for the least; -1: none.

    A follower that is there; with `copies` one from elsewhere, the smallest. What may not move does so at the last.
    """
    x = np.empty(s.dev.shape[1])
    best = np.inf
    who = NOWHERE
    for slot in range(s.topic_first[t], s.topic_first[t + 1]):
        p = s.partition[slot]
        here, leads_on = s.broker[slot], s.broker[s.leader[p]]
        c = s.class_of[p]
        if here < 0 or leads_on < 0 or leads_on == b or not s.may_take[c, b] or not s.may_lead[c, b]:
            continue
        if is_needed_to_lead(s, p, leads_on):
            continue
        cost = change(s, b, s.extra[p], 1.0, weight, margin)
        if copies:
            load_of(s, slot, x)
            cost = s.load[slot, DISK]
        if not s.free[slot]:
            cost += 1e18
        if cost < best and ((here == b) != copies) and (here == b or may_go(s, slot, here, b, x)):
            best = cost
            who = slot
    return who


@compiled
def lead_as_many_as_must(s: State, copies: bool, weight: Floats, margin: Floats, moved: Bools) -> None:
    """Brokers that lead too few partitions of a topic take over others, then copies of others; both are forced."""
    for t in range(s.led_row.shape[0]):
        row = s.led_row[t]
        if row < 0:
            continue
        for turn in range(2 if copies else 1):
            for b in range(s.dev.shape[0]):
                while s.must_lead[row, b] and s.led[row, b] < s.least_led[t]:
                    slot = best_to_lead(s, t, b, turn == 1, weight, margin)
                    if slot < 0:
                        break
                    if s.broker[slot] != b:
                        s.price[slot] = 0.0
                        moved[slot] = True
                        put(s, slot, b)
                    if s.leader[s.partition[slot]] != slot:
                        lead(s, slot)

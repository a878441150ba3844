"""The search against what is obviously right: rules checked one by one, loads added up again, every placement tried.

Each property is a function. It runs on the same examples every time, and on others in the soak.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from guardian.model.plan import ReplicaPlacement
from guardian.model.topology import TopicPartition
from spark_analytics.model.cluster_model import ClusterModel
from spark_analytics.model.facts import BrokerFacts, LogDirFacts, PartitionFacts
from spark_analytics.search.found import Found
from spark_analytics.search.goal import Budget, Targets
from spark_analytics.search.rules import Rules
from spark_analytics.search.search import find, leaders

pytestmark = pytest.mark.slow

RACKS, IDCS, DISK, REPLICAS = 3, 2, 3, 4


@dataclass(frozen=True, slots=True)
class Case:
    model: ClusterModel
    rules: Rules
    budget: Budget


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Any cluster of a few brokers, under any rules that the search may be given."""
    brokers = draw(st.integers(2, 7))
    sizes = st.sampled_from((1, 2) if draw(st.booleans()) else (1,))
    log_dirs = draw(st.integers(1, 3))
    facts = [
        BrokerFacts(
            b,
            f"r{draw(st.integers(0, RACKS - 1))}",
            f"i{draw(st.integers(0, IDCS - 1))}",
            capacity=(100.0 * draw(sizes), 1e4 * draw(sizes), 1e4 * draw(sizes), 1e4 * draw(sizes)),
        )
        for b in range(brokers)
    ]
    dirs = [
        LogDirFacts(b, f"/d{d}", 5e3, draw(st.sampled_from((1e3, 5e3))))
        for b in range(brokers)
        for d in range(log_dirs)
    ]
    partitions = []
    cpu = draw(st.sampled_from((3, 30)))
    for number in range(draw(st.integers(1, 12))):
        on = draw(st.lists(st.integers(0, brokers - 1), min_size=1, max_size=min(3, brokers), unique=True))
        partitions.append(
            PartitionFacts(
                TopicPartition(draw(st.sampled_from("ab")), number),
                tuple(ReplicaPlacement(b, f"/d{draw(st.integers(0, log_dirs - 1))}") for b in on),
                write_rate=draw(st.floats(0, 300)),
                read_rate=draw(st.floats(0, 300)),
                size_bytes=draw(st.integers(0, 700)),
                unplaced=draw(st.sampled_from((0, 0, 0, 1))) if len(on) < brokers else 0,
                cpu=draw(st.floats(0, cpu)),
                leader_cpu=draw(st.floats(0, cpu)),
            )
        )
    model = ClusterModel.of("live", facts, dirs, partitions)
    classes = draw(st.integers(1, 2))
    flags = st.lists(st.sampled_from((True, True, True, False)), min_size=brokers, max_size=brokers)
    may_stay = np.array([draw(flags) for _ in range(classes)])
    may_take = may_stay & np.array([draw(flags) for _ in range(classes)])
    idcs = len(model.idc_names)
    if draw(st.booleans()):  # a class that the task does not touch, as P.compiled makes of unseen and lost partitions
        may_stay = np.vstack([may_stay, np.ones((1, brokers), dtype=np.bool_)])
        may_take = np.vstack([may_take, np.zeros((1, brokers), dtype=np.bool_)])
    total = len(may_take)
    may_lead = np.array([draw(flags) for _ in range(total)])
    may_lead[classes:] = True
    rack_max = np.full(total, draw(st.integers(1, 3)))
    idc_max = np.full((total, idcs), draw(st.sampled_from((1, 2, 99))))
    idc_min = np.array([[draw(st.sampled_from((0, 0, 0, 1))) for _ in range(idcs)] for _ in range(total)])
    rack_max[classes:], idc_max[classes:], idc_min[classes:] = 99, 99, 0
    class_of = np.array([draw(st.integers(0, total - 1)) for _ in range(model.partitions)])
    free = np.array([draw(st.sampled_from((True, True, True, False))) for _ in range(model.slots)])
    must_leave = np.array([draw(st.sampled_from((False,) * 9 + (True,))) for _ in range(model.slots)])
    untouched = (class_of >= classes)[model.slot_partition]
    rules = Rules(
        class_of=class_of,
        may_stay=may_stay,
        may_take=may_take,
        may_lead=may_lead,
        idc_min=np.minimum(idc_min, idc_max),
        idc_max=idc_max,
        rack_max=rack_max,
        log_dir_may_take=np.array([draw(st.sampled_from((True, True, False))) for _ in model.log_dirs]),
        log_dir_may_stay=np.array([draw(st.sampled_from((True, True, True, False))) for _ in model.log_dirs]),
        capacity_limit=np.full(4, 0.8),
        disk_limit=0.8,
        free_to_move=free & ~untouched,
        must_leave=must_leave & ~untouched,
        disk_spare=np.full(len(model.disk_total_bytes), draw(st.sampled_from((0.0, 50.0)))),
        mends=draw(st.sampled_from((True, True, False))),
        most_replicas=draw(st.sampled_from((None, np.full(brokers, 4), np.full(brokers, 6)))),
        least_leaders=draw(st.sampled_from((None, np.ones(len(model.topics), dtype=np.int64)))),
    )
    bytes_ = draw(st.sampled_from((float("inf"), 0.0, 500.0)))
    leader_moves = draw(st.sampled_from((float("inf"), 0.0, 2.0)))
    broker_bytes = draw(st.sampled_from((float("inf"), 400.0)))
    return Case(model, rules, Budget(bytes_, leader_moves, broker_bytes))


def brokers_of(model: ClusterModel, slot_log_dir: np.ndarray) -> list[int]:
    return [int(model.log_dir_broker[d]) if d >= 0 else -1 for d in slot_log_dir.tolist()]


def naive_use(model: ClusterModel, brokers: list[int], leader_slot: np.ndarray) -> np.ndarray:
    """[brokers, RESOURCES] added up one replica at a time."""
    use = np.zeros((model.brokers, model.slot_load.shape[1]))
    for slot, broker in enumerate(brokers):
        if broker >= 0:
            use[broker] += model.slot_load[slot]
    for p, slot in enumerate(leader_slot.tolist()):
        if brokers[slot] >= 0:
            use[brokers[slot]] += model.leader_load[p]
    return use


def rules_are_kept(case: Case) -> None:
    """No rule is broken that was kept, and what breaks one is mended or named."""
    model, rules = case.model, case.rules
    found = find(model, rules, Targets.default(), case.budget)
    before, after = brokers_of(model, model.slot_log_dir), brokers_of(model, found.slot_log_dir)
    stuck = {item.slot for item in found.stuck}
    for p in range(model.partitions):
        slots = range(int(model.slot_start[p]), int(model.slot_start[p + 1]))
        on = [after[slot] for slot in slots if after[slot] >= 0]
        assert len(set(on)) == len(on), "two replicas on one broker"
        assert found.leader_slot[p] in slots
        for slot in slots:
            replica_keeps_its_rules(case, found, before, after, p, slot, slot in stuck)
        if not stuck & set(slots):
            racks_and_idcs_are_kept(case, p, on)
    no_receiver_is_over_its_limit(case, before, after, found)
    no_broker_holds_too_many(case, before, after, bool(stuck))
    brokers_lead_what_they_must(case, found, before, after)


def replica_keeps_its_rules(
    case: Case, found: Found, before: list[int], after: list[int], p: int, slot: int, is_stuck: bool
) -> None:
    model, rules = case.model, case.rules
    c, b, log_dir = rules.class_of[p], after[slot], int(found.slot_log_dir[slot])
    if b < 0:
        assert is_stuck
        return
    if b != before[slot]:
        assert rules.may_take[c, b]
        assert rules.free_to_move[slot] or found.forced[slot] or before[slot] < 0
    if log_dir != model.slot_log_dir[slot]:
        assert rules.log_dir_may_take[log_dir]
    if not is_stuck:
        assert rules.may_stay[c, b]
        # a class that may go nowhere is out of the task's scope: its log dirs are not emptied of it
        if rules.may_take[c].any():
            assert rules.log_dir_may_stay[log_dir] or log_dir != model.slot_log_dir[slot]
        assert not rules.must_leave[slot] or log_dir != model.slot_log_dir[slot]


def racks_and_idcs_are_kept(case: Case, p: int, on: list[int]) -> None:
    model, rules = case.model, case.rules
    c = rules.class_of[p]
    for rack in set(model.rack[on].tolist()):
        assert sum(model.rack[b] == rack for b in on) <= rules.rack_max[c]
    for idc in set(model.idc[on].tolist()):
        assert sum(model.idc[b] == idc for b in on) <= rules.idc_max[c, idc]
    if rules.idc_min[c].sum() <= len(on):
        for idc, least in enumerate(rules.idc_min[c].tolist()):
            assert sum(model.idc[b] == idc for b in on) >= least


def no_receiver_is_over_its_limit(case: Case, before: list[int], after: list[int], found: Found) -> None:
    """A broker may stay above its limit; one that was given anything of a resource is below it."""
    model, rules = case.model, case.rules
    was = naive_use(model, before, model.leader_slot)
    now = naive_use(model, after, found.leader_slot)
    limit = rules.capacity_limit * model.capacity
    # handing on a leader whose place may not lead is forced: it is done whatever the new leader carries
    took_over = {after[found.leader_slot[p]] for p in leaders_forced(case, found, before)}
    for r in range(4):
        over = (now[:, r] > limit[:, r] * (1 + 1e-9)) & (now[:, r] > was[:, r] + 1e-6)
        assert r in (1, 3) or set(np.flatnonzero(over).tolist()) <= took_over
        assert r in (0, 2) or not over.any()
    size = model.slot_load[:, DISK]
    copied = np.zeros(len(model.disk_total_bytes))
    held = np.zeros(len(model.disk_total_bytes))
    for slot in range(model.slots):
        if model.slot_log_dir[slot] >= 0:
            held[model.log_dir_disk[model.slot_log_dir[slot]]] += size[slot]
        if found.slot_log_dir[slot] >= 0 and found.slot_log_dir[slot] != model.slot_log_dir[slot]:
            copied[model.log_dir_disk[found.slot_log_dir[slot]]] += size[slot]
    full = copied > 0
    assert (held + copied <= rules.disk_limit * model.disk_total_bytes + 1e-6)[full].all()
    reserve = rules.disk_reserve * model.disk_total_bytes
    spare = np.zeros(len(full)) if rules.disk_spare is None else rules.disk_spare
    assert (model.disk_usable_bytes - copied >= reserve + spare - 1e-6)[full].all()


def leaders_forced(case: Case, found: Found, before: list[int]) -> list[int]:
    """Partitions whose leader could not stay where it was, or that were given to brokers that must lead more."""
    model, rules = case.model, case.rules
    return [
        p
        for p in range(model.partitions)
        if found.forced[model.leader_slot[p]]
        or before[model.leader_slot[p]] < 0
        or not rules.may_lead[rules.class_of[p], before[model.leader_slot[p]]]
        or rules.least_leaders is not None
    ]


def no_broker_holds_too_many(case: Case, before: list[int], after: list[int], any_stuck: bool) -> None:
    if case.rules.most_replicas is None:
        return
    was, now = (np.bincount([b for b in on if b >= 0], minlength=case.model.brokers) for on in (before, after))
    assert (now <= np.maximum(was, case.rules.most_replicas)).all()
    movable = bool(np.any(case.rules.may_take, axis=1)[case.rules.class_of].all())
    assert any_stuck or not case.rules.mends or not movable or (now <= case.rules.most_replicas).all()


def brokers_lead_what_they_must(case: Case, found: Found, before: list[int], after: list[int]) -> None:
    """Only what must leave a broker takes a topic's last leader from it."""
    model, rules = case.model, case.rules
    if rules.least_leaders is None:
        return
    gone = {p for p in range(model.partitions) if found.forced[model.leader_slot[p]]}
    gone |= {p for p in range(model.partitions) if not leads_by_rule(case, p, before)}
    for p in set(range(model.partitions)) - gone:
        topic, broker = model.partition_topic[p], before[model.leader_slot[p]]
        of = np.flatnonzero(model.partition_topic == topic).tolist()
        classes = np.unique(rules.class_of[of])
        classes = classes[rules.may_take[classes].any(axis=1)]
        if not (rules.may_stay & rules.may_lead)[classes, broker].any() or not pooled(rules)[broker]:
            continue
        assert any(after[found.leader_slot[other]] == broker for other in of)


def leads_by_rule(case: Case, p: int, before: list[int]) -> bool:
    on = before[case.model.leader_slot[p]]
    return on >= 0 and bool(case.rules.may_lead[case.rules.class_of[p], on])


def pooled(rules: Rules) -> np.ndarray:
    return np.asarray(rules.may_take[np.unique(rules.class_of)].any(axis=0))


def the_budget_is_kept(case: Case) -> None:
    """Forced moves apart."""
    model = case.model
    found = find(model, case.rules, Targets.default(), case.budget)
    before, after = brokers_of(model, model.slot_log_dir), brokers_of(model, found.slot_log_dir)
    chosen = [
        slot
        for slot in range(model.slots)
        if before[slot] >= 0 and after[slot] != before[slot] and not found.forced[slot]
    ]
    inside = [
        slot
        for slot in range(model.slots)
        if before[slot] >= 0
        and after[slot] == before[slot]
        and found.slot_log_dir[slot] != model.slot_log_dir[slot]
        and not found.forced[slot]
    ]
    size = model.slot_load[:, DISK]
    assert sum(size[slot] for slot in chosen + inside) <= case.budget.bytes * (1 + 1e-9)
    into, out_of = np.zeros(model.brokers), np.zeros(model.brokers)
    np.add.at(into, [after[slot] for slot in chosen + inside], size[chosen + inside])
    source = [before[model.leader_slot[model.slot_partition[slot]]] for slot in chosen]
    np.add.at(out_of, [b for b in source if b >= 0], [size[s] for s, b in zip(chosen, source, strict=True) if b >= 0])
    assert max(into.max(), out_of.max()) <= case.budget.broker_bytes * (1 + 1e-9)
    forced = leaders_forced(case, found, before)
    changed = [
        p
        for p in range(model.partitions)
        if after[found.leader_slot[p]] != before[model.leader_slot[p]] and p not in forced
    ]
    assert len(changed) <= case.budget.leader_moves


def the_same_input_gives_the_same_answer(case: Case) -> None:
    once, twice = (find(case.model, case.rules, Targets.default(), case.budget) for _ in range(2))
    assert once.slot_log_dir.tobytes() == twice.slot_log_dir.tobytes()
    assert once.leader_slot.tobytes() == twice.leader_slot.tobytes()


def leaders_alone_move_no_replica(case: Case) -> None:
    """And all lead where they may, or those that must of a task that does not mend."""
    model, rules = case.model, case.rules
    found = leaders(model, rules, Targets.default())
    assert found.slot_log_dir.tolist() == model.slot_log_dir.tolist()
    on = brokers_of(model, model.slot_log_dir)
    for p in range(model.partitions):
        slots = [slot for slot in range(int(model.slot_start[p]), int(model.slot_start[p + 1])) if on[slot] >= 0]
        c = rules.class_of[p]
        if rules.mends and any(rules.may_lead[c, on[slot]] for slot in slots):
            assert rules.may_lead[c, on[int(found.leader_slot[p])]]
    least_is_below_what_was_reached(found)


def naive_pools(rules: Rules) -> list[list[int]]:
    """Brokers that a chain of classes joins."""
    pools: list[set[int]] = []
    for c in np.unique(rules.class_of):
        joined = set(np.flatnonzero(rules.may_take[c]).tolist())
        apart = [pool for pool in pools if not pool & joined]
        pools = [*apart, joined.union(*(pool for pool in pools if pool & joined))] if joined else pools
    return [sorted(pool) for pool in pools]


def a_naive_twin_adds_up_the_spread_that_is_told(case: Case) -> None:
    """And nothing is called the least that is more than that."""
    model = case.model
    found = find(model, case.rules, Targets.default(), case.budget)
    use = naive_use(model, brokers_of(model, found.slot_log_dir), found.leader_slot)
    cv, most = np.zeros(6), np.ones(6)
    told = np.full(6, True)
    for pool in naive_pools(case.rules):
        load = use[pool].mean(axis=0)
        told &= load > 1e-2  # next to nothing is not spread
        here = use[pool].copy()
        here[:, :4] /= model.capacity[pool]
        mean = np.maximum(here.mean(axis=0), 1e-12)
        cv, most = np.maximum(cv, here.std(axis=0) / mean), np.maximum(most, here.max(axis=0) / mean)
    for r in np.flatnonzero(told):
        assert found.cv[r] == pytest.approx(cv[r], abs=1e-6)
        assert found.max_over_mean[r] == pytest.approx(most[r], abs=1e-6)
    least_is_below_what_was_reached(found)


def least_is_below_what_was_reached(found: Found) -> None:
    assert (found.least_cv <= found.cv).all(), (found.least_cv, found.cv)
    assert (found.least_max <= found.max_over_mean).all(), (found.least_max, found.max_over_mean)


PROPERTIES: tuple[Callable[[Case], None], ...] = (
    rules_are_kept,
    the_budget_is_kept,
    the_same_input_gives_the_same_answer,
    leaders_alone_move_no_replica,
    a_naive_twin_adds_up_the_spread_that_is_told,
)


def on_examples(check: Callable[..., None], strategy: st.SearchStrategy[object], examples: int, same: bool) -> None:
    slow = [HealthCheck.too_slow, HealthCheck.filter_too_much]
    profile = settings(
        max_examples=examples, deadline=None, derandomize=same, database=None, suppress_health_check=slow
    )

    def tried(case: object) -> None:
        check(case)

    profile(given(strategy)(tried))()


@pytest.mark.parametrize("check", PROPERTIES, ids=lambda check: check.__name__)
def test_on_the_same_examples(check: Callable[[Case], None]) -> None:
    on_examples(check, cases(), 60, same=True)


@pytest.mark.soak
@pytest.mark.parametrize("check", PROPERTIES, ids=lambda check: check.__name__)
def test_on_other_examples(check: Callable[[Case], None]) -> None:
    on_examples(check, cases(), 3000, same=False)


@st.composite
def tiny(draw: st.DrawFn) -> Case:
    """Clusters of which every placement can be tried: mixed hardware, uneven racks, replicas that must not move."""
    racks = draw(st.sampled_from(((0, 0, 1), (0, 1, 2), (0, 1, 1, 2), (0, 1, 1))))
    brokers = range(len(racks))
    capacity = st.sampled_from((1.0, 1.0, 2.0, 3.0) if draw(st.booleans()) else (1.0,))
    count = draw(st.integers(2, 4 if len(racks) == 3 else 3))
    pairs = [pair for pair in permutations(brokers, 2) if racks[pair[0]] != racks[pair[1]]]
    rf = draw(st.sampled_from((1, 2, 2)))
    model = ClusterModel.of(
        "live",
        [
            BrokerFacts(
                b,
                f"r{racks[b]}",
                capacity=(1e6 * draw(capacity), 1e6 * draw(capacity), 1e6 * draw(capacity), 1e6 * draw(capacity)),
            )
            for b in brokers
        ],
        [LogDirFacts(b, "/d", 1e6, 1e6) for b in brokers],
        [
            PartitionFacts(
                TopicPartition("a", number),
                tuple(ReplicaPlacement(b, "/d") for b in draw(st.sampled_from(pairs))[:rf]),
                write_rate=float(draw(st.integers(1, 100))),
                read_rate=float(draw(st.integers(0, 50))),
                size_bytes=draw(st.integers(1, 100)),
                cpu=float(draw(st.integers(0, 10))),
                leader_cpu=float(draw(st.integers(0, 20))),
            )
            for number in range(count)
        ],
    )
    untouched = np.array([draw(st.sampled_from((False, False, False, True))) for _ in range(count)])
    free = np.array([draw(st.sampled_from((True, True, True, False))) for _ in range(model.slots)])
    takes = np.ones((2, len(racks)), dtype=np.bool_)
    takes[1] = False
    everywhere = np.ones((2, len(racks)), dtype=np.bool_)
    rules = Rules(
        class_of=untouched.astype(np.int64),
        may_stay=everywhere,
        may_take=takes,
        may_lead=everywhere,
        idc_min=np.zeros((2, len(model.idc_names)), dtype=np.int64),
        idc_max=np.full((2, len(model.idc_names)), 9),
        rack_max=np.array([1, 9]),
        log_dir_may_take=np.ones(len(racks), dtype=np.bool_),
        log_dir_may_stay=np.ones(len(racks), dtype=np.bool_),
        capacity_limit=np.full(4, 0.8),
        disk_limit=0.8,
        free_to_move=free & ~untouched[model.slot_partition],
        must_leave=np.zeros(model.slots, dtype=np.bool_),
    )
    return Case(model, rules, Budget())


def placements(case: Case, p: int) -> Iterator[tuple[tuple[int, ...], int]]:
    """The brokers of each of its replicas, and which leads."""
    model, rules = case.model, case.rules
    slots = range(int(model.slot_start[p]), int(model.slot_start[p + 1]))
    home = [int(model.slot_broker[slot]) for slot in slots]
    if rules.class_of[p]:
        yield tuple(home), slots[0]
        return
    for on in permutations(range(model.brokers), len(slots)):
        stays = all(rules.free_to_move[slot] or b == was for slot, b, was in zip(slots, on, home, strict=True))
        if stays and len({int(model.rack[b]) for b in on}) == len(on):
            yield from ((on, slot) for slot in slots)


def no_placement_goes_below_what_is_called_the_least(case: Case) -> None:
    model = case.model
    assume((case.rules.class_of == 0).any())
    targets = Targets.of_spread(0.5)
    found = find(model, case.rules, targets)
    assert not found.stuck
    least_is_below_what_was_reached(found)
    for chosen in product(*(list(placements(case, p)) for p in range(model.partitions))):
        use = naive_use(model, [b for on, _ in chosen for b in on], np.array([leader for _, leader in chosen]))
        use[:, :4] /= model.capacity
        mean = np.maximum(use.mean(axis=0), 1e-12)
        cv, most = use.std(axis=0) / mean, use.max(axis=0) / mean
        others = bool((cv <= targets.cv)[[2, 5]].all() and (most <= targets.max_over_mean)[[2, 5]].all())
        told = (others | ~found.least_with_others) & (use.mean(axis=0) > 1e-9)
        assert (cv >= found.least_cv - 1e-9)[told].all(), (cv, found.least_cv)
        assert (most >= found.least_max - 1e-9)[told].all(), (most, found.least_max)


def test_no_placement_goes_below_what_is_called_the_least() -> None:
    on_examples(no_placement_goes_below_what_is_called_the_least, tiny(), 60, same=True)


@pytest.mark.soak
def test_no_placement_of_others_goes_below_what_is_called_the_least() -> None:
    on_examples(no_placement_goes_below_what_is_called_the_least, tiny(), 1000, same=False)

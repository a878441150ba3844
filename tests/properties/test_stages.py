"""Any changes on clusters of all kinds are carried out in stages that keep every limit, and take the time that is told.

Mixed hardware, labels, data centres with a slow line, several log dirs, followers that differ in size, tight disks. The
twin walks the stages slot by slot with dictionaries and shares no code with what it judges.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guardian.model.plan import Plan
from guardian.tickets.rules.sequences import cut
from spark_analytics.explaining.asked import Asked
from spark_analytics.explaining.plan import plan_of
from spark_analytics.model.cluster_model import ClusterModel, Ints
from spark_analytics.model.load import load_now, load_of
from spark_analytics.search.found import Found
from spark_analytics.search.goal import Targets
from spark_analytics.search.rules import Rules
from tests.properties.planning import clusters
from tests.unit.spark_analytics.explaining.placing import as_found, free_rules

THROTTLE = 20_000_000
_EDGE = 1 + 1e-6
Place = tuple[str, int]  # disk or io of a disk, or a resource of a broker


@dataclass(frozen=True)
class Case:
    model: ClusterModel
    rules: Rules
    found: Found
    plan: Plan


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Replicas anywhere, whatever it does to the cluster: some of it fits in no order."""
    model = draw(clusters())
    dice = np.random.default_rng(draw(st.integers(0, 1000)))
    load = model.slot_load.copy()
    load[:, 3] *= dice.uniform(0.5, 1.0, model.slots)  # a follower may be behind; disks are not fuller by it
    disks = len(model.disk_total_bytes)
    model = replace(
        model,
        slot_load=load,
        disk_io_capacity=dice.choice([np.inf, np.inf, 60e6], disks),
        capacity=np.where(dice.random(model.capacity.shape) < 0.1, model.capacity / 2, model.capacity),
    )
    slots, leaders = model.slot_log_dir.copy(), model.leader_slot.copy()
    part = draw(st.sampled_from([0.2, 0.5]))
    for partition in range(model.partitions):
        own = list(range(model.slot_start[partition], model.slot_start[partition + 1]))
        others = [each for each in dice.permutation(model.brokers).tolist() if each not in model.slot_broker[own]]
        for slot in own:
            if dice.random() < part:
                leaves = others and dice.random() < 0.7
                broker = others.pop() if leaves else int(model.slot_broker[slot])
                slots[slot] = dice.choice(np.flatnonzero(model.log_dir_broker == broker))
        if dice.random() < part:
            leaders[partition] = dice.choice(own)
    if draw(st.booleans()):
        model = _tight(model, slots, leaders, dice)
    rules = replace(
        free_rules(model),
        disk_spare=dice.choice([0.0, 0.0, 5e9], disks),
        disk_io_limit=0.8,
        most_replicas=np.full(model.brokers, draw(st.integers(4, 30))),
    )
    found = as_found(model, slots, leaders)
    return Case(
        model, rules, found, plan_of(model, model, rules, found, Asked(Targets.default(), throttle=THROTTLE), "x")
    )


def _tight(model: ClusterModel, slots: Ints, leaders: Ints, dice: np.random.Generator) -> ClusterModel:
    """The same with hardly more room than is needed before and after: what comes waits for what goes."""
    before, after = load_now(model), load_of(model, slots, leaders)
    disks = len(model.disk_total_bytes)
    held, will = (np.bincount(model.log_dir_disk, each.log_dir[:, 0], disks) for each in (before, after))
    total = np.maximum(np.maximum(held, will), 1e9) * dice.uniform(1.0, 1.5, disks) / 0.8
    most = np.maximum(before.broker[:, :4], after.broker[:, :4])
    return replace(
        model,
        disk_total_bytes=total,
        disk_usable_bytes=total - held,
        capacity=np.maximum(most, 1.0) * dice.uniform(1.0, 2.0, most.shape) / 0.7,
    )


class Twin:
    """What is where, slot by slot, and what each place may bear."""

    def __init__(self, case: Case) -> None:
        self.model, self.rules, self.found = case.model, case.rules, case.found
        self.where = case.model.slot_log_dir.tolist()
        self.leader = case.model.leader_slot.tolist()
        self.usable = case.model.disk_usable_bytes.tolist()

    def slots(self, partition: int) -> range:
        return range(self.model.slot_start[partition], self.model.slot_start[partition + 1])

    def limit(self, place: Place) -> float:
        what, at = place
        model, rules = self.model, self.rules
        if what == "disk":
            held = sum(self.size(slot) for slot in range(model.slots) if self.disk(self.where[slot]) == at)
            total = float(model.disk_total_bytes[at])
            free = min(rules.disk_limit * total - held, self.usable[at] - rules.disk_reserve * total)
            assert rules.disk_spare is not None
            return float(held + free - rules.disk_spare[at])
        if what == "io":
            return float(rules.disk_io_limit * model.disk_io_capacity[at])
        if what == "replicas":
            assert rules.most_replicas is not None
            return float(rules.most_replicas[at])
        return float(rules.capacity_limit[int(what)] * model.capacity[at, int(what)])

    def size(self, slot: int) -> float:
        return float(self.model.slot_load[slot, 3])

    def disk(self, log_dir: int) -> int:
        return int(self.model.log_dir_disk[log_dir])

    def used(self) -> dict[Place, float]:
        use: dict[Place, float] = defaultdict(float)
        for partition in range(self.model.partitions):
            for place, load in self.costs(partition, self.where, self.leader[partition]).items():
                use[place] += load
        return use

    def costs(self, partition: int, where: list[int], leader: int) -> dict[Place, float]:
        costs: dict[Place, float] = defaultdict(float)
        for slot in self.slots(partition):
            broker, disk = int(self.model.log_dir_broker[where[slot]]), self.disk(where[slot])
            costs["disk", disk] += self.size(slot)
            costs["io", disk] += float(self.model.slot_io[slot])
            costs["replicas", broker] += 1
            for resource in range(4):
                load = self.model.slot_load[slot, resource]
                load += self.model.leader_load[partition, resource] if slot == leader else 0.0
                costs[str(resource), broker] += float(load)
        return costs

    def more(self, partition: int) -> dict[Place, float]:
        """What the partition's change takes while it is under way."""
        before = self.costs(partition, self.where, self.leader[partition])
        after = self.costs(partition, self.found.slot_log_dir.tolist(), int(self.found.leader_slot[partition]))
        more = {place: after[place] - before.get(place, 0.0) for place in after if place[0] not in ("disk", "io")}
        for slot in self.slots(partition):
            to = int(self.found.slot_log_dir[slot])
            if to != self.where[slot]:
                for what, load in (("disk", self.size(slot)), ("io", float(self.model.slot_io[slot]))):
                    more[what, self.disk(to)] = more.get((what, self.disk(to)), 0.0) + load
        return {place: load for place, load in more.items() if load > 1e-3}

    def ends(self, partition: int) -> None:
        for slot in self.slots(partition):
            to = int(self.found.slot_log_dir[slot])
            if to != self.where[slot]:
                self.usable[self.disk(self.where[slot])] += self.size(slot)
                self.usable[self.disk(to)] -= self.size(slot)
                self.where[slot] = to
        self.leader[partition] = int(self.found.leader_slot[partition])

    def run(self, partitions: list[int]) -> None:
        """All of a stage at once, while nothing that it takes away is gone."""
        use = self.used()
        added: set[Place] = set()
        for partition in partitions:
            for place, load in self.more(partition).items():
                use[place] += load
                added.add(place)
        assert all(use[place] <= self.limit(place) * _EDGE for place in added)
        for partition in partitions:
            self.ends(partition)


def stages(case: Case, plan: Plan | None = None) -> Iterator[list[int]]:
    """The partitions of each stage, of the whole plan or of a part of it."""
    moves = (plan or case.plan).moves
    for stage in range(max((move.stage for move in moves), default=-1) + 1):
        yield [case.model.partition_index(move.partition) for move in moves if move.stage == stage]


@pytest.mark.slow
@settings(max_examples=80)
@given(cases())
def test_no_limit_is_passed_at_any_moment_and_what_is_left_out_fits_nowhere(case: Case) -> None:
    twin = Twin(case)
    for partitions in stages(case):
        twin.run(partitions)
    planned = {move.partition for move in case.plan.moves}
    use = twin.used()
    for partition in range(case.model.partitions):
        changes = twin.leader[partition] != case.found.leader_slot[partition] or any(
            twin.where[slot] != case.found.slot_log_dir[slot] for slot in twin.slots(partition)
        )
        if case.model.partition(partition) not in planned and changes:
            more = twin.more(partition)
            assert any(use[place] + load > twin.limit(place) for place, load in more.items())
            assert case.model.partition(partition) in case.plan.excused.partitions


@pytest.mark.slow
@settings(max_examples=80)
@given(cases(), st.integers(1, 8))
def test_no_limit_is_passed_where_a_plan_is_cut_into_tickets(case: Case, most: int) -> None:
    """Each runs alone, from the state that those before it leave, and the last one leaves that of the plan."""
    twin, whole = Twin(case), Twin(case)
    parts = cut(case.plan, most, lambda _: 1)
    assert [move for part in parts for move in part.moves] == list(case.plan.moves)
    for part in parts:
        for partitions in stages(case, part):
            twin.run(partitions)
    for partitions in stages(case):
        whole.run(partitions)
    assert (twin.where, twin.leader) == (whole.where, whole.leader)


@pytest.mark.slow
@settings(max_examples=80)
@given(cases())
def test_stages_are_few_and_none_is_empty_but_the_first(case: Case) -> None:
    counts = [len(partitions) for partitions in stages(case)]
    assert all(counts[1:])
    waits = sum(1 for move in case.plan.moves if move.stage > 0)
    assert len(counts) <= 1 + waits


Copy = tuple[float, list[Place]]  # bytes, and what it goes through


def copies(case: Case, partitions: list[int]) -> list[Copy]:
    model, found = [], case.found
    for partition in partitions:
        source = int(case.model.slot_broker[case.model.leader_slot[partition]])
        for slot in range(case.model.slot_start[partition], case.model.slot_start[partition + 1]):
            was, to = int(case.model.slot_broker[slot]), int(case.model.log_dir_broker[found.slot_log_dir[slot]])
            if found.slot_log_dir[slot] == case.model.slot_log_dir[slot]:
                continue
            size = float(case.model.slot_load[slot, 3])
            if was == to:
                model.append((size, [("inside", to)]))
                continue
            through: list[Place] = [("out", source), ("in", to)]
            if case.model.idc[source] != case.model.idc[to]:
                through.append(("line", int(case.model.idc[source])))
            model.append((size, through))
    return model


def rate_of(case: Case, place: Place) -> float:
    return case.model.lines[0].bits_per_s / 8 if place[0] == "line" else THROTTLE


def fair(case: Case, going: list[Copy]) -> float:
    """Seconds, when copies share what they go through fairly, as fetches do: the fullest place decides first."""
    left, seconds = [size for size, _ in going], 0.0
    while any(left):
        active = [number for number, size in enumerate(left) if size > 0]
        rate = dict.fromkeys(active, 0.0)
        spare = {place: rate_of(case, place) for number in active for place in going[number][1]}
        growing = set(active)
        while growing:
            users = {place: [each for each in growing if place in going[each][1]] for place in spare}
            step, full = min((spare[place] / len(some), place) for place, some in users.items() if some)
            for each in growing:
                rate[each] += step
                for place in going[each][1]:
                    spare[place] -= step
            growing -= set(users[full])
        until = min(left[each] / rate[each] for each in active)
        seconds += until
        left = [
            0.0 if each in rate and size - rate[each] * until < 1e-3 else size - rate.get(each, 0.0) * until
            for each, size in enumerate(left)
        ]
    return seconds


@pytest.mark.slow
@settings(max_examples=60)
@given(cases())
def test_the_seconds_are_the_least_that_copies_take_and_a_fair_share_takes_no_more_than_three_times_that(
    case: Case,
) -> None:
    """Every copy goes through three places at most and one of them is full all the time: hence three times."""
    least = shared = 0.0
    for partitions in stages(case):
        going = copies(case, partitions)
        through: dict[Place, float] = defaultdict(float)
        for size, places in going:
            for place in places:
                through[place] += size / rate_of(case, place)
        least += max(through.values(), default=0.0)
        shared += fair(case, going)
    assert case.plan.seconds == pytest.approx(least, rel=1e-6, abs=1e-6)
    assert least * (1 - 1e-6) <= shared <= 3 * least * _EDGE

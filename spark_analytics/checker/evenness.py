"""How even brokers and their log dirs are when a plan is over, and whether it says so where that is not as asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import inf, isfinite
from statistics import fmean, median

from guardian.model.plan import LOG_DIRS, Plan, ReplicaPlacement
from guardian.model.tasks import Add, Balance, Leaders, Remove, Task
from guardian.model.units import beside_mean
from spark_analytics.checker.loads import Sums, as_told
from spark_analytics.checker.places import Places, Room
from spark_analytics.checker.steps import May, helpful_step
from spark_analytics.checker.world import RESOURCES, World, shares_of

_LOADS = (*RESOURCES, "replicas", "leaders")
_BY_LEADERS = ("cpu", "nw_out", "leaders")
_WITHIN = 0.09  # of the mean, where nothing else is asked for
_NEAR = 0.01  # what the plan and the sums here may differ by
_FAR = 0.5  # from the target, where a plan of nothing needs a reason
_GOALS = {
    "cpu": ("cpu-spread", "CpuUsageDistributionGoal"),
    "nw_in": ("nw-in-spread", "NetworkInboundUsageDistributionGoal"),
    "nw_out": ("nw-out-spread", "NetworkOutboundUsageDistributionGoal"),
    "disk": ("disk-spread", "DiskUsageDistributionGoal"),
    "replicas": ("replica-spread", "ReplicaDistributionGoal"),
    "leaders": ("leader-spread", "LeaderReplicaDistributionGoal"),
}


def check_even(world: World, plan: Plan, task: Task, at: Places, totals: tuple[Sums, Sums, Sums]) -> Iterator[str]:
    """Targets that are neither reached nor told as missed; and a plan of nothing where one step would have helped."""
    evens = isinstance(task, Balance | Leaders | Add) or (isinstance(task, Remove) and task.balance)
    if not evens:
        return
    _, will, slack = totals
    told = as_told(plan, totals)
    asked = _asked(world, isinstance(task, Leaders))
    for pool in _pools(world):
        for resource, target in asked.items():
            yield from _uneven(world, plan, pool, resource, target, told)
    if not plan.moves and not isinstance(task, Add):
        yield from _could_begin(world, plan, task, at, asked, will)
    if not isinstance(task, Add | Leaders) and not world.settings.goals:
        yield from _uneven_log_dirs(world, plan, will, slack)


def _asked(world: World, leaders_only: bool) -> dict[str, float]:
    """{resource: the most above the mean}"""
    settings = world.settings
    weights = dict(settings.weights)
    asked = {}
    for resource in _BY_LEADERS if leaders_only else _LOADS:
        is_count = resource in ("replicas", "leaders")
        spread = (settings.count_spread if is_count else settings.target_spread) or _WITHIN
        names = _GOALS[resource]
        if any(weights.get(name) == 0 for name in names) or (settings.goals and not {*names} & {*settings.goals}):
            continue
        asked[resource] = spread * (2 if resource == "leaders" else 1)
    return asked


def _pools(world: World) -> list[list[int]]:
    """Brokers that some topic of the task may use together."""
    pools: list[set[int]] = []
    named = {
        partition.topic
        for partition in world.partitions.keys() - world.unseen - world.lost
        if world.scope is None or partition.topic in world.scope
    }
    for fact in {world.topics[topic] for topic in named}:
        takers = {broker for broker in world.compared if world.suits(fact, broker)}
        for pool in [pool for pool in pools if pool & takers]:
            pools.remove(pool)
            takers |= pool
        pools.append(takers)
    return [sorted(pool) for pool in pools if pool]


def _uneven(world: World, plan: Plan, pool: Sequence[int], resource: str, target: float, will: Sums) -> Iterator[str]:
    use = _use(world, pool, resource, will)
    mean = fmean(use)
    worst = max(range(len(pool)), key=use.__getitem__)
    if mean <= 1e-12 or use[worst] <= mean * (1 + target + _NEAR) or resource in plan.excused.resources:
        return
    yield (
        f"{resource} of broker {pool[worst]} is {beside_mean(use[worst] / mean - 1)}, "
        f"{target:.1%} was asked, and nothing says that it is not reached"
    )


def _could_begin(
    world: World, plan: Plan, task: Task, at: Places, asked: Mapping[str, float], will: Sums
) -> Iterator[str]:
    """A plan of nothing, where one step would have helped."""
    room = Room(world, plan, at)
    may = May(
        replicas=not isinstance(task, Leaders),
        leaders=world.settings.max_leader_moves == inf,
    )
    for pool in _pools(world):
        use, shares = _by_broker(world, pool, will)
        for resource, target in asked.items():
            nth = _LOADS.index(resource)
            most, worst = max((loads[nth], broker) for broker, loads in use.items())
            if most > 1 + target + _FAR and (step := helpful_step(world, room, at, use, shares, worst, nth, may)):
                yield f"{resource} of broker {worst} is {beside_mean(most - 1)} and nothing moves, though {step}"
                return


def _by_broker(world: World, pool: Sequence[int], will: Sums) -> tuple[dict[int, list[float]], dict[int, list[float]]]:
    """{broker: use / mean use, by resource}, {broker: what a unit of load adds to that}"""
    use: dict[int, list[float]] = {broker: [] for broker in pool}
    shares: dict[int, list[float]] = {broker: [] for broker in pool}
    for resource in _LOADS:
        of_each = _use(world, pool, resource, will)
        mean = max(fmean(of_each), 1e-12)
        for broker, one, capacity in zip(pool, of_each, _scale(world, pool, resource), strict=True):
            use[broker].append(one / mean)
            shares[broker].append(1 / capacity / mean)
    return use, shares


def _use(world: World, pool: Sequence[int], resource: str, loads: Sums) -> list[float]:
    """Relative to capacity, where it is known of some broker: one of which it is not counts as a middling one."""
    return [loads[(broker, "", resource)] / of for broker, of in zip(pool, _scale(world, pool, resource), strict=True)]


def _scale(world: World, pool: Sequence[int], resource: str) -> list[float]:
    if resource not in RESOURCES:
        return [1.0] * len(pool)
    at = RESOURCES.index(resource)
    share = shares_of(world.settings)[at]
    known = [fact.limits[at] / share for fact in world.brokers.values() if isfinite(fact.limits[at])]
    middling = median(known) if known else 1.0
    capacities = (world.brokers[broker].limits[at] / share for broker in pool)
    return [capacity if isfinite(capacity) else middling for capacity in capacities]


def _uneven_log_dirs(world: World, plan: Plan, will: Sums, slack: Sums) -> Iterator[str]:
    most = world.settings.disk_spread + _NEAR
    for broker, paths in world.paths.items():
        places = [ReplicaPlacement(broker, path) for path in paths]
        open_places = [place for place in places if place not in world.closed and world.brokers[broker].alive]
        if len(open_places) < 2 or LOG_DIRS in plan.excused.resources:
            continue
        disks = [world.disk_of[place] for place in open_places]
        for resource, capacity in (
            ("disk", [world.room[disk][0] for disk in disks]),
            ("disk_io", [world.io_room[disk] for disk in disks]),
        ):
            of = capacity if all(0 < each < inf for each in capacity) else [1.0] * len(capacity)
            keys = [(broker, place.log_dir, resource) for place in open_places]
            use = [will[key] / each for key, each in zip(keys, of, strict=True)]
            mean = sum(will[key] for key in keys) / sum(of)
            if any(slack.get(key, 0.0) > 0 for key in keys) or mean <= 1e-12 or max(use) <= mean * (1 + most):
                continue
            path = open_places[use.index(max(use))].log_dir
            yield (
                f"{resource} of log dir {path} of broker {broker} is {beside_mean(max(use) / mean - 1)} of its broker, "
                f"{world.settings.disk_spread:.1%} was asked, and nothing says that it is not reached"
            )

"""Any order of a plan, as a person may word it: for who turns it into options, a message or a body and back."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from guardian.model.tasks import (
    Add,
    Balance,
    EmptyDisk,
    ExpandTopic,
    Heal,
    Leaders,
    LogDir,
    Relieve,
    Remove,
    ReplicationFactor,
)
from guardian.planning.orders import (
    LONGEST_WINDOW_MS,
    CreateTopicOrder,
    IsolateOrder,
    MigrateIdcOrder,
    OrderedTask,
    PlanOrder,
)


def several(strategy: st.SearchStrategy[Any], least: int = 0) -> st.SearchStrategy[Any]:
    return st.lists(strategy, min_size=least, max_size=3, unique=True).map(tuple)


names = st.from_regex(r"[a-z][a-z0-9._-]{0,8}", fullmatch=True)
patterns = st.one_of(names, names.map(lambda name: f"{name}*"))
ids = st.integers(0, 2**31 - 1)
shares = st.floats(0.01, 1.0)
log_dirs = st.builds(LogDir, ids, names.map(lambda name: f"/{name}"))
counts = st.integers(1, 100_000)
factors = st.integers(1, 100)
configs = st.dictionaries(names, st.text("abc=,: ", max_size=5), max_size=3).map(lambda found: tuple(found.items()))
releases = st.builds(IsolateOrder, names, several(patterns), names, st.just(()), st.booleans(), st.integers(1, 99))

TASKS: dict[str, st.SearchStrategy[Any]] = {
    "balance": st.builds(Balance, several(patterns)),
    "leaders": st.builds(Leaders, several(patterns), several(ids)),
    "isolate-label": st.one_of(
        st.builds(
            IsolateOrder, names, several(patterns), names, several(ids), st.booleans(), st.none(), st.floats(0, 10)
        ),
        releases,
    ),
    "migrate-idc": st.one_of(
        st.builds(MigrateIdcOrder, names, several(patterns)), st.builds(MigrateIdcOrder, names, tenant=names)
    ),
    "remove-brokers": st.builds(Remove, several(ids, 1), st.booleans()),
    "add-brokers": st.builds(Add, several(ids, 1)),
    "create-topic": st.builds(CreateTopicOrder, names, counts, factors, st.integers(0, 10**15), configs),
    "expand-topic": st.builds(ExpandTopic, names, counts),
    "change-replication-factor": st.builds(ReplicationFactor, several(patterns, 1), factors),
    "empty-disk": st.builds(EmptyDisk, several(log_dirs, 1)),
    "relieve": st.builds(Relieve, shares, several(ids), several(log_dirs)),
    "heal": st.builds(Heal),
}
tasks: st.SearchStrategy[OrderedTask] = st.one_of(*TASKS.values())

_amount = st.floats(0, 1e15) | st.just(float("inf"))
_spread = st.floats(0.001, 10)
SETTINGS: dict[str, st.SearchStrategy[Any]] = {
    "target_spread": st.none() | _spread,
    "count_spread": st.none() | _spread,
    "disk_spread": _spread,
    "topic_spread": st.booleans(),
    "cpu_limit": shares,
    "network_limit": shares,
    "disk_limit": shares,
    "peak_limits": st.booleans(),
    "disk_reserve": st.floats(0, 0.9),
    "disk_io_limit": shares,
    "growth_days": st.floats(0, 100),
    "slow_disk": st.floats(1.01, 100),
    "max_replicas": st.integers(1, 2**32 - 1),
    "min_leaders": st.dictionaries(patterns, st.integers(1, 9), max_size=3).map(lambda of: tuple(sorted(of.items()))),
    "max_bytes": _amount,
    "max_seconds": _amount,
    "max_leader_moves": _amount,
    "throttle": st.floats(1, 1e12),
    "excluded_topics": several(patterns),
    "shared_labels": several(names),
    "goals": several(st.sampled_from(["disk-spread", "cpu-spread", "ReplicaDistributionGoal"])),
    "weights": st.dictionaries(st.sampled_from(["disk-spread", "cpu-spread"]), st.floats(0, 9), max_size=2).map(
        lambda of: tuple(sorted(of.items()))
    ),
}
changes = st.fixed_dictionaries({}, optional=SETTINGS)
orders = st.builds(PlanOrder, tasks, changes, several(patterns), st.integers(0, LONGEST_WINDOW_MS))

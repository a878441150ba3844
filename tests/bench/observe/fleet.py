"""[fleet_cpu_s], [fleet_rss_mb]: a simulated fleet of a thousand brokers, collected by one member, and by three.

The members are those of `guardian server` with its defaults: every broker every 60 s, client activity included. The
fleet is a process of its own (`guardian local fleet`). The first round reads all names of all brokers and whatever
activity they still keep; those that follow read numbers. The bar is on the dearer of the two. That the work divides is
judged by the members' own processes: the embedded ClickHouse belongs to one of them, and works for all.
"""

from __future__ import annotations

import json
import os
import sys
import time
import urllib.request
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds

from deploy.local import members, ports, processes
from deploy.local.members import Member
from deploy.local.processes import LocalProcess
from guardian.lake.model.schema import BROKER_SAMPLES, PARTITION_SAMPLES
from tests.bench.observe.usage import cpu_s, family_cpu_s, family_memory_mb
from tests.bench.report import BenchFailed, Figures

_INTERVAL_S = 60.0
_GROUP = 3
_REGISTERED_S = 120.0
_FIRST_ROUND_S = 240.0
_LOOK_S = 1.0
_MAX_GAP_S = 600.0
_MAX_SHARE = 0.6  # of what one member spends alone, on either kind of round: a third, and what each spends in any case

Tell = Callable[[str], None]


@dataclass(slots=True)
class _Used:
    """What a member has used up to a moment."""

    cpu_s: float
    own_s: float  # without its children
    at: float


class _Watch:
    """CPU and memory of members, looked at again and again."""

    def __init__(self, group: Sequence[Member]) -> None:
        self.pids = [member.pid for member in group if member.pid is not None]
        if len(self.pids) != len(group):
            raise BenchFailed(f"only {len(self.pids)} of {len(group)} members run")
        self.peak_mb = [0.0] * len(self.pids)

    def look(self) -> list[_Used]:
        for at, pid in enumerate(self.pids):
            self.peak_mb[at] = max(self.peak_mb[at], family_memory_mb(pid))
        return [_Used(family_cpu_s(pid), cpu_s(pid), time.monotonic()) for pid in self.pids]


def measure(
    home: Path, brokers: int, replicas: int, rounds: int, tell: Tell
) -> tuple[dict[str, Figures], dict[str, Any]]:
    """The figures, and what explains them."""
    alone = _run(home / "one", 1, brokers, replicas, rounds, tell)
    three = _run(home / "three", _GROUP, brokers, replicas, 1, tell)
    dearest = max(alone["first_round_cpu_s"][0], alone["round_cpu_s"][0])
    shares = ", ".join(
        f"{share} in {first:.1f} s, then {spent:.1f} s"
        for share, first, spent in zip(three["shares"], three["first_round_own_s"], three["round_own_s"], strict=True)
    )
    fault = _fault(alone) or _fault(three) or _undivided(alone, three)
    how = (
        f"first round {alone['first_round_cpu_s'][0]:.1f} s, then {alone['round_cpu_s'][0]:.1f} s; "
        f"of three members, without the database: {shares}; longest gap {alone['longest_gap_s']:.0f} s"
    )
    memory = f"of three members: {', '.join(f'{peak:,.0f}' for peak in three['peak_mb'])}"
    return {
        "fleet_cpu_s": Figures(dearest, None, how, fault),
        "fleet_rss_mb": Figures(alone["peak_mb"][0], None, memory, fault),
    }, {"one": alone, "three": three, "brokers": brokers, "replicas": replicas}


def _run(home: Path, count: int, brokers: int, replicas: int, rounds: int, tell: Tell) -> dict[str, Any]:
    """One group, one fleet, the first round and so many after it."""
    with ExitStack() as stack:
        tell(
            f"starting {count} of Guardian's members and {brokers:,} simulated brokers with {replicas:,} replicas each"
        )
        group = start_members(stack, home, count)
        watch = _Watch(group)
        begin = watch.look()
        fleet = start_fleet(stack, home, brokers, replicas, [member.grpc for member in group])
        _poll(_FIRST_ROUND_S, watch, fleet, lambda: collected(group) >= brokers, "the first round")
        first = watch.look()
        tell(f"    all were read for the first time, in {_spent(begin, first)} s of CPU")
        until = time.monotonic() + rounds * _INTERVAL_S
        _poll(rounds * _INTERVAL_S + 30, watch, fleet, lambda: time.monotonic() >= until, "the rounds")
        last = watch.look()
        each = [_a_round(two.cpu_s - one.cpu_s, two.at - one.at) for one, two in zip(first, last, strict=True)]
        shares = [_share(member) for member in group]
        tell(f"    {shares} brokers, {', '.join(f'{spent:.1f}' for spent in each)} s of CPU a round")
        processes.stop_all([member.process for member in group if member.process])  # what they hold goes to the lake
        found = {
            "first_round_cpu_s": [after.cpu_s - before.cpu_s for before, after in zip(begin, first, strict=True)],
            "first_round_own_s": [after.own_s - before.own_s for before, after in zip(begin, first, strict=True)],
            "round_cpu_s": each,
            "round_own_s": [
                _a_round(two.own_s - one.own_s, two.at - one.at) for one, two in zip(first, last, strict=True)
            ],
            "peak_mb": watch.peak_mb,
            "shares": shares,
            **_lake(home / "lake", brokers),
        }
        tell(
            f"    lake: {found['rows']:,} rows of replicas, {found['collections']:,} collections, {found['errors']} "
            f"failed, longest gap {found['longest_gap_s']:.0f} s; memory up to {max(watch.peak_mb):,.0f} MB"
        )
        return found


def _a_round(cpu_s: float, seconds: float) -> float:
    return cpu_s / seconds * _INTERVAL_S


def start_members(stack: ExitStack, home: Path, count: int) -> list[Member]:
    group = members.plan_members(count, home)
    started: list[Member] = []
    stack.callback(lambda: processes.stop_all([one.process for one in started if one.process], deadline_s=20.0))
    for member in group:
        member.data.mkdir(parents=True)
        text = members.render_config(member, group, home / "lake")
        member.config.write_text(text.replace(_laptop(), ""))
        command = [sys.executable, "-m", "guardian.cli.main", "server", "--config", str(member.config)]
        process = processes.spawn(command, home / f"{member.name}.log", cwd=member.data.parent)
        started.append(Member(member.name, member.data, member.grpc, member.http, member.raft, process))
    members.wait_ready(started)
    return started


def _laptop() -> str:
    """The section of the configuration that makes a laptop's members collect every two seconds."""
    return (
        "\n".join(["", "[collect]", *(f"{key} = {json.dumps(value)}" for key, value in members.COLLECT.items())]) + "\n"
    )


def start_fleet(
    stack: ExitStack, home: Path, brokers: int, replicas: int, endpoints: Sequence[str], clusters: int = 0
) -> LocalProcess:
    """`clusters`: in so many; 0: as many as the fleet makes of itself."""
    port = ports.pick_pair()
    command = [sys.executable, "-m", "guardian.cli.main", "local", "fleet", "--brokers", str(brokers)]
    command += ["--partitions", str(replicas), "--base-port", str(port), "--endpoints", ",".join(endpoints)]
    command += ["--clusters", str(clusters)] if clusters else []
    fleet = processes.spawn(command, home / "fleet.log", env={**os.environ, "PYTHONUNBUFFERED": "1"})
    stack.callback(lambda: processes.stop_all([fleet]))
    return fleet


def _poll(deadline_s: float, watch: _Watch, fleet: LocalProcess, done: Callable[[], bool], what: str) -> None:
    """Looks again and again. Raises BenchFailed when the deadline passes, or the fleet ends."""
    deadline = time.monotonic() + deadline_s
    while not done():
        watch.look()
        if not processes.is_alive(fleet):
            raise BenchFailed(f"the fleet has ended; it says last:\n{processes.last_lines(fleet)}")
        if time.monotonic() > deadline:
            raise BenchFailed(
                f"{what} is not over after {deadline_s:.0f} s; the fleet says:\n{processes.last_lines(fleet)}"
            )
        time.sleep(_LOOK_S)


def collected(group: Sequence[Member]) -> int:
    """Collections that succeeded, of all members: in the first round each broker is read once."""
    return sum(int(_metric(member, 'guardian_collections_total{result="succeeded"}')) for member in group)


def _share(member: Member) -> int:
    return int(_metric(member, "guardian_collected_brokers"))


def _metric(member: Member, name: str) -> float:
    with urllib.request.urlopen(f"http://{member.http}/metrics", timeout=30) as answer:
        lines = answer.read().decode().splitlines()
    return next((float(line.rpartition(" ")[2]) for line in lines if line.startswith(f"{name} ")), 0.0)


def _spent(before: Sequence[_Used], after: Sequence[_Used]) -> str:
    return ", ".join(f"{two.cpu_s - one.cpu_s:.1f}" for one, two in zip(before, after, strict=True))


def _lake(lake: Path, brokers: int) -> dict[str, Any]:
    """What arrived: rows, collections, failures, brokers that are missing, and the longest time without a row."""
    samples = ds.dataset(lake / BROKER_SAMPLES, format="parquet", partitioning="hive")
    rows = samples.to_table(columns=["cluster", "broker", "at_ms", "error"]).to_pylist()
    times: dict[tuple[str, int], list[int]] = {}
    for row in rows:
        if not row["error"]:
            times.setdefault((row["cluster"], row["broker"]), []).append(row["at_ms"])
    gaps = [two - one for found in times.values() for one, two in pairwise(sorted(found))]
    return {
        "rows": ds.dataset(lake / PARTITION_SAMPLES, format="parquet").count_rows(),
        "collections": len(rows),
        "errors": sum(bool(row["error"]) for row in rows),
        "missing": brokers - len(times),
        "longest_gap_s": max(gaps, default=0) / 1000,
    }


def _undivided(alone: dict[str, Any], three: dict[str, Any]) -> str:
    if max(three["shares"]) - min(three["shares"]) > 1:
        return f"three members have {three['shares']} brokers: that is not a third each"
    for kind in ("first_round_own_s", "round_own_s"):
        if max(three[kind]) > _MAX_SHARE * alone[kind][0]:
            spent = ", ".join(f"{each:.1f}" for each in three[kind])
            return f"{kind} of three members is {spent} s, and {alone[kind][0]:.1f} s of one: the work does not divide"
    return ""


def _fault(found: dict[str, Any]) -> str:
    if found["missing"]:
        return f"{found['missing']} brokers have no row in the lake"
    if found["errors"]:
        return f"{found['errors']} of {found['collections']} collections failed"
    if found["longest_gap_s"] > _MAX_GAP_S:
        return f"a broker was not read for {found['longest_gap_s']:.0f} s"
    return ""

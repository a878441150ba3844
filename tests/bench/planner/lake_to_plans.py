"""From a lake of a day to checked plans for all its clusters, in one Spark run on this machine; and where time goes.

    python -m tests.bench.planner.lake_to_plans [--lake LAKE] [--clusters 20 --brokers 1000 ...]

LAKE is one that tests.bench.planner.lake has made with the same figures; without it one is made, and its time is told
apart. First all clusters are planned, by a session that has done nothing before; then the largest one alone, twice: the
second time is warm. Stages overlap, so their shares are of the time that tasks ran, not of the wall.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import pyarrow as pa

from guardian.errors import GuardianError
from guardian.lake.model.window import Window
from guardian.model.planner_settings import PlannerSettings
from guardian.model.tasks import Balance
from guardian.model.wire.plans import plan_to_bytes
from spark_analytics.checker import check
from spark_analytics.jobs import clusters
from spark_analytics.jobs.session import local_session
from spark_analytics.lake import reader
from spark_analytics.lake.window import model_of
from spark_analytics.planners.planning import explained, solve
from tests.bench.planner.lake import START_MS, LakeSpec, make_lake
from tests.bench.report import BenchFailed, Figures

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MASTER = "local[2]"
_PARTS = ("model", "plan", "explain", "check", "wire")
_MB = 1_000_000

Seconds = dict[str, float]
Tell = Callable[[str], None]


def measured(tell: Tell, size: LakeSpec | None = None, lake: Path | None = None) -> tuple[dict[str, Figures], Any]:
    """`lake_to_plans_s` and `large_cluster_s` (the largest cluster alone, warm), and what they consist of.

    Raises BenchFailed when a cluster has no plan.
    """
    spec = size or LakeSpec()
    with tempfile.TemporaryDirectory(prefix="lake-to-plans-") as folder:
        made = {} if lake else _made(tell, Path(folder), spec)
        spark = local_session("lake to plans", MASTER, is_large=True)
        try:
            names = list(spec.sizes())
            whole = _told(tell, _round(spark, lake or Path(folder), spec, names))
            alone = [_told(tell, _round(spark, lake or Path(folder), spec, names[:1])) for _ in range(2)]
        finally:
            spark.stop()
    note = f"{spec.clusters} clusters, {spec.brokers} brokers, {spec.brokers * spec.replicas} replicas"
    figures = {
        "lake_to_plans_s": Figures(whole["wall_s"], None, f"{note}, {spec.hours} h; {_shares(whole['tasks'])}"),
        "large_cluster_s": Figures(alone[1]["wall_s"], None, f"{spec.sizes()[names[0]]} brokers, warm"),
    }
    return figures, {"lake": made, "whole": whole, "alone": alone}


def _made(tell: Tell, lake: Path, spec: LakeSpec) -> dict[str, float]:
    begun = time.monotonic()
    samples, written = make_lake(lake, spec)
    took = time.monotonic() - begun
    tell(f"a lake of {samples:,} samples of replicas, {written / _MB:,.0f} MB, was made in {took:.0f} s")
    return {"samples": samples, "mb": written / _MB, "made_in_s": took}


def _round(spark: SparkSession, lake: Path, spec: LakeSpec, names: Sequence[str]) -> dict[str, Any]:
    """As jobs.plans does it, with a watch: what its parts took comes back with each plan."""
    last = _stages(spark, -1)[1]
    begun, begun_cpu = time.monotonic(), _cpu_s()
    window = Window(START_MS, spec.until_ms)

    def ask(group: pa.Table) -> pa.Table:
        cluster = group["cluster"][0].as_py()
        return clusters.answered(cluster, lambda: _planned(cluster, group, window))

    with _peak_mb() as peak:
        rows = reader.model_rows(spark, str(lake), names, window)
        found = {
            name: clusters.of_row(row)
            for name, row in clusters.gathered(clusters.in_groups(rows, len(names), ask)).items()
        }
    took = {"wall_s": time.monotonic() - begun, "cpu_s": _cpu_s() - begun_cpu, "peak_mb": peak[0]}
    return took | {"tasks": _tasks(_stages(spark, last)[0], _plans(found, names)), "clusters": len(names)}


def _planned(cluster: str, group: pa.Table, window: Window) -> tuple[int, Seconds]:
    """Runs in a Spark worker: how many moves, and what each part took."""
    settings, task = PlannerSettings(), Balance()
    marks = [time.perf_counter()]

    def past() -> None:
        marks.append(time.perf_counter())

    model = model_of(cluster, group, window)
    past()
    solution = solve(model, task, settings)
    past()
    plan = explained(model, task, settings, solution)
    past()
    violations = check(model, plan, settings, task)
    past()
    if violations:
        raise GuardianError(f"the plan for cluster {cluster} breaks a rule: {violations[0]}")
    plan_to_bytes(plan)
    past()
    took = (after - before for before, after in pairwise(marks))
    return len(plan.moves), dict(zip(_PARTS, took, strict=True))


def _plans(found: Mapping[str, Any], names: Sequence[str]) -> Seconds:
    """By part, over all clusters."""
    total: Seconds = defaultdict(float)
    for name in names:
        if isinstance(found.get(name), GuardianError | None):
            raise BenchFailed(f"cluster {name} has no plan: {found.get(name)}")
        for part, seconds in found[name][1].items():
            total[part] += seconds
    return total


def _stages(spark: SparkSession, after: int) -> tuple[Seconds, int]:
    """Seconds that tasks ran, by what they did, in stages with an id above `after`; and the last id."""
    context: Any = spark.sparkContext
    gateway = context._gateway
    quantiles = gateway.new_array(gateway.jvm.double, 0)
    found = context._jsc.sc().statusStore().stageList(None, False, False, quantiles, None)
    seconds: Seconds = defaultdict(float)
    last = after
    for index in range(found.size()):
        stage = found.apply(index)
        last = max(last, stage.stageId())
        if stage.stageId() > after:
            seconds[_does(stage)] += stage.executorRunTime() / 1000
    return seconds, last


def _does(stage: Any) -> str:
    if stage.inputBytes() > 0:
        return "read"
    return "windows" if stage.shuffleWriteBytes() > 0 else "plans"


def _tasks(stages: Seconds, parts: Seconds) -> Seconds:
    """What the last stage does beside planning is to collect a cluster's rows and hand them over by Arrow."""
    arrow = max(0.0, stages.get("plans", 0.0) - sum(parts.values()))
    return {"read": stages.get("read", 0.0), "windows": stages.get("windows", 0.0), "collect, Arrow": arrow, **parts}


def _shares(tasks: Seconds) -> str:
    total = sum(tasks.values()) or 1.0
    return ", ".join(f"{what} {seconds / total:.0%}" for what, seconds in tasks.items())


def _told(tell: Tell, one: dict[str, Any]) -> dict[str, Any]:
    tasks = ", ".join(f"{what} {seconds:.1f} s" for what, seconds in one["tasks"].items())
    tell(
        f"{one['clusters']} clusters: {one['wall_s']:.1f} s, CPU {one['cpu_s']:.0f} s, {one['peak_mb']:,.0f} MB; "
        f"tasks: {tasks} ({_shares(one['tasks'])})"
    )
    return one


def _processes() -> Iterator[psutil.Process]:
    """This one and all below it: the JVM and its Python workers stay from round to round."""
    here = psutil.Process()
    yield here
    yield from here.children(recursive=True)


def _cpu_s() -> float:
    total = 0.0
    for process in _processes():
        with contextlib.suppress(psutil.Error):
            times = process.cpu_times()
            total += times.user + times.system
    return total


@contextlib.contextmanager
def _peak_mb(every_s: float = 1.0) -> Iterator[list[float]]:
    """The most memory of all processes together, as looked at now and then; pages that they share count for each."""
    peak, over = [0.0], threading.Event()

    def look() -> None:
        while not over.wait(every_s):
            held = 0
            for process in _processes():
                with contextlib.suppress(psutil.Error):
                    held += process.memory_info().rss
            peak[0] = max(peak[0], held / _MB)

    looking = threading.Thread(target=look, daemon=True)
    looking.start()
    try:
        yield peak
    finally:
        over.set()
        looking.join()


def main() -> int:
    """0 when every cluster has a plan."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.planner.lake_to_plans")
    parser.add_argument("--lake", type=Path, help="one that is there; by default it is made")
    for name in ("brokers", "clusters", "hours"):
        parser.add_argument(f"--{name}", type=int, default=getattr(LakeSpec(), name))
    options = parser.parse_args()
    spec = LakeSpec(brokers=options.brokers, clusters=options.clusters, hours=options.hours)

    def tell(line: str) -> None:
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()

    try:
        figures, _ = measured(tell, spec, options.lake)
    except BenchFailed as failure:
        tell(str(failure))
        return 1
    for name, figure in figures.items():
        tell(f"{name}: {figure}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

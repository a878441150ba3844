"""How time and memory grow: each size in a process of its own, its second plan measured, and how fast the first comes.

python -m tests.bench.planner.scale BROKERS REPLICAS DISKS   prints {"cpu_s", "first_cpu_s", "rss_gb"}
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tests.bench.planner.fresh import Shape, model_of
from tests.bench.report import BenchFailed

_ROOT = Path(__file__).parents[3]
_COLD = """
from spark_analytics.model.cluster_model import ClusterModel
from tests.bench.planner.fresh import Shape, model_of
from tests.bench.planner.shared import planned
from spark_analytics.search.goal import Targets
planned(model_of(Shape(1, 12, 1200, 3, 2)), Targets.default())
"""


def measured(brokers: int, replicas: int, disks: int) -> dict[str, float]:
    found: dict[str, float] = json.loads(
        _python("-m", "tests.bench.planner.scale", str(brokers), str(replicas), str(disks)).splitlines()[-1]
    )
    return found


def exponent(points: Sequence[tuple[int, float]]) -> float:
    """The power of the size that fits these (size, seconds) best."""
    sizes, seconds = np.log(np.array(points, dtype=np.float64)).T
    return float(np.polyfit(sizes, seconds, 1)[0])


def cold_start_s() -> float:
    """From the start of a process to its first plan of a small cluster, when kernels were compiled before."""
    _python("-c", _COLD)
    began = time.monotonic()
    _python("-c", _COLD)
    return time.monotonic() - began


def _python(*arguments: str) -> str:
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False, cwd=_ROOT)
    if done.returncode:
        raise BenchFailed(f"python {' '.join(arguments[:2])} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    return done.stdout


def _measure(brokers: int, replicas: int, disks: int) -> dict[str, float]:
    from spark_analytics.search.goal import Targets
    from tests.bench.planner.shared import planned

    planned(model_of(Shape(1, 12, 1_200, 3, 2, disks=disks)), Targets.default())
    topics = replicas // 50
    model = model_of(Shape(7, brokers, replicas, 20 if brokers > 100 else 10, 3, topics=topics, disks=disks))
    _, cpu_s = planned(model, Targets.default())
    return {"cpu_s": cpu_s, "rss_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6}


if __name__ == "__main__":
    print(json.dumps(_measure(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))))  # noqa: T201

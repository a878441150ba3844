"""[cli_ms], [cli_lake_ms], [help_ms]: commands that list and show, over a thousand simulated brokers, as people run
them: each a process of its own, from its start until it has ended.

[plan_ms]: a plan that is asked for by the console's form, over 300 brokers and 60,000 replicas, from the click until
the plan is on the page. The first one counts as well: nobody has asked that member before.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Any

from deploy.local import processes
from deploy.local.processes import LocalProcess
from guardian.cli.exits import UNKNOWN
from guardian.client import GuardianClient
from tests.bench.observe.fleet import collected, start_fleet, start_members
from tests.bench.report import BenchFailed, Figures

PLAN_BROKERS, PLAN_REPLICAS = 300, 200
_COLLECTED_S = 600.0
_PLANNED_S = 600.0
_LOOK_S = 0.2
_SILENT_S = 1.0  # from when on a command that reads the lake says what it does
_PLANS = 3

# {cluster}, {broker} and {topic} are those of the first cluster.
QUICK: tuple[str, ...] = (
    "status",
    "findings",
    "events",
    "cluster list",
    "broker list",
    "broker list --cluster {cluster}",
    "topic list --cluster {cluster}",
    "topic show {topic} --cluster {cluster}",
    "quota list {cluster}",
    "ticket list",
    "tenant list",
    "machine list",
    "exclusion list",
    "idc-policy list",
    "healing status",
    "collection",
    "audit changes",
    "roles",
    "whoami",
)
OF_THE_LAKE: tuple[str, ...] = (
    "cluster show {cluster} --at 2m",
    "broker show {cluster} {broker} --at 2m",
    "disk show --cluster {cluster}",
    "group disk-reads --cluster {cluster}",
    "audit idle-topics --cluster {cluster}",
    "audit costs --cluster {cluster}",
    "links",
)

Tell = Callable[[str], None]


def measured(
    home: Path, brokers: int, replicas: int, rounds: int, tell: Tell
) -> tuple[dict[str, Figures], dict[str, Any]]:
    """Return the slowest command of each kind, and the time of all. Raises BenchFailed."""
    with ExitStack() as stack:
        tell(f"starting a member and {brokers:,} simulated brokers with {replicas:,} replicas each")
        group = start_members(stack, home, 1)
        fleet = start_fleet(stack, home, brokers, replicas, [group[0].grpc])
        wait_for_all(fleet, lambda: collected(group) >= brokers)
        names = _names(group[0].grpc)
        environment = {**os.environ, "GUARDIAN_ENDPOINTS": group[0].grpc}
        quick = {each: _took(each.format(**names), environment, rounds) for each in QUICK}
        lake = {each: _took(each.format(**names), environment, rounds) for each in OF_THE_LAKE}
        told = {"--help": _took("--help", environment, max(rounds, 5))}
    silent = [each for each, run in lake.items() if run.is_silent]
    fault = f"says nothing for over {_SILENT_S:g} s: {silent[0]}" if silent else ""
    return {
        "cli_ms": _slowest(quick),
        "cli_lake_ms": _slowest(lake, fault),
        "help_ms": _slowest(told),
    }, {each: round(run.ms) for each, run in (quick | lake | told).items()}


def plans_measured(home: Path, tell: Tell) -> tuple[dict[str, Figures], dict[str, Any]]:
    """Return how long the form's answer takes. Raises BenchFailed."""
    with ExitStack() as stack:
        tell(f"starting a member and {PLAN_BROKERS:,} simulated brokers with {PLAN_REPLICAS:,} replicas each")
        group = start_members(stack, home, 1)
        fleet = start_fleet(stack, home, PLAN_BROKERS, PLAN_REPLICAS, [group[0].grpc], clusters=1)
        wait_for_all(fleet, lambda: collected(group) >= PLAN_BROKERS)
        cluster = _names(group[0].grpc)["cluster"]
        took = []
        progressed = True
        for number in range(_PLANS):
            ms, told = _planned(f"http://{group[0].http}", cluster)
            tell(f"plan {number + 1}: {ms:,.0f} ms")
            took.append(ms)
            progressed = progressed and told
    fault = "" if progressed else "no progress was shown"
    how = f"{_PLANS} plans, one after the other: {', '.join(f'{ms:,.0f}' for ms in took)} ms"
    return {"plan_ms": Figures(max(took), None, how, fault)}, {"took_ms": took}


class _Run:
    """How long a command took, and whether it left who waits without a word."""

    def __init__(self, ms: float, first_word_ms: float) -> None:
        self.ms = ms
        self.is_silent = min(ms, first_word_ms) > _SILENT_S * 1000 * 1.5


def _took(words: str, environment: Mapping[str, str], rounds: int) -> _Run:
    """Return the median of some runs. Raises BenchFailed where it fails."""
    runs = [_run(words.split(), environment) for _ in range(rounds)]
    return _Run(median(ms for ms, _ in runs), max(first for _, first in runs))


def _run(words: Sequence[str], environment: Mapping[str, str]) -> tuple[float, float]:
    command = [str(Path(sys.executable).with_name("guardian")), *words]
    began = time.perf_counter()
    with subprocess.Popen(command, env=dict(environment), stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as running:
        assert running.stdout is not None
        said = running.stdout.read(1)
        first_ms = (time.perf_counter() - began) * 1000
        said += running.stdout.read()
    if running.returncode not in (0, UNKNOWN):
        raise BenchFailed(f"guardian {' '.join(words)} ends with {running.returncode}: {said.decode()[-300:]}")
    return (time.perf_counter() - began) * 1000, first_ms


def _slowest(runs: Mapping[str, _Run], fault: str = "") -> Figures:
    slowest = max(runs, key=lambda each: runs[each].ms)
    return Figures(runs[slowest].ms, None, f"guardian {slowest}; {len(runs)} commands", fault)


def _planned(url: str, cluster: str) -> tuple[float, bool]:
    """Return the ms until the plan is on the page, and whether its progress was told before."""
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    form_at = f"{url}/console/clusters/{cluster}/ask/balance"
    with browser.open(form_at) as answer:
        token = re.search(r'name="csrf" value="([^"]+)"', answer.read().decode())
    if token is None:
        raise BenchFailed(f"{form_at}: has no form")
    began = time.perf_counter()
    form = urllib.parse.urlencode({"throttle": "50MB", "csrf": token[1], "sent": "1"}).encode()
    told = False
    with browser.open(form_at, form) as answer:
        where, page = answer.url, answer.read().decode()
    while 'aria-busy="true"' in page:
        told = True
        if time.perf_counter() - began > _PLANNED_S:
            raise BenchFailed(f"{where}: no plan within {_PLANNED_S:g} s")
        time.sleep(_LOOK_S)
        with browser.open(where) as answer:
            page = answer.read().decode()
    if "Moves, and why" not in page:
        raise BenchFailed(f"{where}: shows no plan; it shows {page[-500:]}")
    return (time.perf_counter() - began) * 1000, told


def _names(endpoint: str) -> dict[str, str]:
    with GuardianClient([endpoint]) as client:
        cluster = min(client.list_clusters(), key=lambda each: each.name)
        topic = client.described_topics(cluster.name).topics[0].topic
    return {"cluster": cluster.name, "broker": str(cluster.brokers[0].id), "topic": topic}


def wait_for_all(fleet: LocalProcess, done: Callable[[], bool]) -> None:
    """Wait until all brokers were collected once. Raises BenchFailed."""
    deadline = time.monotonic() + _COLLECTED_S
    while not done():
        if not processes.is_alive(fleet):
            raise BenchFailed(f"the fleet has ended; it says last:\n{processes.last_lines(fleet)}")
        if time.monotonic() > deadline:
            raise BenchFailed(f"not all brokers were collected within {_COLLECTED_S:g} s")
        time.sleep(1.0)

"""[live_cores]: what a page that watches a running ticket costs the member, in cores.

The stand (stand.py) runs a ticket of a thousand partitions. Its CPU is read over a while without a page, then with
some pages of the ticket open in Chromium, then without again: the difference, divided by the pages, is what one costs.
What Chromium itself takes for each page is told beside it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from statistics import mean
from typing import Any

import psutil

from tests.bench.observe.usage import cpu_s, family_cpu_s
from tests.bench.report import BenchFailed, Figures
from tests.integration.browser import chromium_browser, settled, window

_PARTITIONS = 1000
_PAGES = 5
_SETTLE_S = 5.0

Tell = Callable[[str], None]


def measured(seconds: float, tell: Tell) -> tuple[dict[str, Figures], dict[str, Any]]:
    """Raises BenchFailed when the stand does not start."""
    command = [sys.executable, "-m", "tests.bench.console.stand", "--partitions", str(_PARTITIONS), "--seconds", "3600"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            raise BenchFailed("the stand has ended before it served")
        stand = json.loads(line)
        where = f"{stand['http']}/console/tickets/{stand['ticket']}"
        with chromium_browser() as browser, window(browser) as context:
            time.sleep(_SETTLE_S)
            alone = [_share(process.pid, seconds)]
            pages = [context.new_page() for _ in range(_PAGES)]
            for page in pages:
                page.goto(where)
                settled(page)
            time.sleep(_SETTLE_S)
            before, began = _chromium_s(), time.monotonic()
            watched = _share(process.pid, seconds)
            browsing = (_chromium_s() - before) / (time.monotonic() - began) / _PAGES
            shown = pages[0].locator('[data-figure="copied"]').inner_text()
            for page in pages:
                page.close()
            time.sleep(_SETTLE_S * 2)
            alone.append(_share(process.pid, seconds))
            is_live = shown != "" and not shown.startswith("0 B")
    finally:
        process.terminate()
        process.wait(60)
    cores = max(0.0, watched - mean(alone)) / _PAGES
    tell(f"{cores:.3f} cores a page; without pages {alone[0]:.2f} and {alone[1]:.2f}, with {_PAGES} {watched:.2f}")
    how = f"{_PAGES} pages, {seconds:g} s; Chromium takes {browsing:.3f} cores for each"
    fault = "" if is_live else "the pages did not follow the ticket"
    return {"live_cores": Figures(cores, None, how, fault)}, {
        "alone": alone,
        "watched": watched,
        "pages": _PAGES,
        "chromium_cores_a_page": browsing,
    }


def _share(pid: int, seconds: float) -> float:
    before, began = cpu_s(pid), time.monotonic()
    time.sleep(seconds)
    return (cpu_s(pid) - before) / (time.monotonic() - began)


def _chromium_s() -> float:
    """Of the browser that this process has started."""
    own = psutil.Process()
    return sum(family_cpu_s(child.pid) for child in own.children() if "stand" not in " ".join(child.cmdline()))

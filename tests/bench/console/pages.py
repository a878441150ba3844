"""[page_ms], [interactive_ms]: every page over a thousand simulated brokers, on the server and in Chromium.

One member with its defaults (every broker once a minute) and a simulated fleet, all of which was collected once, with
tickets of several states. The pages are those that links lead to (crawling.py). Each is asked for again and again, one
at a time, while the member goes on collecting.
"""

from __future__ import annotations

import math
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Any

from guardian.client import GuardianClient
from guardian.errors import GuardianError
from guardian.model.operation import Ask, AskKind
from tests.bench.console.commands import wait_for_all
from tests.bench.console.crawling import crawl, kind_of
from tests.bench.observe.fleet import collected, start_fleet, start_members
from tests.bench.report import BenchFailed, Figures
from tests.integration.browser import chromium_browser, window

_TICKETS = 40
_SHARE = 0.95
_TIMEOUT_S = 60.0
# From when it answers to people: its scripts have run, its drawings are drawn, and it has nothing left to do.
_INTERACTIVE = """() => new Promise((done) => {
  const ready = () => requestIdleCallback(() => done(performance.now()), { timeout: 20000 });
  if (document.readyState === 'complete') ready(); else addEventListener('load', ready);
})"""

Tell = Callable[[str], None]


def measured(
    home: Path, brokers: int, replicas: int, rounds: int, tell: Tell
) -> tuple[dict[str, Figures], dict[str, Any]]:
    """Both figures, and every page's. Raises BenchFailed."""
    with ExitStack() as stack:
        tell(f"starting a member and {brokers:,} simulated brokers with {replicas:,} replicas each")
        group = start_members(stack, home, 1)
        fleet = start_fleet(stack, home, brokers, replicas, [group[0].grpc])
        wait_for_all(fleet, lambda: collected(group) >= brokers)
        tell("all were collected once")
        with GuardianClient([group[0].grpc]) as client:
            made = _make_tickets(client)
        url = f"http://{group[0].http}"
        found = crawl(lambda path: _get(url + path)[1])
        tell(f"{len(found)} pages of {len({kind_of(path) for path in found})} kinds, {made} tickets")
        served = {path: _served_ms(url + path, rounds) for path in found}
        slowest = max(served, key=lambda path: served[path][0])
        tell(f"on the server: {slowest} takes {served[slowest][0]:.0f} ms")
        whole = [path for path in found if "<html" in _get(url + path)[1]]
        drawn = _drawn_ms(url, whole, max(3, rounds // 4))
        longest = max(drawn, key=lambda path: drawn[path])
        tell(f"in Chromium: {longest} takes {drawn[longest]:.0f} ms")
    return {
        "page_ms": Figures(served[slowest][0], None, f"{slowest}; {len(found)} pages, {rounds} times each"),
        "interactive_ms": Figures(drawn[longest], None, f"{longest}; {len(whole)} pages"),
    }, {
        "pages": {
            path: {
                "p95_ms": round(share, 1),
                "first_ms": round(first, 1),
                "bytes": size,
                "interactive_ms": round(drawn.get(path, 0), 1),
            }
            for path, (share, first, size) in served.items()
        }
    }


def _served_ms(url: str, rounds: int) -> tuple[float, float, int]:
    """95 % of the answers are there within so many ms; the first one; and its size."""
    took: list[float] = []
    size = 0
    for _ in range(rounds + 1):
        began = time.perf_counter()
        status, text = _get(url)
        took.append((time.perf_counter() - began) * 1000)
        size = len(text)
        if status >= 500:
            raise BenchFailed(f"{url} answers {status}: {text[-300:]}")
    ordered = sorted(took[1:])
    return ordered[min(len(ordered) - 1, math.ceil(len(ordered) * _SHARE) - 1)], took[0], size


def _get(url: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(url, timeout=_TIMEOUT_S) as answer:  # noqa: S310  the member's own
            return answer.status, answer.read().decode(errors="replace")
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode(errors="replace")


def _drawn_ms(url: str, paths: Sequence[str], rounds: int) -> dict[str, float]:
    """Median ms until each page answers to people, in a window that has seen the console's files before."""
    found: dict[str, float] = {}
    with chromium_browser() as browser, window(browser) as context:
        page = context.new_page()
        page.goto(url + paths[0])
        for path in paths:
            took = []
            for _ in range(rounds):
                page.goto(url + path, wait_until="commit")
                took.append(float(page.evaluate(_INTERACTIVE)))
            found[path] = median(took)
    return found


def _make_tickets(client: GuardianClient) -> int:
    """Tickets that ask for brokers, in several states: a simulated cluster carries none out. How many could be made."""
    made = 0
    for cluster in client.list_clusters():
        for broker in cluster.brokers[: max(1, _TICKETS // 10)]:
            try:
                ticket, _ = client.ask_for(
                    cluster.name,
                    Ask(AskKind.REMOVE, (broker.id,)),
                    author="ann",
                    submit=made % 2 == 0,
                    reason="it is old",
                )
                if made % 4 == 0:
                    client.reject(ticket.id, "bob", "not now")
                made += 1
            except GuardianError:
                return made  # the simulated listener does not answer that: the list is empty then, and says so
    return made

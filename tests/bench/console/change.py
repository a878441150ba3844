"""[change_ms]: from the death of a broker to the board that somebody has open.

A member with its defaults watches one simulated cluster, reporters and all. The board is open in Chromium, untouched:
it must say by itself that a broker less serves, and from then on the cluster must not be called healthy until the
broker is back, whatever happens in between.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from playwright.sync_api import Page
from playwright.sync_api import TimeoutError as NotInTime

from deploy.local import answering, ports
from deploy.local.fleet.listening import SimulatedKafka
from deploy.local.fleet.model import BrokerModel
from deploy.local.fleet.run import clusters_of
from deploy.local.fleet.shape import FleetSpec, fleet
from guardian.client import GuardianClient
from tests.bench.observe.fleet import start_members
from tests.bench.report import BenchFailed, Figures
from tests.integration.browser import chromium_browser, window
from tests.simulated import served

_BROKERS = 6
_REPLICAS = 20
_DEADLINE_S = 180.0
_WATCHED_S = 60.0  # after it was seen: findings come, and their grace ends
_LOOK_S = 0.25
_UP = """(wanted) => document.querySelector('#clusters td[data-name="Brokers up"]')?.innerText.includes(wanted)"""
_HEALTH = "#clusters tbody .status"

Tell = Callable[[str], None]


def measured(home: Path, rounds: int, tell: Tell) -> tuple[dict[str, Figures], dict[str, Any]]:
    """Return the longest of some rounds. Raises BenchFailed where the board never tells."""
    shape = fleet(FleetSpec(_BROKERS, _REPLICAS, 1, base_port=ports.pick_pair()))[0]
    kafka = SimulatedKafka(shape)
    took: list[float] = []
    lies: list[str] = []
    with ExitStack() as stack:
        stack.enter_context(served(kafka, [BrokerModel(shape, position) for position in range(_BROKERS)]))
        member = start_members(stack, home, 1)[0]
        with GuardianClient([member.grpc]) as client:
            answering.register(client, clusters_of([shape])[0])
        page = stack.enter_context(window(stack.enter_context(chromium_browser()))).new_page()
        page.goto(f"http://{member.http}/console/")
        for number in range(rounds):
            _until(page, f"{_BROKERS} of {_BROKERS}")
            began = time.monotonic()
            kafka.truth.kill_broker(_BROKERS)
            _until(page, f"{_BROKERS - 1} of {_BROKERS}")
            took.append((time.monotonic() - began) * 1000)
            tell(f"round {number + 1}: {took[-1]:,.0f} ms until the board tells")
            lies += _healthy_words(page)
            kafka.truth.start_broker(_BROKERS)
    fault = f"called healthy while a broker was dead: {lies[0]}" if lies else ""
    how = f"{rounds} deaths, watched for {_WATCHED_S:g} s each"
    return {"change_ms": Figures(max(took), None, how, fault)}, {"took_ms": took, "lies": lies}


def _until(page: Page, wanted: str) -> None:
    try:
        page.wait_for_function(_UP, arg=wanted, timeout=_DEADLINE_S * 1000)
    except NotInTime:
        shown = page.inner_text("#clusters")
        raise BenchFailed(f"the board does not tell {wanted} within {_DEADLINE_S:g} s; it tells {shown}") from None


def _healthy_words(page: Page) -> list[str]:
    """Return what the cluster's row says of its health when it says that all is well."""
    found = []
    until = time.monotonic() + _WATCHED_S
    while time.monotonic() < until:
        words = page.inner_text(_HEALTH)
        if "healthy" in words:
            found.append(words)
        time.sleep(_LOOK_S)
    return found

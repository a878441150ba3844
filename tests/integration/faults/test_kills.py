"""kill -9 of one member, of the leader, of all, again and again under load: what was acknowledged is there afterwards,
in its order and once, and the members hold the same."""

from __future__ import annotations

import itertools
import random
import time

import pytest

from tests.integration.faults.event_load import EventLoad
from tests.integration.faults.group import Group
from tests.integration.faults.progress import tell

pytestmark = pytest.mark.integration


def _round(group: Group, load: EventLoad, victims: list[str], events: int) -> None:
    """Kills in the middle of writes, and goes on once writes are acknowledged again with all members."""
    load.wait_more(events)
    group.kill(victims)
    killed_at = time.monotonic()
    if len(victims) < len(group.names):
        load.wait_more(events)  # the others go on alone
    group.start()
    group.wait_serving()
    load.wait_more(events)
    tell(f"killed {', '.join(victims)}: {load.total} acknowledged, mended in {time.monotonic() - killed_at:.1f} s")


def test_what_was_acknowledged_survives_kills_of_one_and_of_all_under_load(group: Group) -> None:
    with EventLoad([group.channel(name) for name in group.names], writers=4, batch=20) as load:
        for _ in range(2):
            _round(group, load, [group.leader()], 500)
            _round(group, load, [random.choice(group.followers())], 500)  # noqa: S311  faults, not secrets
            _round(group, load, list(group.names), 500)
    for name in group.names:
        load.require_all(group.channel(name))
    group.require_identical()


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_a_million_acknowledged_writes_survive_fifty_kills_of_all(group: Group) -> None:
    rounds, wanted = 50, 1_000_000
    with EventLoad([group.channel(name) for name in group.names], writers=16, batch=100) as load:
        for number in itertools.count(1):
            _round(group, load, list(group.names), wanted // rounds // 2)
            tell(f"round {number}: {load.total} acknowledged")
            if number >= rounds and load.total >= wanted:
                break
    for name in group.names:
        load.require_all(group.channel(name))
    group.require_identical()

"""Power cuts: unlike kill -9 they take what the kernel holds in memory. What was acknowledged is on disk by then."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.integration.faults.disks import SmallDisk
from tests.integration.faults.event_load import EventLoad
from tests.integration.faults.group import Group
from tests.integration.faults.progress import tell
from tests.integration.faults.shims import PowerCut

pytestmark = pytest.mark.integration

_ROUNDS = 4
_SIZE_MIB = 512


@pytest.fixture
def powered(make: Callable[..., Group], tmp_path: Path) -> Iterator[tuple[Group, dict[str, PowerCut]]]:
    group = make()
    power = {name: PowerCut(tmp_path, name) for name in group.names}
    with ExitStack() as stack:
        for name in group.names:
            stack.enter_context(SmallDisk(group.data(name), _SIZE_MIB))
            group.set_environment(name, power[name].environment)
        group.start()
        group.wait_serving()
        yield group, power
        group.kill(group.names)


@pytest.mark.parametrize("whose", ["all", pytest.param("one's", marks=pytest.mark.soak)])
def test_what_was_acknowledged_survives_power_cuts_under_load(
    powered: tuple[Group, dict[str, PowerCut]], whose: str
) -> None:
    group, power = powered
    with EventLoad([group.channel(name) for name in group.names], writers=4, batch=20) as load:
        for _ in range(_ROUNDS):
            load.wait_more(500)
            victims = group.names if whose == "all" else (group.leader(),)
            group.kill(victims)
            lost = {name: power[name].cut(group.data(name)) for name in victims}
            assert any(lost.values()), "nothing was in memory only: this was no test"
            group.start()
            group.wait_serving()
            tell(f"bytes lost: {lost}; {load.total} events acknowledged")
        load.wait_more(500)
    for name in group.names:
        load.require_all(group.channel(name))
    group.require_identical()

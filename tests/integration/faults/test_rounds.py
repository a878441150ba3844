"""Each disaster of a member's folder and clock in rounds under load: nothing acknowledged is lost, nobody diverges, and
what clients saw all the while is linearizable."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.integration.faults.event_load import EventLoad
from tests.integration.faults.group import Group
from tests.integration.faults.judge import LINEARIZABLE, judge
from tests.integration.faults.progress import tell
from tests.integration.faults.recording import Plan, Recording
from tests.integration.faults.rounds import ROUNDS, Stand
from tests.integration.faults.shims import JumpingClock

pytestmark = pytest.mark.integration

_OF_EACH_KIND = (
    "emptied voter",
    "older copy of a folder",
    "copy of another's folder",
    "swapped folders",
    "flipped bytes in the table",
    "flipped bytes in the Raft log",
    "a clock 2 h behind",
    "the leader's clock 100 days ahead",
)
_PLAN = Plan(operations=1000, clients=4, registers=40, holders=4, deadline_s=1400.0, until_told=True)


@pytest.fixture
def stand(make: Callable[..., Group], tmp_path: Path) -> Iterator[Stand]:
    group = make({"disk": {"verify_h": 0.001, "reserve_mb": 1}})
    clocks = {name: JumpingClock(tmp_path, name) for name in group.names}
    for name, clock in clocks.items():
        group.set_environment(name, clock.environment)
    group.start()
    group.wait_serving()
    with EventLoad([group.channel(name) for name in group.names], writers=4, batch=5, pause_s=0.1) as load:
        yield Stand(group, load, clocks, seed=27)


def _play(stand: Stand, home: Path, name: str, kinds: list[str], plan: Plan) -> None:
    group, load, tally = stand.group, stand.load, stand.tally
    with Recording(name, group.endpoints, home, plan) as recording:
        for kind in kinds:
            stand.play(kind)
        recording.may_end()
        history = recording.finish()
    verdict = judge([history])
    load.stop()
    tell(f"[lost] {tally.lost} of {load.total} acknowledged writes in {len(tally.rounds)} rounds")
    tell(f"[diverged] {tally.diverged} members served something else than the others after 10 s")
    tell(f"[linearizable] {verdict.text}")
    assert (tally.lost, tally.diverged, verdict.code) == (0, 0, LINEARIZABLE), verdict.text
    for member in group.names:
        load.require_all(group.channel(member))
    group.require_identical()


def test_a_round_of_each_kind_loses_nothing_and_nobody_diverges(stand: Stand, tmp_path: Path) -> None:
    _play(stand, tmp_path, "rounds", list(_OF_EACH_KIND), _PLAN)


@pytest.mark.long
def test_every_kind_of_file_and_clock_loses_nothing_and_nobody_diverges(stand: Stand, tmp_path: Path) -> None:
    _play(stand, tmp_path, "rounds-all", list(ROUNDS), _PLAN)


@pytest.mark.soak
@pytest.mark.timeout(14_400)
def test_many_rounds_in_any_order_lose_nothing_and_nobody_diverges(stand: Stand, tmp_path: Path) -> None:
    kinds = [kind for kind in ROUNDS for _ in range(5)]
    stand.random.shuffle(kinds)
    plan = Plan(operations=20_000, clients=4, registers=100, holders=10, deadline_s=14_000.0, until_told=True)
    _play(stand, tmp_path, "rounds-many", kinds, plan)

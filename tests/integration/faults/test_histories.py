"""Registers and ids under kills and cuts, also one-way: what clients saw is linearizable (judged by Porcupine)."""

from __future__ import annotations

import random
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from tests.integration.faults.group import Group
from tests.integration.faults.judge import LINEARIZABLE, judge
from tests.integration.faults.progress import tell
from tests.integration.faults.recording import Plan, Recording

pytestmark = pytest.mark.integration

_LEAST_FAULTS = 3
_PLAN = Plan(operations=10_000, clients=64, registers=200, holders=20, deadline_s=600.0, until_told=True)
# Twice as many took 160 s on two cores, and beside other tests ten minutes, in which those starved.
_LONG_PLAN = replace(_PLAN, operations=100_000)


class Breaker:
    """One fault after the other, chosen at random from a seed; each is mended before the next."""

    def __init__(self, group: Group, seed: int) -> None:
        self._group = group
        self._random = random.Random(seed)  # noqa: S311  faults, not secrets
        self.made: list[str] = []

    def step(self, done: threading.Event) -> None:
        if done.wait(self._random.uniform(1.0, 3.0)):
            return
        fault = self._random.choice([self._kill_one, self._kill_all, self._cut_off, self._cut_off, self._cut_one])
        self.made.append(fault())
        tell(self.made[-1])
        done.wait(self._random.uniform(1.0, 4.0))
        self._group.network.heal()
        self._group.start()

    def _kill_one(self) -> str:
        victim = self._random.choice(self._group.names)
        self._group.kill([victim])
        return f"kill {victim}"

    def _kill_all(self) -> str:
        self._group.kill(self._group.names)
        return "kill all"

    def _cut_off(self) -> str:
        """The leader, if there is one: a follower's absence is noticed by few."""
        leaders = [s.name for s in map(self._group.status, self._group.names) if s and s.state == "leader"]
        victim = leaders[0] if leaders else self._random.choice(self._group.names)
        sends, receives = self._random.choice([(False, False), (True, False), (False, True)])
        self._group.network.isolate(victim, sends=sends, receives=receives)
        return f"cut off {victim}: {sends=}, {receives=}"

    def _cut_one(self) -> str:
        sender, receiver = self._random.sample(self._group.names, 2)
        self._group.network.cut(sender, receiver)
        return f"cut {sender} -> {receiver}"


def _record_and_judge(group: Group, home: Path, name: str, plan: Plan, seed: int) -> None:
    breaker = Breaker(group, seed)
    with Recording(name, group.endpoints, home, plan) as recording:

        def step(done: threading.Event) -> None:
            breaker.step(done)
            if len(breaker.made) >= _LEAST_FAULTS:
                recording.may_end()

        recording.while_running(step)
        history = recording.finish()
    assert len(breaker.made) >= _LEAST_FAULTS, breaker.made
    verdict = judge([history])
    tell(verdict.text)
    assert verdict.code == LINEARIZABLE, verdict.text
    group.network.heal()
    group.require_identical()


@pytest.mark.parametrize(
    "plan", [_PLAN, pytest.param(_LONG_PLAN, marks=pytest.mark.long)], ids=lambda plan: f"{plan.operations}"
)
def test_operations_under_kills_and_one_way_cuts_are_linearizable(group: Group, tmp_path: Path, plan: Plan) -> None:
    _record_and_judge(group, tmp_path, "faults", plan, seed=2)


@pytest.mark.soak
@pytest.mark.parametrize("seed", [3, 4, 5])
def test_other_faults_in_another_order_are_survived_as_well(group: Group, tmp_path: Path, seed: int) -> None:
    _record_and_judge(group, tmp_path, f"faults-{seed}", _LONG_PLAN, seed)

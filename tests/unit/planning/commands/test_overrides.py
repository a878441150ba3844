"""What an operator asks of any plan by options, on top of the settings."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from guardian.errors import InvalidInput
from guardian.model.planner_settings import PlannerSettings
from guardian.planning.commands.plan.overrides import Overrides


def test_without_options_the_settings_are_the_usual_ones() -> None:
    assert Overrides.of().alone() == PlannerSettings()


def test_options_win_over_the_file_and_excluded_topics_add_up(tmp_path: Path) -> None:
    file = tmp_path / "guardian.toml"
    file.write_text(
        'name = "g1"\n[planner]\ntarget_spread = 0.3\ncpu_limit = 0.5\nmax_bytes = 1000\nexcluded_topics = ["a*"]\n'
    )

    found = Overrides.of(0.2, "2GB", "2h", ["cpu-spread"], ["b", "a*"], "10MB", file).alone()

    assert found == PlannerSettings(
        target_spread=0.2,
        cpu_limit=0.5,
        max_bytes=2e9,
        max_seconds=7200.0,
        goals=("cpu-spread",),
        excluded_topics=("a*", "b"),
        throttle=1e7,
    )
    assert Overrides.of(settings=file).alone().max_bytes == 1000
    assert math.isinf(Overrides.of(settings=file).alone().max_seconds)


def test_goals_may_be_repeated_or_divided_by_commas() -> None:
    found = Overrides.of(goals=["cpu-spread, DiskUsageDistributionGoal", "leader-spread,"]).alone()
    assert found.goals == ("cpu-spread", "DiskUsageDistributionGoal", "leader-spread")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"goals": ["cpu-spraed"]}, "goal: goal 'cpu-spraed' is not known: use .*cpu-spread"),
        ({"target_spread": -1.0}, "target_spread is -1: use more than 0"),
        ({"throttle": "fast"}, "throttle is 'fast'"),
        ({"exclude_topics": ["a*b"]}, "excluded_topics has 'a\\*b'"),
        ({"settings": Path("/nowhere.toml")}, "settings file /nowhere.toml can't be read"),
    ],
)
def test_what_is_wrong_is_told_before_anything_is_read(options: dict[str, object], sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        Overrides.of(**options)  # type: ignore[arg-type]  # as typer gives them

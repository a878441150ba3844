"""What an operator asks of any plan by options, on top of the settings."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from guardian.cli.plan.overrides import Overrides, parse_size
from guardian.errors import InvalidInput
from guardian.model.planner_settings import PlannerSettings


@pytest.mark.parametrize(
    ("text", "size"), [("500GB", 5e11), ("1.5T", 1.5e12), ("7", 7.0), ("3 kB", 3e3), (" 2MB ", 2e6), ("0", 0.0)]
)
def test_sizes_are_powers_of_ten(text: str, size: float) -> None:
    assert parse_size("max-bytes", text) == size


@pytest.mark.parametrize("text", ["", "GB", "-1GB", "1GiB", "1e9", "nan", "1,5GB", "\uff11GB", "9" * 400, "2000PB"])
def test_what_is_no_size_is_named_with_the_fix(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"max-bytes is .*: use bytes, such as 500GB or 1\.5TB"):
        parse_size("max-bytes", text)


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
        ({"target_spread": -1.0}, "target_spread is -1: use a number above 0"),
        ({"throttle": "fast"}, "throttle is 'fast'"),
        ({"exclude_topics": ["a*b"]}, "excluded_topics has 'a\\*b'"),
        ({"settings": Path("/nowhere.toml")}, "settings is /nowhere.toml: it can't be read"),
    ],
)
def test_what_is_wrong_is_told_before_anything_is_read(options: dict[str, object], sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        Overrides.of(**options)  # type: ignore[arg-type]  # as typer gives them

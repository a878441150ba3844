"""What plans are asked for: the members' [planner], a file's on top of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from guardian.client import GuardianClient
from guardian.errors import InvalidInput
from guardian.model.planner_settings import PlannerSettings
from guardian.planning.commands.planner_settings import planner_settings, section_of
from tests.unit.member.member import Member


@pytest.fixture(scope="module")
def client() -> Iterator[GuardianClient]:
    member = Member(planner={"disk_limit": 0.6, "cpu_limit": 0.5, "excluded_topics": ["a*"]})
    with GuardianClient([member.endpoint], timeout_s=60) as client:
        yield client
    member.stop()


def test_the_members_settings_are_the_default(client: GuardianClient) -> None:
    assert planner_settings(client) == PlannerSettings(disk_limit=0.6, cpu_limit=0.5, excluded_topics=("a*",))


def test_each_setting_of_a_file_wins(client: GuardianClient, tmp_path: Path) -> None:
    file = tmp_path / "guardian.toml"
    file.write_text('name = "g1"\n[planner]\ndisk_limit = 0.7\nexcluded_topics = []\n')

    assert planner_settings(client, file) == PlannerSettings(disk_limit=0.7, cpu_limit=0.5)


def test_a_file_without_the_section_changes_nothing(client: GuardianClient, tmp_path: Path) -> None:
    file = tmp_path / "guardian.toml"
    file.write_text('name = "g1"\n')

    assert planner_settings(client, file) == planner_settings(client)
    assert section_of(None) == {}


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("[planner", "is not valid TOML"),
        ("planner = 3", r"planner is 3: write it as a section, \[planner\]"),
        ("[planner]\ntarget = 1", "planner.target is not a setting: did you mean target_spread"),
        ('[planner]\ncpu_limit = "x"', "planner.cpu_limit is 'x': give a number"),
        ("[planner]\ncpu_limit = 70", "planner.cpu_limit is 70: use more than 0, up to 1"),
        ('[planner]\ngoals = ["x-spread"]', "planner.goals: goal 'x-spread' is not known: use "),
    ],
)
def test_a_wrong_file_is_refused_by_field_value_and_fix(tmp_path: Path, content: str, sentence: str) -> None:
    file = tmp_path / "guardian.toml"
    file.write_text(content)

    with pytest.raises(InvalidInput, match=rf"settings file .*guardian\.toml:? {sentence}"):
        section_of(file)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"settings file .*gone\.toml can't be read"):
        section_of(tmp_path / "gone.toml")

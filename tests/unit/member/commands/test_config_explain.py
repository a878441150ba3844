"""`guardian config`: what can be set, without a member that answers."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from guardian.errors import NotFound
from guardian.member.commands.config import app, keys


def printed(*words: str) -> str:
    result = CliRunner().invoke(app, list(words), catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout


def test_a_setting_is_explained_in_three_lines() -> None:
    assert printed("explain", "collect.interval_s").splitlines() == [
        "collect.interval_s",
        "    Time between two collections of a broker.",
        "    number, more than 0, up to 86400 s; default: 60.0",
    ]
    assert '    example: between = ["shanghai", "suzhou"]' in printed("explain", "links.lines.between").splitlines()


def test_programs_get_the_same() -> None:
    [told] = json.loads(printed("explain", "collect.interval_s", "-o", "json"))
    assert (told["name"], told["value"], told["default"]) == (
        "collect.interval_s",
        "number, more than 0, up to 86400 s",
        "60.0",
    )


def test_a_section_is_explained_by_all_of_its_settings() -> None:
    names = [line for line in printed("explain", "log").splitlines() if not line.startswith(" ")]
    assert names == ["log.format", "log.level"]


def test_of_an_unknown_setting_the_nearest_is_named() -> None:
    with pytest.raises(NotFound, match=r"'collect.intervall_s' is not known: did you mean collect.interval_s, "):
        CliRunner().invoke(app, ["explain", "collect.intervall_s"], catch_exceptions=False)


def test_completion_offers_settings() -> None:
    [verify] = keys("disk.verify")
    assert verify[0] == "disk.verify_h"
    assert verify[1].startswith("Time between two readings")
    assert keys("nothing") == []

"""`guardian local status`: where to look, of what runs."""

from __future__ import annotations

import pytest

from guardian.cli import local


def member(name: str, pid: int | None) -> dict[str, object]:
    return {
        "name": name,
        "grpc": "127.0.0.1:9750",
        "http": "127.0.0.1:9751",
        "console": f"https://127.0.0.1/{name}",
        "pid": pid,
        "data": "/d",
    }


def test_the_console_of_each_member_that_runs_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    local._show({"members": [member("g1", 7), member("g2", None)], "clusters": []})
    printed = capsys.readouterr().out
    assert "The console, of g1: https://127.0.0.1/g1" in printed
    assert "https://127.0.0.1/g2" not in printed

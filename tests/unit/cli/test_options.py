"""What an operator types is read as meant, or refused with the fix."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from guardian.cli.options import connect, parse_rate
from guardian.errors import InvalidInput


@pytest.mark.parametrize(
    ("text", "rate"),
    [("50MB", 50_000_000), ("800k", 800_000), ("1.5G", 1_500_000_000), ("12345", 12345), ("10 MB/s", 10_000_000)],
)
def test_a_rate_is_bytes_per_second(text: str, rate: int) -> None:
    assert parse_rate(text) == rate


@pytest.mark.parametrize("text", ["", "fast", "-5MB", "5MiB", "5 MB per second", "0", "0.5", "9" * 30 + "G"])
def test_a_rate_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"throttle is .*: use bytes per second, such as 50MB"):
        parse_rate(text)


def test_members_are_found_in_the_local_federation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "state.json").write_text(json.dumps({"members": [{"grpc": "127.0.0.1:1"}, {"grpc": "127.0.0.1:2"}]}))
    monkeypatch.setenv("GUARDIAN_LOCAL", str(tmp_path))
    with connect("") as client:
        assert client.endpoints == ("127.0.0.1:1", "127.0.0.1:2")
    with connect("127.0.0.1:3, 127.0.0.1:4") as client:
        assert client.endpoints == ("127.0.0.1:3", "127.0.0.1:4")


def test_without_any_the_embedded_server_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GUARDIAN_LOCAL", str(tmp_path))
    with connect("") as client:
        assert client.endpoints == ("127.0.0.1:9750",)

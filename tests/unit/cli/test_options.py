"""What an operator types is read as meant, or refused with the fix."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from guardian.cli.options import connect


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

"""Vendored libraries are what their publishers published."""

from __future__ import annotations

import hashlib
from importlib.resources import files

import pytest

CHECKSUMS = {"echarts.min.js": "b66b25aeb4df84e33199dc21694014d336d222cbd9deb0e5a7c14bd6aa0d0fd0"}


@pytest.mark.parametrize("name", CHECKSUMS)
def test_a_vendored_file_is_unchanged_and_listed(name: str) -> None:
    static = files("guardian.console") / "static"
    assert hashlib.sha256((static / name).read_bytes()).hexdigest() == CHECKSUMS[name]
    assert f"`{name}`" in (static / "VENDORED.md").read_text()

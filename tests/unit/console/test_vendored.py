"""Vendored libraries are what their publishers published."""

from __future__ import annotations

import hashlib
from importlib.resources import files

import pytest

CHECKSUMS = {
    "echarts.min.js": "b66b25aeb4df84e33199dc21694014d336d222cbd9deb0e5a7c14bd6aa0d0fd0",
    "htmx.min.js": "d6fdc75f204e6bdefa99b69bf1e6d4ac69b8a364f77929f45c13476b4000f717",
    "htmx-sse.min.js": "98a46496de0c3605fbffdce9167ba427bdd9553184f83f149c261891a92c0136",
    "uplot.min.js": "19c8d4c6ad88929a79f4ae49d6f7161566dfd0ba3d15cc495e974f787eb78f1f",
    "uplot.min.css": "df630c6a8d6f8eeaff264b50f73ce5b114f646ffd9a0bb74f049b0a00135fa04",
}


@pytest.mark.parametrize("name", CHECKSUMS)
def test_a_vendored_file_is_unchanged_and_listed(name: str) -> None:
    static = files("guardian.console") / "static"
    assert hashlib.sha256((static / name).read_bytes()).hexdigest() == CHECKSUMS[name]
    assert f"`{name}`" in (static / "VENDORED.md").read_text()

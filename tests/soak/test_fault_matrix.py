"""The fault matrix, whole: what is predicted of each fault and each setting, on real brokers."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bench.faults.__main__ import main

pytestmark = [pytest.mark.soak, pytest.mark.timeout(12 * 3600)]


def test_brokers_contradict_no_prediction(tmp_path: Path) -> None:
    assert main(["--page", str(tmp_path / "fault-matrix.md"), "--out", str(tmp_path / "faults.json")]) == 0

"""The fault matrix, whole: what is predicted of each fault and each setting, on real brokers."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bench.faults.__main__ import main

pytestmark = [pytest.mark.soak, pytest.mark.timeout(12 * 3600)]


def test_brokers_contradict_no_prediction(tmp_path: Path) -> None:
    files = {"--recorded": "runs.jsonl", "--page": "fault-matrix.md", "--out": "faults.json"}
    assert main([word for option, name in files.items() for word in (option, str(tmp_path / name))]) == 0

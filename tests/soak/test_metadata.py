"""The replicated store with 10 million events and a million live segments: it must get through; the speed is told, not
asserted, as it is the machine's too."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.bench.metadata.bars import SOAK_MEASURES

pytestmark = [pytest.mark.soak, pytest.mark.timeout(7200)]

_COMPLETED = (0, 1)  # 1: a bar is missed


def test_ten_million_events_are_stored_read_saved_and_recovered(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "metadata-soak.json"
    assert shutil.which("go"), "Go is missing, in which the benchmark's driver is written: install Go 1.21 or newer"
    command = [sys.executable, "-m", "tests.bench.metadata", "--soak", "--out", str(out)]
    with capsys.disabled():  # its progress and its table are what people wait for
        done = subprocess.run(command, cwd=Path(__file__).parents[2], check=False)
    assert done.returncode in _COMPLETED
    rows = {row["measure"]: row for row in json.loads(out.read_text())["rows"]}
    assert set(rows) == {measure.id for measure in SOAK_MEASURES}
    assert [row["fault"] for row in rows.values() if row["fault"]] == []

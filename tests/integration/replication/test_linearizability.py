"""The judge of histories: its own Go tests, and that it can be run from here and rejects what must be rejected."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.integration.faults.judge import LINEARIZABLE, SOURCES, UNDECIDED, VIOLATION, judge

pytestmark = pytest.mark.integration

Line = dict[str, Any]


def _line(op: str, key: str, at_ns: int, input_: Line | None = None, output: Line | None = None) -> Line:
    times = {"call_ns": at_ns, "return_ns": at_ns + 1}
    return {"client": "c", "op": op, "key": key, "input": input_, "output": output, "status": "ok", **times}


def _put(value: str, revision: int, at_ns: int) -> Line:
    return _line("put", "r", at_ns, {"value": value}, {"revision": revision})


def _get(value: str | None, revision: int, at_ns: int) -> Line:
    return _line("get", "r", at_ns, None, {"value": value, "revision": revision})


def _cas(value: str, expected: int, revision: int, at_ns: int) -> Line:
    return _line("cas", "r", at_ns, {"value": value, "expected": expected}, {"revision": revision})


def _alloc(first: int, count: int, at_ns: int) -> Line:
    return _line("alloc", "ids/a", at_ns, {"count": count}, {"first": first})


def _read_max(highest: int, at_ns: int) -> Line:
    return _line("read_max", "ids/a", at_ns, None, {"highest": highest})


SOUND = [_get(None, 0, 1), _put("a", 7, 3), _cas("b", 7, 9, 5), _cas("c", 7, 0, 7), _get("b", 9, 9)]
SOUND_IDS = [_read_max(0, 1), _alloc(1, 5, 3), _read_max(5, 5), _alloc(8, 2, 7), _read_max(9, 9)]
LOST = {**_put("z", 0, 11), "status": "unknown", "output": None}


@pytest.fixture
def write(tmp_path: Path) -> Callable[[Sequence[Line]], Path]:
    def to_file(lines: Sequence[Line]) -> Path:
        path = tmp_path / "history.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        return path

    return to_file


def test_the_judges_own_tests_pass() -> None:
    done = subprocess.run(["go", "test", "-count=1", "./..."], cwd=SOURCES, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (done.stdout + done.stderr)[-5000:]


@pytest.mark.parametrize(
    "lines",
    [SOUND, SOUND_IDS, [*SOUND, LOST, _get("b", 9, 13)], [*SOUND, LOST, _get("z", 12, 13)]],
    ids=["registers", "ids", "an unknown put that never was", "an unknown put that was"],
)
def test_a_sound_history_is_accepted(write: Callable[[Sequence[Line]], Path], lines: list[Line]) -> None:
    verdict = judge([write(lines)])
    assert verdict.code == LINEARIZABLE, verdict.text
    assert f"{len(lines)} operations" in verdict.text


@pytest.mark.parametrize(
    "lines",
    [
        [*SOUND, _get("a", 7, 11)],
        [*SOUND, _put("d", 10, 11), _get("b", 9, 13)],
        [*SOUND, _cas("d", 7, 10, 11)],
        [*SOUND_IDS, _alloc(9, 1, 11)],
        [*SOUND_IDS, _alloc(6, 1, 11)],
        [*SOUND_IDS, _read_max(5, 11)],
        [*SOUND, {**_put("d", 0, 11), "status": "fail"}, _get("d", 10, 13)],
    ],
    ids=["stale read", "lost write", "cas twice", "id twice", "smaller id", "read_max back", "a failed put was"],
)
def test_a_planted_violation_is_rejected_and_shown(write: Callable[[Sequence[Line]], Path], lines: list[Line]) -> None:
    verdict = judge([write(lines)])
    assert verdict.code == VIOLATION
    assert lines[-1]["key"].split("/")[0] in verdict.text


def test_a_file_that_is_no_history_is_neither_accepted_nor_rejected(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text('{"op": "put"}\n')
    assert judge([tmp_path / "x.jsonl"]).code == UNDECIDED
    assert judge([tmp_path / "none.jsonl"]).code == UNDECIDED

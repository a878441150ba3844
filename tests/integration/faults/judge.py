"""The judge of tests/linearizability, built once per test process and run on histories."""

from __future__ import annotations

import functools
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
SOURCES = ROOT / "tests" / "linearizability"
HISTORIES = ROOT / "build" / "histories"
LINEARIZABLE, VIOLATION, UNDECIDED = 0, 1, 2


@dataclass(frozen=True, slots=True)
class Verdict:
    """`code` is LINEARIZABLE, VIOLATION or UNDECIDED; `text` says why, or counts the operations."""

    code: int
    text: str


def judge(histories: Sequence[Path], timeout_s: float = 120.0) -> Verdict:
    command = [str(_binary()), f"-timeout={timeout_s:g}s", *map(str, histories)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return Verdict(done.returncode, done.stdout + done.stderr)


@functools.cache
def _binary() -> Path:
    binary = Path(_directory().name) / "judge"
    built = subprocess.run(
        ["go", "build", "-o", str(binary), "."], cwd=SOURCES, capture_output=True, text=True, check=False
    )
    if built.returncode != 0:
        raise AssertionError(f"the judge could not be built with Go: {built.stderr}")
    return binary


@functools.cache
def _directory() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="judge-")

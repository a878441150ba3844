"""Debian's promtool: the one on PATH, or the package's binary, unpacked below build/.

Unpacking is all that is done with the package: nothing of the system changes, and no service is started.
"""

from __future__ import annotations

import fcntl
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.patience import PATIENCE_S

_PACKAGE = "prometheus"
_BUILD = Path(__file__).parents[2] / "build" / "promtool"


def promtool(*arguments: str, cwd: Path | None = None, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """What it says. Fails the test when promtool can't be had."""
    command = [str(_find()), *arguments]
    return subprocess.run(
        command, cwd=cwd, input=stdin, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )


def _find() -> Path:
    on_path = shutil.which("promtool")
    if on_path:
        return Path(on_path)
    _BUILD.mkdir(parents=True, exist_ok=True)
    with (_BUILD / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        binary = _BUILD / "usr" / "bin" / "promtool"
        if not binary.exists():
            _unpack()
    return binary


def _unpack() -> None:
    if shutil.which("apt-get") is None:
        pytest.fail("promtool is missing, and so is apt-get to get it: install Prometheus and put promtool on PATH")
    for stale in _BUILD.glob("*.deb"):
        stale.unlink()
    if _run("apt-get", "download", _PACKAGE).returncode:  # no package lists yet
        _run("apt-get", "update")
        _must(_run("apt-get", "download", _PACKAGE))
    (package,) = _BUILD.glob("*.deb")
    _must(_run("dpkg-deb", "--extract", package.name, "."))


def _run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=_BUILD, capture_output=True, text=True, timeout=PATIENCE_S, check=False)


def _must(done: subprocess.CompletedProcess[str]) -> None:
    if done.returncode:
        pytest.fail(f"{' '.join(done.args[:2])} failed: {done.stderr.strip()}: install promtool and put it on PATH")

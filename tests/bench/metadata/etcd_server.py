"""Debian's etcd server: the one on PATH, or the package's binary, unpacked below build/.

Unpacking is all that is done with the package: nothing of the system changes, and no service is started.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from tests.bench.report import BUILD, BenchFailed

_PACKAGE = "etcd-server"


def find() -> Path:
    """The etcd binary. Raises BenchFailed when it can't be had."""
    on_path = shutil.which("etcd")
    if on_path:
        return Path(on_path)
    unpacked = BUILD / _PACKAGE
    binary = unpacked / "usr" / "bin" / "etcd"
    if not binary.exists():
        _unpack(unpacked)
    return binary


def _unpack(directory: Path) -> None:
    if shutil.which("apt-get") is None:
        raise BenchFailed("etcd is missing, and so is apt-get to get it: install etcd and put it on PATH")
    directory.mkdir(parents=True, exist_ok=True)
    for stale in directory.glob("*.deb"):
        stale.unlink()
    try:
        _run(["apt-get", "download", _PACKAGE], directory)
    except BenchFailed:  # no package lists yet
        _run(["apt-get", "update"], directory)
        _run(["apt-get", "download", _PACKAGE], directory)
    (package,) = directory.glob("*.deb")
    _run(["dpkg-deb", "--extract", str(package), str(directory)], directory)


def _run(command: list[str], cwd: Path) -> None:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BenchFailed(f"{' '.join(command[:2])} failed: {done.stderr.strip()}")

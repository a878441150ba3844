"""Small disks that fill up: a tmpfs for one member, and a file on it that takes what is left."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
from pathlib import Path

MIB = 1 << 20


class SmallDisk:
    """A context manager: a file system of its own at `path`, which is made, in memory. Raises AssertionError when
    it can't be mounted."""

    def __init__(self, path: Path, mib: int) -> None:
        self._path = path
        self._mib = mib
        self._ballast = path / "ballast"

    def __enter__(self) -> SmallDisk:
        self._path.mkdir(parents=True)
        command = ["mount", "-t", "tmpfs", "-o", f"size={self._mib}m", "none", str(self._path)]
        mounted = subprocess.run(command, capture_output=True, text=True, check=False)
        assert mounted.returncode == 0, f"a tmpfs can't be mounted here, run this test as root: {mounted.stderr}"
        return self

    def __exit__(self, *_: object) -> None:
        # Lazily: a failed test must not leave it because somebody still looks at it.
        subprocess.run(["umount", "--lazy", str(self._path)], check=True)

    @property
    def free_mib(self) -> float:
        return shutil.disk_usage(self._path).free / MIB

    def fill(self, leave_mib: float) -> None:
        """Take all but so much of the space, and return once no more of it is free, whoever writes meanwhile."""
        with self._ballast.open("ab") as ballast:
            while (excess := int((self.free_mib - leave_mib) * MIB)) > 0:
                try:
                    os.posix_fallocate(ballast.fileno(), os.fstat(ballast.fileno()).st_size, excess)
                except OSError as error:
                    if error.errno != errno.ENOSPC:
                        raise

    def free(self) -> None:
        """Gives back what `fill` took."""
        self._ballast.unlink(missing_ok=True)

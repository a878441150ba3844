"""Disks that fill up or fail: a tmpfs for one member with a file that takes what is left, and an ext4 of its own."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import struct
import subprocess
from collections.abc import Sequence
from pathlib import Path

MIB = 1 << 20
_SHUTDOWN = 0x8004587D  # EXT4_IOC_SHUTDOWN, as `xfs_io -c shutdown` on XFS
_AFTER_FLUSH = 0  # EXT4_GOING_FLAGS_DEFAULT: or meta.properties, which no broker syncs, would be gone


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


class FailingDisk:
    """A context manager: an ext4 at `path`, which is made, in the file `image`. Raises AssertionError when it can't be
    mounted."""

    def __init__(self, path: Path, image: Path, mib: int) -> None:
        self._path = path
        self._image = image
        self._mib = mib

    def __enter__(self) -> FailingDisk:
        self._path.mkdir(parents=True)
        with self._image.open("wb") as file:
            file.truncate(self._mib * MIB)
        _require("no ext4 can be made here", ["mkfs.ext4", "-q", str(self._image)])
        self._mount()
        (self._path / "lost+found").rmdir()  # Kafka takes it for a partition, and fails
        return self

    def __exit__(self, *_: object) -> None:
        # Lazily: a failed test must not leave it because somebody still looks at it.
        subprocess.run(["umount", "--lazy", str(self._path)], check=True)

    def fail(self) -> None:
        """Let all calls fail with EIO from now on; what was written before is there after `repair`."""
        folder = os.open(self._path, os.O_RDONLY)
        try:
            fcntl.ioctl(folder, _SHUTDOWN, struct.pack("I", _AFTER_FLUSH))
        finally:
            os.close(folder)

    def repair(self) -> None:
        """Let it work again. Raises AssertionError while a process has files open there."""
        _require("the failed disk can't be unmounted", ["umount", str(self._path)])
        self._mount()

    def _mount(self) -> None:
        _require("a loop device can't be mounted here", ["mount", "-o", "loop", str(self._image), str(self._path)])


def _require(otherwise: str, command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{otherwise}, run this test as root: {done.stderr}"
